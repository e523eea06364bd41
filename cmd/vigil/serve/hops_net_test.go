package serve

import (
	"context"
	"errors"
	"net"
	"sync"
)

// hopsNet carries the connections to the APIs of servers in memory. A server can be
// held: bytes from and to it wait, as for a process that is stopped.
type hopsNet struct {
	mu    sync.Mutex
	ports map[string]*hopsPort
	held  map[string]chan struct{} // closed when it goes on
}

func newHopsNet() *hopsNet {
	return &hopsNet{ports: map[string]*hopsPort{}, held: map[string]chan struct{}{}}
}

// hopsPort is a listener and what it has accepted.
type hopsPort struct {
	net    *hopsNet
	addr   string
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	conns  []net.Conn
}

type hopsAddr string

func (hopsAddr) Network() string  { return "tcp" }
func (a hopsAddr) String() string { return string(a) }

// listen takes the address over.
func (n *hopsNet) listen(addr string) *hopsPort {
	p := &hopsPort{net: n, addr: addr, calls: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.ports[addr] = p
	n.mu.Unlock()
	return p
}

func (p *hopsPort) Addr() net.Addr { return hopsAddr(p.addr) }

func (p *hopsPort) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses connections from now on.
func (p *hopsPort) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// die closes everything, as the end of a process does.
func (p *hopsPort) die() {
	_ = p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// hold stops the server's bytes, or lets them go on.
func (n *hopsNet) hold(addr string, held bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch c := n.held[addr]; {
	case held && c == nil:
		n.held[addr] = make(chan struct{})
	case !held && c != nil:
		close(c)
		delete(n.held, addr)
	}
}

// pass waits while one of the two is held, or gives false when the port is closed.
func (n *hopsNet) pass(port *hopsPort, ends ...string) bool {
	for _, addr := range ends {
		n.mu.Lock()
		held := n.held[addr]
		n.mu.Unlock()
		if held == nil {
			continue
		}
		select {
		case <-held:
		case <-port.closed:
			return false
		}
	}
	return true
}

// dialer dials from one machine. A held one takes connections, since its kernel does.
func (n *hopsNet) dialer(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		n.mu.Lock()
		p := n.ports[addr]
		n.mu.Unlock()
		if p == nil {
			return nil, errors.New("connection refused")
		}
		near, nearEnd := net.Pipe()
		farEnd, far := net.Pipe()
		go n.pump(p, nearEnd, farEnd, from, addr)
		go n.pump(p, farEnd, nearEnd, from, addr)
		select {
		case p.calls <- far:
		case <-p.closed:
			return nil, errors.Join(errors.New("connection refused"), near.Close(), far.Close())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), near.Close(), far.Close())
		}
		p.mu.Lock()
		p.conns = append(p.conns, nearEnd, farEnd)
		p.mu.Unlock()
		return near, nil
	}
}

func (n *hopsNet) pump(p *hopsPort, from, to net.Conn, ends ...string) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		got, err := from.Read(buf)
		if err != nil || !n.pass(p, ends...) {
			return
		}
		if _, err := to.Write(buf[:got]); err != nil {
			return
		}
	}
}
