package freeport

import (
	"net"
	"strconv"
	"testing"
)

// A port that another process was given is not given again, though nobody listens on it yet.
func TestPortsOfOtherProcesses(t *testing.T) {
	addrs, err := Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addrs[0])
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if claim(n) {
		t.Errorf("port %d was given twice", n)
	}
}
