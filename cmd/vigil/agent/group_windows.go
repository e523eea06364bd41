package agent

import "syscall"

// ownGroup would have a program begin a process group of its own: here it has none.
func ownGroup(attr *syscall.SysProcAttr) (*syscall.SysProcAttr, bool) { return attr, false }

// signalGroup is never called: there is no group.
func signalGroup(int, syscall.Signal) bool { return false }
