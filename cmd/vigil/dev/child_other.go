//go:build unix && !linux

package dev

import "syscall"

// ownGroup keeps the terminal's signals away from a child.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
