package freeport

import (
	"net"
	"testing"
)

// An address is free, below the ports of the system, and given once.
func TestAddrs(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		addrs, err := Addrs(6)
		if err != nil || len(addrs) != 6 {
			t.Fatalf("%v, %v", addrs, err)
		}
		for _, addr := range addrs {
			if seen[addr] {
				t.Fatalf("%s is given twice", addr)
			}
			seen[addr] = true
			to, err := net.ResolveTCPAddr("tcp", addr)
			if err != nil || !to.IP.IsLoopback() || to.Port < first || to.Port > last {
				t.Fatalf("%s: %v", addr, err)
			}
		}
	}
	for addr := range seen {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Skip("another process was faster: ", err)
		}
		_ = l.Close() // it only had to be possible
	}
}
