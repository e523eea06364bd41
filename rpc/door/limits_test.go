package door

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

func TestS13ConnectionsAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSplitter(l, kept{all: 2, web: 1})
	ended := make(chan error, 1)
	go func() { ended <- s.run() }()
	defer func() {
		_ = s.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func(first string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, first); err != nil {
			t.Fatal(err)
		}
		return c
	}
	refused := func(what string, c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a failing test ends
		if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Fatalf("%s is kept: %v", what, err)
		}
	}
	dial("GET / HTTP/1.1\r\n")
	first, err := s.http.Accept()
	if err != nil {
		t.Fatal(err)
	}
	refused("a second connection of HTTP", dial("GET / HTTP/1.1\r\n"))
	dial(http2Preface)
	if _, err := s.grpc.Accept(); err != nil { // the other kind has its place
		t.Fatal(err)
	}
	refused("a third connection", dial(http2Preface))
	for range 2 { // a place is given back once
		_ = first.Close()
	}
	dial("GET / HTTP/1.1\r\n")
	if _, err := s.http.Accept(); err != nil {
		t.Fatal(err)
	}
	refused("a third connection after one has ended", dial(http2Preface))
}

// S13: one machine does not take the places of all others; those who work on the server's own
// machine share its address.
func TestS13ConnectionsAreCountedBySource(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:1": "192.0.2.7/32", "[::ffff:192.0.2.7]:1": "192.0.2.7/32",
		"[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
		"127.0.0.1:1": "", "[::1]:1": "", "[::ffff:127.0.0.2]:1": "",
	} {
		ap := netip.MustParseAddrPort(addr)
		from, counted := sourceOf(net.TCPAddrFromAddrPort(ap))
		if counted != (want != "") || counted && from.String() != want {
			t.Errorf("%s counts as %s %t, want %q", addr, from, counted, want)
		}
	}
	if _, counted := sourceOf(&net.UnixAddr{Name: "x"}); counted {
		t.Error("a socket in the file system has no source")
	}

	net1, net2 := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 8)}
	l := &madeUp{conns: make(chan net.Conn), done: make(chan struct{})}
	s := newSplitter(l, kept{all: 100, web: 100, allFrom: 2, webFrom: 1})
	ended := make(chan error, 1)
	go func() { ended <- s.run() }()
	defer func() {
		_ = s.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func(from net.Addr, first string) net.Conn {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = near.Close() })
		l.conns <- &cameFrom{far, from}
		go func() { _, _ = io.WriteString(near, first) }() // fails where the connection is refused
		return near
	}
	accept := func(b *branch) net.Conn {
		t.Helper()
		c, err := b.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	refused := func(what string, c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a failing test ends
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("%s is kept: %v", what, err)
		}
	}
	dial(net1, "GET / HTTP/1.1\r\n")
	web := accept(s.http)
	refused("a second connection of HTTP", dial(net1, "GET / HTTP/1.1\r\n"))
	dial(net1, http2Preface)
	accept(s.grpc)
	refused("a third connection", dial(net1, http2Preface))
	dial(net2, "GET / HTTP/1.1\r\n") // another machine has places of its own
	accept(s.http)
	_ = web.Close()
	dial(net1, "GET / HTTP/1.1\r\n")
	accept(s.http)
	for range 5 { // the machine itself is not counted
		dial(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, http2Preface)
		accept(s.grpc)
	}
}

// madeUp is a listener whose connections come from where a test says.
type madeUp struct {
	conns chan net.Conn
	done  chan struct{}
}

func (m *madeUp) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *madeUp) Close() error { close(m.done); return nil }

func (m *madeUp) Addr() net.Addr { return &net.TCPAddr{} }

// cameFrom is a connection from an address.
type cameFrom struct {
	net.Conn
	from net.Addr
}

func (c *cameFrom) RemoteAddr() net.Addr { return c.from }

func TestS13BodiesThatDoNotComeAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = near.Close(); _ = far.Close() }()
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := readBody(&stalled{far}, far)
			done <- err
		}()
		if err := <-done; err == nil || fault.Of(err).Code != code.Timeout {
			t.Errorf("a body that does not come: %v, want timeout", err)
		}
		if took := time.Since(began); took != bodyLimit {
			t.Errorf("waited %s, want %s", took, bodyLimit)
		}
	})
}

// stalled lets the reader of a body set the deadline of its connection.
type stalled struct{ conn net.Conn }

func (s *stalled) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }
