package dev

import "syscall"

// ownGroup keeps the terminal's signals away from a child and ends it with this
// process, whatever ends this one.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
