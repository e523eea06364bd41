package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	rpcTimeout = 500 * time.Millisecond // how long a server waits for an answer that does not come
	heldMost   = 64                     // messages that wait for a frozen server; the rest is lost
)

var errUnreachable = errors.New("unreachable")

// wire carries the servers' messages in memory. What is cut or lost is swallowed:
// the sender waits for its time-out, as it would for a dead machine. Delayed
// messages overtake each other and arrive after their senders have given them up.
type wire struct {
	mu      sync.Mutex
	rng     *rand.Rand
	ports   []*port
	cut     map[[2]int]int  // directed; by how many faults
	frozen  []chan struct{} // closed when the server goes on; nil: it does
	held    []int
	freezes []int // how many faults freeze a server

	loss, twice float64       // chance of each message
	delay       time.Duration // at most

	corrupts bool // the last server gets other entries; a defect

	lost, late, doubled, installs atomic.Int64
}

func newWire(n int, rng *rand.Rand) *wire {
	return &wire{rng: rng, ports: make([]*port, n), cut: map[[2]int]int{}, frozen: make([]chan struct{}, n),
		held: make([]int, n), freezes: make([]int, n)}
}

func address(i int) raft.ServerAddress { return raft.ServerAddress(fmt.Sprintf("10.0.0.%d:7421", i+1)) }

// indexOf is address backwards; -1: it is nobody's. It is asked for every message.
func indexOf(a raft.ServerAddress) int {
	text, ok := strings.CutSuffix(strings.TrimPrefix(string(a), "10.0.0."), ":7421")
	if i, err := strconv.Atoi(text); ok && err == nil {
		return i - 1
	}
	return -1
}

// listen gives one run of a server its transport; the one before is gone.
func (n *wire) listen(i int) *port {
	p := &port{wire: n, at: i, rpcs: make(chan raft.RPC, 16), closed: make(chan struct{})}
	n.mu.Lock()
	n.ports[i] = p
	n.mu.Unlock()
	return p
}

// change changes how messages travel.
func (n *wire) change(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn()
}

// block cuts the way from one server to another until the answer is called.
func (n *wire) block(from, to int) (undo func()) {
	n.change(func() { n.cut[[2]int{from, to}]++ })
	return sync.OnceFunc(func() { n.change(func() { n.cut[[2]int{from, to}]-- }) })
}

// freeze holds everything that a server says and hears until the answer is called.
func (n *wire) freeze(i int) (thaw func()) {
	n.change(func() {
		if n.freezes[i]++; n.frozen[i] == nil {
			n.frozen[i] = make(chan struct{})
		}
	})
	return sync.OnceFunc(func() {
		n.change(func() {
			if n.freezes[i]--; n.freezes[i] == 0 {
				close(n.frozen[i])
				n.frozen[i] = nil
			}
		})
	})
}

func (n *wire) isFrozen(i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[i] != nil
}

// open tells whether two servers hear each other.
func (n *wire) open(i, j int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]int{i, j}] == 0 && n.cut[[2]int{j, i}] == 0 && n.frozen[i] == nil && n.frozen[j] == nil
}

// passage is what becomes of one message.
type passage struct {
	to    *port // nil: it is lost
	delay time.Duration
	twice bool
	held  chan struct{} // it waits for this
}

func (n *wire) passage(from, to int) (w passage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if to < 0 || n.cut[[2]int{from, to}] > 0 || n.loss > 0 && n.rng.Float64() < n.loss {
		n.lost.Add(1)
		return w
	}
	if w.held = n.frozen[to]; w.held != nil {
		if n.held[to]++; n.held[to] > heldMost {
			return passage{}
		}
	} else {
		n.held[to] = 0
	}
	w.to = n.ports[to]
	if n.delay > 0 {
		w.delay = time.Duration(n.rng.Int64N(int64(n.delay)))
		n.late.Add(1)
	}
	w.twice = n.twice > 0 && n.rng.Float64() < n.twice
	return w
}

// port is the raft.Transport of one run of a server.
type port struct {
	wire   *wire
	at     int
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
func (p *port) LocalAddr() raft.ServerAddress          { return address(p.at) }
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
	c := copyEntries(args)
	if p.wire.corrupts && indexOf(to) == len(p.wire.ports)-1 {
		for _, l := range c.Entries {
			l.Data = bytes.ReplaceAll(l.Data, []byte("-7"), []byte("-2")) // in titles of tasks
		}
	}
	return carry(p, to, c, resp)
}

func (p *port) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return carry(p, to, args, resp)
}

func (p *port) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	return carry(p, to, args, resp)
}

func (p *port) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return carry(p, to, args, resp)
}

func (p *port) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	all, err := io.ReadAll(data)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	if err := carry(p, to, &parcel{args, all}, resp); err != nil {
		return err
	}
	p.wire.installs.Add(1)
	return nil
}

// parcel is a snapshot under way.
type parcel struct {
	args *raft.InstallSnapshotRequest
	data []byte
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

// carry sends one request and waits for its answer.
func carry[T any](p *port, to raft.ServerAddress, args any, resp *T) error {
	if !p.await(p.wire.holding(p.at)) {
		return errUnreachable
	}
	began := time.Now()
	answers := make(chan raft.RPCResponse, 1)
	way := p.wire.passage(p.at, indexOf(to))
	if way.twice {
		p.wire.doubled.Add(1)
		again := passage{to: way.to, delay: way.delay + 50*time.Millisecond, held: way.held}
		go again.deliver(args, make(chan raft.RPCResponse, 1))
	}
	switch {
	case way.to == nil:
	case way.delay > 0 || way.held != nil:
		go way.deliver(args, answers)
	default:
		way.to.take(args, answers)
	}
	select {
	case a := <-answers: // a heartbeat is answered at once: most messages need no timer
		if p.returns(way.to, to) {
			return unpack(a, resp)
		}
		answers = nil // lost: only the time-out is left
	default:
	}
	timeout := time.NewTimer(rpcTimeout - time.Since(began))
	defer timeout.Stop()
	for {
		select {
		case a := <-answers:
			if p.returns(way.to, to) {
				return unpack(a, resp)
			}
			answers = nil
		case <-timeout.C:
			return fmt.Errorf("call %s: %w", to, errUnreachable)
		case <-p.closed:
			return errUnreachable
		}
	}
}

// returns lets an answer travel back; false: it is lost. One of a run that is over says what was never done: its
// writes have gone to a copy of the disk.
func (p *port) returns(asked *port, from raft.ServerAddress) bool {
	select {
	case <-asked.closed:
		return false
	default:
	}
	back := p.wire.passage(indexOf(from), p.at)
	return back.to != nil && p.after(back.delay) && p.await(back.held)
}

func unpack[T any](a raft.RPCResponse, resp *T) error {
	if a.Error != nil {
		return a.Error
	}
	*resp = *a.Response.(*T)
	return nil
}

func (n *wire) holding(i int) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[i]
}

// await waits for the end of a freeze; false: the port was closed.
func (p *port) await(held chan struct{}) bool {
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-p.closed:
		return false
	}
}

// after waits for what is on its way; false: the port was closed.
func (p *port) after(d time.Duration) bool {
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.closed:
		return false
	}
}

// deliver brings a message that is late.
func (w passage) deliver(args any, answers chan raft.RPCResponse) {
	if w.to.await(w.held) && w.to.after(w.delay) {
		w.to.take(args, answers)
	}
}

// take hands a message to the server. A full one loses it.
func (p *port) take(args any, answers chan raft.RPCResponse) {
	rpc := raft.RPC{Command: args, RespChan: answers}
	if s, ok := args.(*parcel); ok {
		rpc.Command, rpc.Reader = s.args, newReader(s.data)
	}
	select {
	case <-p.closed:
		return
	default:
	}
	p.mu.Lock()
	beat := p.beat
	p.mu.Unlock()
	if beat != nil && isHeartbeat(args) {
		beat(rpc)
		return
	}
	select {
	case p.rpcs <- rpc:
	default:
	}
}
