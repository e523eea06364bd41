package door

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
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
	maxConnsFrom = 8192    // connections of one other machine: it may have thousands of agents
	maxHTTPFrom  = 1024    // of them of HTTP/1
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

// sources counts connections by where they come from. Safe for concurrent use.
type sources struct {
	most int64 // of one

	mu   sync.Mutex
	held map[netip.Prefix]int64
}

// take tells whether there was a place; it is the caller's until give.
func (s *sources) take(from netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[from] >= s.most {
		return false
	}
	if s.held == nil {
		s.held = map[netip.Prefix]int64{}
	}
	s.held[from]++
	return true
}

func (s *sources) give(from netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[from]--; s.held[from] == 0 {
		delete(s.held, from)
	}
}

// sourceOf gives where a connection comes from: an address, of IPv6 the network of 64 bits that
// one machine may have to itself. The machine of the server is not counted: all who work on it
// share its address.
func sourceOf(addr net.Addr) (from netip.Prefix, counted bool) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return from, false
	}
	from = networkOf(tcp.AddrPort().Addr())
	return from, from.IsValid() && !tcp.IP.IsLoopback()
}

// machineOf is sourceOf for what remote gives; zero: unknown. All addresses count.
func machineOf(from string) netip.Prefix {
	if at, err := netip.ParseAddrPort(from); err == nil {
		return networkOf(at.Addr())
	}
	ip, _ := netip.ParseAddr(from) // over HTTP without a port
	return networkOf(ip)
}

// networkOf gives what one machine may have to itself; zero for no address.
func networkOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	from, _ := ip.Prefix(bits)
	return from
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
