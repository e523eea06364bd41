//go:build unix

package agent

import "syscall"

// ownGroup has a program begin a process group of its own, and tells whether it does.
func ownGroup(attr *syscall.SysProcAttr) (*syscall.SysProcAttr, bool) {
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid = true
	return attr, true
}

// signalGroup sends a signal to a group, and tells whether anybody there can get it. Signal 0 only asks.
func signalGroup(leader int, sig syscall.Signal) bool { return syscall.Kill(-leader, sig) == nil }
