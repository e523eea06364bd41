package clustertest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// unread is how many bytes a stream holds before whoever writes has to wait.
const unread = 1 << 20

var errRefused = errors.New("connection refused")

// pipe is one direction of a stream in memory. What is cut or held does not arrive, and does when
// that is undone, as with TCP. The network's lock guards it.
type pipe struct {
	net          *network
	from, to     raft.ServerAddress
	wake         *sync.Cond // with the network's lock
	buf          []byte
	read, write  time.Time // until when each end waits; zero: for ever
	noRead, over bool      // closed by the end that reads, by the end that writes
}

func (n *network) pipe(from, to raft.ServerAddress) *pipe {
	p := &pipe{net: n, from: from, to: to, wake: sync.NewCond(&n.mu)}
	n.pipes = append(n.pipes, p)
	return p
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// pull reads what has arrived.
func (p *pipe) pull(b []byte) (int, error) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	for {
		open := p.net.open(p.from, p.to)
		switch {
		case p.noRead:
			return 0, net.ErrClosed
		case past(p.read):
			return 0, os.ErrDeadlineExceeded
		case open && len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			p.wake.Broadcast()
			return n, nil
		case open && p.over:
			return 0, io.EOF
		}
		p.wake.Wait()
	}
}

// push writes; the other end need not read at once.
func (p *pipe) push(b []byte) (int, error) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	for {
		switch {
		case p.over:
			return 0, net.ErrClosed
		case p.noRead && p.net.open(p.from, p.to):
			return 0, syscall.ECONNRESET
		case past(p.write):
			return 0, os.ErrDeadlineExceeded
		case len(p.buf) < unread:
			p.buf = append(p.buf, b...)
			p.wake.Broadcast()
			return len(b), nil
		}
		p.wake.Wait()
	}
}

// stream is one end of a connection in memory.
type stream struct {
	in, out       *pipe
	local, remote raft.ServerAddress
}

func (s *stream) Read(b []byte) (int, error)  { return s.in.pull(b) }
func (s *stream) Write(b []byte) (int, error) { return s.out.push(b) }
func (s *stream) LocalAddr() net.Addr         { return address(s.local) }
func (s *stream) RemoteAddr() net.Addr        { return address(s.remote) }

func (s *stream) Close() error {
	n := s.in.net
	n.mu.Lock()
	defer n.mu.Unlock()
	s.in.noRead, s.out.over = true, true
	s.in.wake.Broadcast()
	s.out.wake.Broadcast()
	n.pipes = slices.DeleteFunc(n.pipes, func(p *pipe) bool { return p.noRead && p.over })
	return nil
}

func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

func (s *stream) SetReadDeadline(t time.Time) error  { return s.in.until(&s.in.read, t) }
func (s *stream) SetWriteDeadline(t time.Time) error { return s.out.until(&s.out.write, t) }

func (p *pipe) until(which *time.Time, t time.Time) error {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	*which = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), p.wake.Broadcast)
	}
	p.wake.Broadcast()
	return nil
}

type address raft.ServerAddress

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

// listener takes streams at an address.
type listener struct {
	addr   raft.ServerAddress
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Addr() net.Addr { return address(l.addr) }

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// accept gives a server its listener; one that had the address is gone.
func (n *network) accept(addr raft.ServerAddress) net.Listener {
	l := &listener{addr: addr, conns: make(chan net.Conn, 16), closed: make(chan struct{})}
	n.mu.Lock()
	n.listeners[addr] = l
	n.mu.Unlock()
	return l
}

// dial opens streams from an address.
func (n *network) dial(from raft.ServerAddress) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		to := raft.ServerAddress(addr)
		n.mu.Lock()
		if !n.open(from, to) || !n.open(to, from) {
			n.mu.Unlock()
			<-ctx.Done()
			return nil, errUnreachable
		}
		l := n.listeners[to]
		there, back := n.pipe(from, to), n.pipe(to, from)
		n.mu.Unlock()
		here := &stream{in: back, out: there, local: from, remote: to}
		if l != nil {
			select {
			case l.conns <- &stream{in: there, out: back, local: to, remote: from}:
				return here, nil
			case <-l.closed:
			case <-ctx.Done():
			}
		}
		here.Close()
		return nil, errRefused
	}
}
