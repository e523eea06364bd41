package door

import (
	"errors"
	"net"
	"sync"
	"time"
)

// sniffLimit is how long a connection may take to say its first bytes.
const sniffLimit = 10 * time.Second

// http2Preface begins every HTTP/2 connection of a gRPC client, and no HTTP/1 request.
const http2Preface = "PRI "

// errTooMany ends a connection for which there is no place.
var errTooMany = errors.New("too many connections are being opened")

// splitter shares one listener between gRPC and HTTP/1.1: it reads the first bytes
// of each connection and hands it, with them, to one of two listeners.
type splitter struct {
	from net.Listener
	tls  *handshakes // nil: connections are in clear
	grpc *branch
	http *branch

	all, web         Places  // connections, and of them those of HTTP/1
	allFrom, webFrom sources // the same by where they come from

	open    sync.WaitGroup // connections being sniffed
	mu      sync.Mutex
	sniffed map[net.Conn]struct{} // nil: closed
}

// kept is how many connections are kept.
type kept struct{ all, web, allFrom, webFrom int64 }

// newSplitter keeps at most so many connections, web of them of HTTP/1; allFrom and webFrom from
// one other machine.
func newSplitter(l net.Listener, most kept) *splitter {
	return &splitter{from: l, grpc: newBranch(l.Addr()), http: newBranch(l.Addr()), sniffed: map[net.Conn]struct{}{},
		all: Places{Most: most.all}, web: Places{Most: most.web},
		allFrom: sources{most: most.allFrom}, webFrom: sources{most: most.webFrom}}
}

// run accepts until the listener is closed, and returns when no connection is being
// sniffed any more.
func (s *splitter) run() error {
	defer s.open.Wait()
	var pause time.Duration
	for {
		c, err := s.from.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Out of file descriptors, most likely; connections end, so it passes.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			if !s.grpc.rest(pause) {
				return nil
			}
			continue
		}
		pause = 0
		held := &sniffedConn{Conn: c}
		if !held.hold(&s.all, &s.allFrom) || !s.begin(c) {
			_ = held.Close() // there are too many, or the server is stopping
			continue
		}
		s.open.Add(1)
		go s.sniff(held)
	}
}

func (s *splitter) begin(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sniffed == nil {
		return false
	}
	s.sniffed[c] = struct{}{}
	return true
}

func (s *splitter) sniff(conn *sniffedConn) {
	defer s.open.Done()
	raw := conn.Conn
	head := make([]byte, 0, len(http2Preface))
	until := time.Now().Add(sniffLimit)
	err := raw.SetReadDeadline(until)
	if err == nil && s.tls != nil {
		err = s.shake(conn, until)
	}
	c := conn.Conn
	for err == nil && len(head) < len(http2Preface) {
		var n int
		n, err = c.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
	}
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	s.mu.Lock()
	delete(s.sniffed, raw)
	s.mu.Unlock()
	conn.head = head
	to := s.http
	switch {
	case err != nil: // it said nothing that could be answered
		to = nil
	case string(head) == http2Preface:
		to = s.grpc
	case !conn.hold(&s.web, &s.webFrom):
		to = nil
	}
	if to == nil {
		_ = conn.Close() // nothing was promised to it
		return
	}
	to.give(conn)
}

// close stops accepting and ends what has not said anything yet.
func (s *splitter) close() error {
	err := s.from.Close()
	s.mu.Lock()
	for c := range s.sniffed {
		_ = c.Close() // nothing was promised to it
	}
	s.sniffed = nil
	s.mu.Unlock()
	_ = s.grpc.Close() // never fails
	_ = s.http.Close()
	return err
}

// sniffedConn gives back the bytes that were read to tell the protocols apart.
type sniffedConn struct {
	net.Conn
	head   []byte
	caller *caller // what its handshake has shown; nil: it is in clear

	held []func() // gives places back when it is closed
	once sync.Once
}

// hold takes a place, and one of those for where the connection comes from; what it got is given
// back when the connection is closed.
func (c *sniffedConn) hold(places *Places, from *sources) bool {
	if !places.Take() {
		return false
	}
	c.held = append(c.held, places.Give)
	source, counted := sourceOf(c.RemoteAddr())
	if !counted {
		return true
	}
	if !from.take(source) {
		return false
	}
	c.held = append(c.held, func() { from.give(source) })
	return true
}

// Close implements net.Conn. Its places are given back first: whoever sees the end may come again at once.
func (c *sniffedConn) Close() error {
	c.once.Do(func() {
		for _, give := range c.held {
			give()
		}
	})
	return c.Conn.Close()
}

func (c *sniffedConn) Read(p []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// branch is one side of a splitter.
type branch struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newBranch(addr net.Addr) *branch {
	return &branch{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (b *branch) give(c net.Conn) {
	select {
	case b.conns <- c:
	case <-b.done:
		_ = c.Close() // the server is stopping
	}
}

// rest pauses; false when the branch was closed meanwhile.
func (b *branch) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.done:
		return false
	}
}

// Accept implements net.Listener.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *branch) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}

// Addr implements net.Listener.
func (b *branch) Addr() net.Addr { return b.addr }
