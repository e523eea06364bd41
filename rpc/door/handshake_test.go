package door

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Handshakes that are worked on wait for a place, as long as a connection may be silent, and not beyond
// the end of the server; one machine gets a part of what is under way.
func TestHandshakesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		h := newHandshakes(ca.server("s1"), &registry{})
		free := h.turns.free
		for range free {
			if err := h.turns.take(false, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		stop := make(chan struct{})
		close(stop)
		if err := h.shake(greeted(t), time.Now().Add(time.Hour), stop); !errors.Is(err, net.ErrClosed) {
			t.Errorf("while the server stops: %v", err)
		}
		begun := time.Now()
		if err := h.shake(greeted(t), begun.Add(time.Minute), nil); err == nil || time.Since(begun) != time.Minute {
			t.Errorf("without a place, after %s: %v", time.Since(begun), err)
		}
		for range free {
			h.turns.give()
		}
		other := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
		from, _ := sourceOf(other)
		for range maxHandshakesFrom {
			h.from.take(from)
		}
		far := greeted(t)
		far.Conn = &elsewhere{far.Conn, other}
		if err := h.shake(far, time.Now().Add(time.Hour), nil); err != errTooMany {
			t.Errorf("one more of the same machine: %v", err)
		}
		if h.turns.free != free {
			t.Errorf("%d of %d places are free", h.turns.free, free)
		}
	})
}

// Half of the processors work on handshakes, and one where there is only one.
func TestHandshakesLeaveProcessorsToTheRest(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 16: 8, 64: mostHandshakes} {
		if got := handshakesAtOnce(processors); got != want {
			t.Errorf("%d processors work on %d handshakes at once, want %d", processors, got, want)
		}
	}
}

// greeted is the server's end of a connection whose client has begun a handshake.
func greeted(t *testing.T) *sniffedConn {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	go func() { _ = tls.Client(there, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	return &sniffedConn{Conn: here}
}

// Whoever connects and says nothing keeps nobody from a handshake.
func TestS13SilenceKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		h := newHandshakes(ca.server("s1"), &registry{})
		var silent sync.WaitGroup
		for range 4 * h.turns.free {
			here, there := net.Pipe()
			defer there.Close()
			silent.Go(func() { _ = h.shake(&sniffedConn{Conn: here}, time.Now().Add(time.Minute), nil) })
		}
		synctest.Wait()
		begun := time.Now()
		conn := greeted(t)
		if err := h.shake(conn, begun.Add(time.Minute), nil); err != nil || time.Since(begun) != 0 {
			t.Errorf("beside silent connections, after %s: %v", time.Since(begun), err)
		}
		conn.Close()
		silent.Wait()
	})
}

// elsewhere is a connection that comes from another address.
type elsewhere struct {
	net.Conn
	from net.Addr
}

func (e *elsewhere) RemoteAddr() net.Addr { return e.from }
