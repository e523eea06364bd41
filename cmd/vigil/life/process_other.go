//go:build !linux

package life

import "syscall"

// Mortal would make a child that ends with us; only Linux can do that.
func Mortal() *syscall.SysProcAttr { return nil }
