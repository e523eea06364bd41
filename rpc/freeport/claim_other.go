//go:build !linux

package freeport

// claim is not there on this system: another process can be faster.
func claim(int) bool { return true }
