//go:build !linux

package bench

import (
	"syscall"
	"time"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stepBack is done on Linux only.
func stepBack(int) error { return nil }

// memory is known on Linux only.
func (p *process) memory() (rss, anon int64) { return 0, 0 }

// cpuTime is known on Linux only.
func (p *process) cpuTime() time.Duration { return 0 }

func threadTime() time.Duration { return 0 }

func ownTime() time.Duration { return 0 }

// openFiles is known on Linux only.
func openFiles() int { return 0 }
