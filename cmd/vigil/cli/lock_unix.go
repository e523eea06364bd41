//go:build unix

package cli

import (
	"os"
	"syscall"
)

// lockFile waits until no other process holds the lock of f; closing f gives it back.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
