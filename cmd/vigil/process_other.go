//go:build !linux

package main

import "syscall"

// mortal would make a child that ends with us; only Linux can do that.
func mortal() *syscall.SysProcAttr { return nil }
