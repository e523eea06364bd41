package freeport

import (
	"net"
	"strconv"
)

// claim keeps other processes that ask this package from getting the same port, until this process ends; it
// is false when one of them has it. A socket of this name needs no file, and goes with its process.
func claim(port int) bool {
	l, err := net.Listen("unix", "@vigil-port-"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	claims = append(claims, l)
	return true
}

var claims []net.Listener // under mu
