package linktest

import (
	"net"
	"sync"
)

// Hole is a connection that can be cut off without a word: what is written is lost, and
// nothing is read any more. Safe for concurrent use.
type Hole struct {
	net.Conn
	mu  sync.Mutex
	cut bool
	off chan struct{}
}

// Dig makes a connection one that can be cut.
func Dig(c net.Conn) *Hole { return &Hole{Conn: c, off: make(chan struct{})} }

// Cut cuts it off, for good.
func (h *Hole) Cut() { h.mu.Lock(); h.cut = true; h.mu.Unlock() }

func (h *Hole) isCut() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.cut }

// Write loses what is written once the connection is cut.
func (h *Hole) Write(b []byte) (int, error) {
	if h.isCut() {
		return len(b), nil
	}
	return h.Conn.Write(b)
}

// Read waits until Close once the connection is cut.
func (h *Hole) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if h.isCut() {
		<-h.off
		return 0, net.ErrClosed
	}
	return n, err
}

// Close ends it.
func (h *Hole) Close() error {
	h.mu.Lock()
	select {
	case <-h.off:
	default:
		close(h.off)
	}
	h.mu.Unlock()
	return h.Conn.Close()
}
