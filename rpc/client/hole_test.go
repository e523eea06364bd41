package client_test

import (
	"net"
	"sync"
)

// hole is a connection that can be cut off without a word.
type hole struct {
	net.Conn
	mu  sync.Mutex
	cut bool
	off chan struct{}
}

func (h *hole) isCut() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.cut }

func (h *hole) Write(b []byte) (int, error) {
	if h.isCut() {
		return len(b), nil
	}
	return h.Conn.Write(b)
}

func (h *hole) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if h.isCut() {
		<-h.off
		return 0, net.ErrClosed
	}
	return n, err
}

func (h *hole) Close() error {
	h.mu.Lock()
	select {
	case <-h.off:
	default:
		close(h.off)
	}
	h.mu.Unlock()
	return h.Conn.Close()
}
