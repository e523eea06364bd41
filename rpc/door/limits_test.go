package door

import (
	"io"
	"net"
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
	s := newSplitter(l, 2, 1)
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
