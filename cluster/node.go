package cluster

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/wire"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// node is what all parts of a replica work with. It may be used by any goroutine; what Open
// sets stays as it is.
type node struct {
	cfg     Config
	log     hclog.Logger
	words   *raftLog // what raft says
	met     *metrics
	machine *machine
	batch   *batcher
	stints  stints
	raft    atomic.Pointer[raft.Raft] // nil: before Run
	store   *logstore.Log
	snaps   *logstore.Snapshots
	trans   *watchedTransport
	port    *wire.Transport // nil with a Backend that has a transport
	// strangers are those who were turned away at the port
	strangers *strangers

	diverged  atomic.Bool
	fatalOnce sync.Once
	fatal     chan error // gets at most one
}

// fail ends Run with err; only the first error counts.
func (n *node) fail(err error) { n.fatalOnce.Do(func() { n.fatal <- err }) }

// awaitDisk runs what reads and writes the data before Run listens for failures. It
// gives the disk's error at once: whoever met it never comes back.
func (n *node) awaitDisk(op func() error) error {
	done := make(chan error, 1)
	go func() { done <- op() }()
	select {
	case err := <-done:
		return err
	case err := <-n.fatal:
		return err
	}
}

func (n *node) propose(data []byte) proposal { return n.raft.Load().Apply(data, 0) }

// Read gives a look at the live state under its read lock: entries wait
// meanwhile, so fn must be short. It must not keep what it is given, nor change
// it. Without a Barrier the state may be stale.
func (n *node) Read(fn func(*fsm.View)) {
	n.machine.mu.RLock()
	defer n.machine.mu.RUnlock()
	fn(&n.machine.state.View)
}

// Copy gives an immutable view of everything, at the price of a few microseconds
// now and of copying pages that change later. The state may be stale without a Barrier.
func (n *node) Copy() *fsm.Image { return n.machine.copy() }

func (n *node) levelBegun() (level uint32) {
	n.Read(func(s *fsm.View) { level = s.Level() })
	return level
}

// Level is the feature level that every member of the cluster reads, as far as it is known:
// one that has not announced itself may read the baseline only. It decides which level may
// begin, never about what has begun.
func (n *node) Level() uint32 {
	level := n.cfg.Features
	for _, s := range n.Servers() {
		level = min(level, max(s.Features, fsm.Baseline))
	}
	return level
}

// self is what this server says of itself.
func (n *node) self() noun.Server {
	return noun.Server{ID: n.cfg.ID, APIAddr: n.cfg.APIAddr, RaftAddr: n.cfg.RaftAddr,
		Version: n.cfg.Version, Features: n.cfg.Features}
}

// question puts a question to a server at that address. The error is io.EOF when it
// hung up without an answer, as one does that does not know the question.
func (n *node) question(id, addr, line string) (string, error) {
	if n.port == nil {
		return n.cfg.Backend.Question(addr, line), nil
	}
	return n.port.Ask(id, addr, line)
}

// poke sends if nobody has to wait for it.
func poke[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

func within(d time.Duration, done <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}
