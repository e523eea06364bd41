//go:build !linux

package main

import (
	"syscall"
	"time"
)

// ownGroup keeps signals of the terminal away from the process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// cpuTime is known on Linux only.
func (p *process) cpuTime() time.Duration { return 0 }

// ownTime is known on Linux only.
func ownTime() time.Duration { return 0 }
