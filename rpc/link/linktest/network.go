package linktest

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"
)

// Network connects servers of one process in memory, with deadlines as TCP has them. The zero value is
// ready; safe for concurrent use.
type Network struct {
	mu    sync.Mutex
	ports map[string]*port
	holes []*Hole
	black bool
}

// port is a listener of a Network.
type port struct {
	addr  string
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

// Listen gives a listener at addr, any text.
func (n *Network) Listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ports == nil {
		n.ports = map[string]*port{}
	}
	p := &port{addr: addr, conns: make(chan net.Conn), gone: make(chan struct{})}
	n.ports[addr] = p
	return p
}

// Dial connects to a listener. In a black network it waits until ctx ends.
func (n *Network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	p, black := n.ports[addr], n.black
	n.mu.Unlock()
	switch {
	case black:
		<-ctx.Done()
		return nil, ctx.Err()
	case p == nil:
		return nil, errors.New("dial " + addr + ": connection refused")
	}
	here, there := net.Pipe()
	select {
	case p.conns <- there:
	case <-p.gone:
		return nil, errors.New("dial " + addr + ": connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h := Dig(here)
	n.mu.Lock()
	n.holes = append(n.holes, h)
	n.mu.Unlock()
	return h, nil
}

// Cut cuts all connections that were dialled, for good. While it is black, nothing new can be
// dialled either.
func (n *Network) Cut(black bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.black = black
	for _, h := range n.holes {
		h.Cut()
	}
}

// Beside gives another way to the same listeners, which Cut of this one leaves alone.
func (n *Network) Beside() *Network {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &Network{ports: maps.Clone(n.ports)}
}

// Accept waits for a connection.
func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; what it accepted goes on.
func (p *port) Close() error { p.once.Do(func() { close(p.gone) }); return nil }

// Addr is the address that was listened on.
func (p *port) Addr() net.Addr { return p }

// Network and String make a port its own address.
func (p *port) Network() string { return "memory" }
func (p *port) String() string  { return p.addr }
