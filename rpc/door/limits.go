package door

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// What strangers may hold of a server at once. Whoever finds no place is told so, or is cut
// off, and costs nothing more.
const (
	maxConns     = 60_000  // connections; a host or an agent needs one
	maxHTTPConns = 4096    // of them of HTTP/1, which carry one call each; fewer than maxStreams
	maxStreams   = 1 << 16 // calls on one connection; bench and servers share one among many callers
	maxHeader    = 64 << 10
	bodyLimit    = 30 * time.Second // for the body of an HTTP request
)

// Places counts what only so many may hold. Safe for concurrent use.
type Places struct {
	Most  int64 // set before the first Take
	taken atomic.Int64
}

// Take tells whether there was a place; it is the caller's until Give.
func (p *Places) Take() bool {
	if p.taken.Add(1) > p.Most {
		p.taken.Add(-1)
		return false
	}
	return true
}

// Give gives a place back.
func (p *Places) Give() { p.taken.Add(-1) }

// Taken is how many are held.
func (p *Places) Taken() int { return int(p.taken.Load()) }

// Full is the error when there is no place.
func (p *Places) Full(what string) error {
	return fault.New(code.Unavailable,
		"This server has %d %s already, the most that it takes; end some, or ask another server.", p.Most, what)
}

// readDeadliner is the connection of a request (http.ResponseController).
type readDeadliner interface{ SetReadDeadline(time.Time) error }

// readBody reads a body within bodyLimit; one that trickles in would occupy its connection for
// ever. The deadline is gone afterwards: an answer may be a stream.
func readBody(conn readDeadliner, body io.Reader) (io.ReadCloser, error) {
	if err := conn.SetReadDeadline(time.Now().Add(bodyLimit)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fault.New(code.Timeout, "The body did not arrive within %s; send it again.", bodyLimit)
	}
	if err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}
