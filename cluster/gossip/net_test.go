package gossip

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// network is one in memory that loses what it is told to lose.
type network struct {
	mu    sync.Mutex
	ends  map[string]*end
	drops func(from, to string, udp bool) bool
}

func newNetwork() *network {
	return &network{ends: map[string]*end{}, drops: func(string, string, bool) bool { return false }}
}

// lose sets what is lost from now on.
func (n *network) lose(drops func(from, to string, udp bool) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drops = drops
}

// reach gives the end at an address, nil when nothing gets there.
func (n *network) reach(from, to string, udp bool) *end {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[to]
	if e == nil || n.drops(from, to, udp) {
		return nil
	}
	return e
}

// end is one machine's way to the network.
type end struct {
	net     *network
	ip      string
	packets chan *memberlist.Packet
	streams chan net.Conn
	closed  chan struct{}
}

const port = 7422

func (n *network) end(i int) *end {
	e := &end{net: n, ip: fmt.Sprintf("10.0.0.%d", i), packets: make(chan *memberlist.Packet, 1024),
		streams: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends[e.addr()] = e
	return e
}

func (e *end) addr() string { return joinAddr(e.ip, port) }

func (e *end) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return net.ParseIP(e.ip).To4(), port, nil
}

func (e *end) WriteTo(b []byte, addr string) (time.Time, error) {
	return e.WriteToAddress(b, memberlist.Address{Addr: addr})
}

func (e *end) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	now := time.Now()
	to := e.net.reach(e.addr(), a.Addr, true)
	if to == nil {
		return now, nil // lost
	}
	select {
	case to.packets <- &memberlist.Packet{Buf: append([]byte(nil), b...),
		From: &net.UDPAddr{IP: net.ParseIP(e.ip), Port: port}, Timestamp: now}:
	default:
	}
	return now, nil
}

func (e *end) PacketCh() <-chan *memberlist.Packet { return e.packets }
func (e *end) StreamCh() <-chan net.Conn           { return e.streams }

func (e *end) DialTimeout(addr string, limit time.Duration) (net.Conn, error) {
	return e.DialAddressTimeout(memberlist.Address{Addr: addr}, limit)
}

func (e *end) DialAddressTimeout(a memberlist.Address, limit time.Duration) (net.Conn, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	to := e.net.reach(e.addr(), a.Addr, false)
	if to == nil || e.net.reach(a.Addr, e.addr(), false) == nil {
		select {
		case <-late.C:
			return nil, errors.New("no answer")
		case <-e.closed:
			return nil, net.ErrClosed
		}
	}
	mine, theirs := net.Pipe()
	select {
	case to.streams <- theirs:
		return mine, nil
	case <-late.C:
		return nil, errors.New("nobody accepts")
	case <-to.closed:
		return nil, errors.New("refused")
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

func (e *end) Shutdown() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.net.ends[e.addr()] == e {
		delete(e.net.ends, e.addr())
	}
	select {
	case <-e.closed:
	default:
		close(e.closed)
	}
	return nil
}
