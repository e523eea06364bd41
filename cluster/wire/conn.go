package wire

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// What may fail while a connection is opened, for people.
const (
	atHandshake   = "handshake"
	atCertificate = "certificate"
	atGeneration  = "generation"
	atGreeting    = "greeting"
	atSender      = "sender"
	atCrowd       = "too many"
)

// conn is one connection to another server, opened by either.
type conn struct {
	net.Conn          // with TLS when there is an Identity
	raw      net.Conn // without it
	layer    *Transport
	peer     atomic.Pointer[Peer] // nil: not known
	done     chan struct{}        // closed when this end has closed it
	end      sync.Once

	// unheard drops the TLS session when the other end hangs up before it has said anything: it may have
	// refused the certificate that the session stands for. Nil without one.
	unheard func()
	heard   atomic.Bool
}

// take notes a connection, so that Close ends it; nil, and it is closed: this transport is.
func (t *Transport) take(raw net.Conn) *conn {
	c := &conn{Conn: raw, raw: raw, layer: t, done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		raw.Close()
		return nil
	}
	t.conns[c] = true
	return c
}

// Close does not say goodbye within TLS: that would wait for an end that hangs.
func (c *conn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.conns, c)
	c.layer.mu.Unlock()
	var err error
	c.end.Do(func() {
		close(c.done)
		err = c.raw.Close()
	})
	return err
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case n > 0 && !c.heard.Load():
		c.heard.Store(true)
	case err != nil && c.unheard != nil && !c.heard.Load():
		c.unheard()
	}
	if err != nil && c.closed() {
		err = io.EOF // which is no failure to report
	}
	return n, err
}

// closed tells whether this end has closed it.
func (c *conn) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// secure does the handshake and tells what failed. The other end must be the server want; empty:
// any server but this one.
func (c *conn) secure(tc *tls.Conn, want string) (what string, err error) {
	if err := tc.Handshake(); err != nil {
		return atHandshake, err
	}
	c.Conn = tc
	cs := tc.ConnectionState()
	if cs.NegotiatedProtocol != Greeting {
		return atHandshake, fmt.Errorf("the other end does not speak %s", Greeting)
	}
	p := &Peer{}
	if p.ID, p.Generation, p.Shown, err = c.layer.cfg.Identity.PeerServer(&cs); err != nil {
		return atCertificate, err
	}
	c.peer.Store(p)
	switch {
	case want != "" && want != p.ID:
		return atCertificate, fmt.Errorf("%s is server %s, not %s", c.RemoteAddr(), p.ID, want)
	case p.ID == c.layer.cfg.ID:
		return atCertificate, fmt.Errorf("the other end has the identity of this server, %s", p.ID)
	case c.layer.cfg.Revoked(*p):
		return atGeneration, p.revoked()
	}
	return "", nil
}

// who names the other end for people: by its id, else by its address, whose port says nothing.
func (c *conn) who() string {
	if p := c.peer.Load(); p != nil {
		return p.ID
	}
	return hostOf(c.raw)
}

func hostOf(c net.Conn) string {
	addr := c.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// readLine reads up to the end of a line and nothing behind it.
func readLine(r io.Reader, bound int) (string, error) {
	line, b := make([]byte, 0, 64), make([]byte, 1)
	for len(line) < bound {
		if _, err := io.ReadFull(r, b); err != nil {
			if len(line) > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return string(line), err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return string(line), fmt.Errorf("no line within %d bytes", bound)
}

// bound sets the time until which all must be read and written; zero: none.
func (c *conn) bound(d time.Duration) error {
	if d == 0 {
		return c.raw.SetDeadline(time.Time{})
	}
	return c.raw.SetDeadline(time.Now().Add(d))
}
