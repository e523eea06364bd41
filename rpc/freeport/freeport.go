package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// first and last bound the ports that are given. They lie below those that systems hand out by
// themselves, to listeners on port 0 and to connections that go out (32768 and up on Linux, 49152
// and up elsewhere): one of those would be taken again before the program that is to have it listens.
const (
	first = 15_000
	last  = 31_999
	tries = 1_000 // for one port
)

var (
	mu    sync.Mutex
	given = map[int]bool{} // by this process: its programs may not listen yet
)

// Addrs gives n loopback addresses on which nobody listens and that this process has not given
// before. On Linux no other process that asks here is given them either, until this one ends; programs of
// others can be faster. It may be called by many at once.
func Addrs(n int) (addrs []string, err error) {
	mu.Lock()
	defer mu.Unlock()
	for range n {
		addr, err := one()
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

func one() (addr string, err error) {
	err = errors.New("this process has been given all that were tried")
	for range tries {
		port := first + rand.IntN(last-first+1)
		if given[port] {
			continue
		}
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err != nil {
			continue // somebody else's
		}
		given[port] = true
		if err := l.Close(); err != nil {
			return "", err
		}
		if !claim(port) {
			continue
		}
		return addr, nil
	}
	return "", fmt.Errorf("no free port from %d to %d after %d tries: %w", first, last, tries, err)
}
