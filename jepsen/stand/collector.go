//go:build linux

package stand

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"vigil/cmd/vigil/bench/ledger"
)

// Collector owns the folder of the ledger and notes the ends of lives: each of them
// holds a connection that the kernel closes with its process.
type Collector struct {
	Folder string

	listener net.Listener
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	first error
}

func newCollector(folder string) (*Collector, error) {
	// Agents of other users write there too.
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("make ledger: %w", err)
	}
	l, err := net.Listen("unix", filepath.Join(folder, "gone"))
	if err != nil {
		return nil, fmt.Errorf("make ledger: %w", err)
	}
	c := &Collector{Folder: folder, listener: l, conns: map[net.Conn]bool{}}
	c.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			c.mu.Lock()
			c.conns[conn] = true
			c.mu.Unlock()
			c.all.Go(func() { c.attend(conn) })
		}
	})
	return c, nil
}

// attend waits for the end of one life.
func (c *Collector) attend(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	name, err := r.ReadString('\n')
	if err == nil {
		_, _ = r.ReadByte() // returns when the process is gone
		err = ledger.Gone(c.Folder, strings.TrimSpace(name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
	if err != nil && c.first == nil && name != "" {
		c.first = err
	}
}

func (c *Collector) close() error {
	c.listener.Close()
	c.mu.Lock()
	for conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.all.Wait()
	return c.first
}
