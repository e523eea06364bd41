package clustertest

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// rpcTimeout is how long a server waits for an answer that does not come.
const rpcTimeout = 300 * time.Millisecond

// snapshotTimeout is the same of one who loads a snapshot.
const snapshotTimeout = 5 * time.Minute

var errUnreachable = errors.New("unreachable")

// network carries the servers' messages in memory. A link that is cut swallows
// messages: the sender waits for its timeout, as it would for a dead machine.
type network struct {
	mu    sync.Mutex
	ports map[raft.ServerAddress]*port
	cut   map[[2]raft.ServerAddress]bool // directed
	held  map[raft.ServerAddress]bool    // paused: nothing in, nothing out

	slow time.Duration // that a snapshot takes on its way, with ports

	listeners map[raft.ServerAddress]*listener // with streams instead of ports
	pipes     []*pipe
}

func newNetwork() *network {
	return &network{
		ports: map[raft.ServerAddress]*port{},
		cut:   map[[2]raft.ServerAddress]bool{},
		held:  map[raft.ServerAddress]bool{},

		listeners: map[raft.ServerAddress]*listener{},
	}
}

// listen gives a server its transport.
func (n *network) listen(addr raft.ServerAddress) *port {
	p := &port{net: n, addr: addr, rpcs: make(chan raft.RPC, 16), closed: make(chan struct{})}
	n.mu.Lock()
	n.ports[addr] = p
	n.mu.Unlock()
	return p
}

// ended silences the process of a server that has ended: what of it hangs goes on in the harness.
func (n *network) ended(addr raft.ServerAddress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.ports[addr]; p != nil {
		_ = p.Close()
	}
}

func (n *network) setCut(a, b raft.ServerAddress, cut bool) {
	n.mu.Lock()
	n.cut[[2]raft.ServerAddress{a, b}] = cut
	n.cut[[2]raft.ServerAddress{b, a}] = cut
	n.wake()
	n.mu.Unlock()
}

func (n *network) setHeld(a raft.ServerAddress, held bool) {
	n.mu.Lock()
	n.held[a] = held
	n.wake()
	n.mu.Unlock()
}

func (n *network) heal() {
	n.mu.Lock()
	clear(n.cut)
	n.wake()
	n.mu.Unlock()
}

// wake has all streams look again at what arrives; n.mu is held.
func (n *network) wake() {
	for _, p := range n.pipes {
		p.wake.Broadcast()
	}
}

// open tells whether messages arrive; n.mu is held.
func (n *network) open(from, to raft.ServerAddress) bool {
	return !n.cut[[2]raft.ServerAddress{from, to}] && !n.held[from] && !n.held[to]
}

// reaches tells the same to others.
func (n *network) reaches(from, to raft.ServerAddress) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open(from, to)
}

// reach gives the port at the other end, nil when messages do not arrive.
func (n *network) reach(from, to raft.ServerAddress) *port {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open(from, to) {
		return nil
	}
	return n.ports[to]
}

// port is one server's raft.Transport.
type port struct {
	net    *network
	addr   raft.ServerAddress
	rpcs   chan raft.RPC
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	beat   func(raft.RPC)
}

// Close makes the port deaf and mute.
func (p *port) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *port) Consumer() <-chan raft.RPC              { return p.rpcs }
func (p *port) LocalAddr() raft.ServerAddress          { return p.addr }
func (p *port) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

func (p *port) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }

func (p *port) SetHeartbeatHandler(fn func(raft.RPC)) {
	p.mu.Lock()
	p.beat = fn
	p.mu.Unlock()
}

// AppendEntriesPipeline is not offered: entries go one request at a time.
func (p *port) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

func (p *port) AppendEntries(_ raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	return call(p, to, copyEntries(args), nil, resp)
}

func (p *port) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return call(p, to, args, nil, resp)
}

func (p *port) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return call(p, to, args, nil, resp)
}

func (p *port) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	p.net.mu.Lock()
	slow := p.net.slow
	p.net.mu.Unlock()
	return call(p, to, args, &dripping{in: data, step: args.Size/drips + 1, wait: slow / drips, end: p.closed}, resp)
}

// drips is in how many parts a snapshot arrives at least.
const drips = 100

// dripping is a snapshot on its way, part by part.
type dripping struct {
	in   io.Reader
	step int64
	wait time.Duration // before each part
	end  chan struct{} // of whoever sends it
}

func (d *dripping) Read(b []byte) (int, error) {
	if d.wait > 0 {
		select {
		case <-time.After(d.wait):
		case <-d.end:
			return 0, errUnreachable
		}
	}
	return d.in.Read(b[:min(int64(len(b)), d.step)])
}

func (p *port) TimeoutNow(
	_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse,
) error {
	return call(p, to, args, nil, resp)
}

// copyEntries keeps servers from sharing memory.
func copyEntries(args *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	c := *args
	c.Entries = make([]*raft.Log, len(args.Entries))
	for i, l := range args.Entries {
		e := *l
		e.Data = append([]byte(nil), l.Data...)
		c.Entries[i] = &e
	}
	return &c
}

func isHeartbeat(args any) bool {
	a, ok := args.(*raft.AppendEntriesRequest)
	return ok && a.Term != 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 &&
		a.LeaderCommitIndex == 0
}

// call sends one request and waits for its answer.
func call[T any](p *port, to raft.ServerAddress, args any, data io.Reader, resp *T) error {
	timeout := time.NewTimer(rpcTimeout)
	defer timeout.Stop()
	lost := func() error {
		select {
		case <-timeout.C:
		case <-p.closed:
		}
		return fmt.Errorf("call %s: %w", to, errUnreachable)
	}
	peer := p.net.reach(p.addr, to)
	if peer == nil {
		return lost()
	}
	select {
	case <-p.closed:
		return lost()
	default:
	}
	answers := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: args, Reader: data, RespChan: answers}
	peer.mu.Lock()
	beat := peer.beat
	peer.mu.Unlock()
	select {
	case <-peer.closed:
		return lost()
	default:
	}
	if beat != nil && isHeartbeat(args) {
		beat(rpc)
	} else {
		select {
		case peer.rpcs <- rpc:
		case <-peer.closed:
			return lost()
		case <-p.closed:
			return lost()
		case <-timeout.C:
			return fmt.Errorf("call %s: %w", to, errUnreachable)
		}
	}
	if d, is := data.(*dripping); is { // as real transports, which give time by the size of what they send
		timeout.Reset(snapshotTimeout + 3*drips*d.wait)
	}
	select {
	case a := <-answers:
		if p.net.reach(to, p.addr) == nil {
			return lost()
		}
		if a.Error != nil {
			return a.Error
		}
		*resp = *a.Response.(*T)
		return nil
	case <-peer.closed:
		return lost()
	case <-p.closed:
		return lost()
	case <-timeout.C:
		return fmt.Errorf("call %s: %w", to, errUnreachable)
	}
}
