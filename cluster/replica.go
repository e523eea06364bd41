package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/fsm/noun"
)

// Bounds of an orderly shutdown.
const (
	transferBound = time.Second
	settleBound   = 3 * time.Second
	shutdownBound = 10 * time.Second
)

// ErrNoJoin says that a shutdown took too long and was not waited for.
var ErrNoJoin = errors.New("shutdown did not end in time")

// Replica is one server's part of the replicated state machine. Its methods may
// be called by any goroutine; before Run and after it there is no leader.
type Replica struct {
	cfg     Config
	log     hclog.Logger
	words   *raftLog // what raft says
	met     *metrics
	machine *machine
	batch   *batcher
	stints  stints
	reach   atomic.Pointer[Reach] // nil: not known; others may ask before Run
	raft    atomic.Pointer[raft.Raft]

	dir     *logstore.Dir // nil with a Backend
	store   *logstore.Log
	snaps   *logstore.Snapshots
	trans   *watchedTransport
	marks   chan markJob
	snapNow chan struct{}
	markDue chan struct{}
	aside   chan struct{} // this server has diverged
	again   chan struct{} // a backup was installed

	fresh    atomic.Bool // see Outside
	founding atomic.Bool // it has no data and is a founder
	cluster  atomic.Pointer[string]
	diverged atomic.Bool
	lastMark atomic.Uint64

	members   chan struct{} // one change of membership at a time, see enterMembers
	additions additions
	// learning guards the identity file and dir against connections that come while
	// they close, and the marks of founders.
	learning sync.Mutex
	// identified tells that the identity file is written; guarded by learning.
	identified bool
	fatalOnce  sync.Once
	fatal      chan error // gets at most one
	ran        atomic.Bool
}

// Open locks the data directory, checks that the data belongs here, loads the
// newest good snapshot and listens for other servers. Errors: ErrOtherCluster, those
// of the package logstore, what Validate finds, and errors of the disk or the address.
func Open(cfg Config) (*Replica, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	met, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, err
	}
	r := &Replica{
		cfg: cfg, log: cfg.Logger.Named("cluster"), met: met,
		words: newRaftLog(cfg.Logger.Named("raft")),
		marks: make(chan markJob, 1), snapNow: make(chan struct{}, 1), markDue: make(chan struct{}, 1),
		aside: make(chan struct{}, 1), again: make(chan struct{}, 1),
		fatal: make(chan error, 1), members: make(chan struct{}, 1),
	}
	r.stints.changed = make(chan struct{})
	if err := r.awaitDisk(r.openAll); err != nil {
		if !errors.Is(err, logstore.ErrDiskStuck) { // else it is still at work
			r.dropAll()
		}
		return nil, fmt.Errorf("open server %s: %w", cfg.ID, err)
	}
	return r, nil
}

func (r *Replica) openTransport() error {
	if b := r.cfg.Backend; b != nil {
		r.trans = newWatchedTransport(b.Transport, r.covers)
		return nil
	}
	l := r.cfg.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", r.cfg.BindAddr); err != nil {
			return fmt.Errorf("listen for servers: %w", err)
		}
	}
	r.trans = newWatchedTransport(raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: &streamLayer{
			Listener: l, advertise: r.cfg.RaftAddr, cluster: r.Cluster, learn: r.learnCluster, answer: r.Answer,
			reject: func(from, greeting string, err error) {
				r.log.Warn("peer turned away", "from", from, "greeting", greeting, "error", err)
			},
		},
		MaxPool: 4, Timeout: 5 * time.Second, Logger: r.cfg.Logger.Named("raft.net"), MsgpackUseNewTimeFormat: true,
	}), r.covers)
	return nil
}

// Run takes part in the cluster until ctx ends, then hands leadership over and
// shuts down. A server without data first asks others whether it may: a founder waits
// for all founders, another one for a leader that has added it. It returns nil after an
// orderly end, and ErrDataLost when the others know it as a member. record.ErrUnknown,
// logstore.ErrDiskStuck and logstore.ErrDiskFailed are returned at once, without waiting for what hangs:
// the process has to exit then. It is called once.
func (r *Replica) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return errors.New("run server: it has run already")
	}
	if err := r.enter(ctx); err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return r.giveBack(err)
	}
	notify := make(chan bool)
	var rf *raft.Raft
	err := r.awaitDisk(func() (err error) {
		conf := r.cfg.raftConfig(notify)
		conf.Logger = r.words
		rf, err = raft.NewRaft(conf, r.machine, r.store, r.store, r.snaps, r.trans)
		return err
	})
	if err != nil {
		return r.giveBack(fmt.Errorf("start raft: %w", err))
	}
	if err := r.ownAddress(rf); err != nil {
		return errors.Join(err, rf.Shutdown().Error(), r.trans.Close(), r.release())
	}
	r.raft.Store(rf)
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	batching, stopBatching := context.WithCancel(live)
	defer stopBatching()
	settled := make(chan struct{})
	wg.Go(func() { r.followLeadership(live, notify) })
	wg.Go(func() { r.batch.run(batching); close(settled) })
	wg.Go(func() { r.hashMarks(live) })
	wg.Go(func() { r.proposeMarks(live) })
	wg.Go(func() { r.snapshotBySize(live) })
	wg.Go(func() { r.watchDivergence(live) })

	select {
	case err := <-r.fatal:
		if errors.Is(err, record.ErrUnknown) {
			stopBatching()
			r.settle(settled)
		}
		return r.abandon(rf, err)
	case <-ctx.Done():
	}
	r.log.Info("server is stopping")
	r.handOver(rf)
	stopBatching()
	r.settle(settled)
	down := make(chan struct{})
	var downErr error
	go func() {
		future := rf.Shutdown()
		// What raft is sending would hold it up: a snapshot to a server that hangs takes minutes to fail.
		downErr = errors.Join(r.trans.Close(), future.Error())
		close(down)
	}()
	select {
	case err := <-r.fatal:
		return r.abandon(rf, err)
	case <-down:
	case <-time.After(shutdownBound):
		return fmt.Errorf("stop server: %w after %v", ErrNoJoin, shutdownBound)
	}
	stop()
	wg.Wait()
	return errors.Join(downErr, r.release())
}

// giveBack gives back what Open took, with an error that came before raft ran. What
// hangs on a disk is not waited for.
func (r *Replica) giveBack(err error) error {
	if errors.Is(err, logstore.ErrDiskStuck) || errors.Is(err, logstore.ErrDiskFailed) {
		return err
	}
	return errors.Join(err, r.trans.Close(), r.release())
}

// settle ends the stint for good and waits until everything proposed is answered:
// raft forgets to answer what is under way when it is shut down.
func (r *Replica) settle(batches <-chan struct{}) {
	r.stints.mu.Lock()
	r.stints.closed = true
	r.stints.mu.Unlock()
	r.endStint(noun.ErrStopping)
	done := make(chan struct{})
	go func() { r.stints.wg.Wait(); <-batches; close(done) }()
	within(settleBound, done)
}

// abandon ends what can be ended without waiting.
func (r *Replica) abandon(rf *raft.Raft, err error) error {
	r.log.Error("server stops at once", "error", err)
	r.endStint(noun.ErrStopping)
	rf.Shutdown() // not waited for: it may wait for the disk
	if cerr := r.trans.Close(); cerr != nil {
		r.log.Warn("cannot close transport", "error", cerr)
	}
	return err
}

// handOver gives leadership to another server, so that clients hardly notice.
func (r *Replica) handOver(rf *raft.Raft) {
	if rf.State() != raft.Leader || len(r.voters()) < 2 {
		return
	}
	done := make(chan struct{})
	go func() {
		if err := rf.LeadershipTransfer().Error(); err != nil {
			r.log.Warn("leadership not handed over", "error", err)
		}
		close(done)
	}()
	within(transferBound, done)
}

func within(d time.Duration, done <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Close gives back what Open took when Run is never called.
func (r *Replica) Close() error {
	if r.ran.Swap(true) {
		return nil
	}
	return errors.Join(r.trans.Close(), r.release())
}

// release closes the files. Sockets belong to raft once it runs.
func (r *Replica) release() error {
	r.learning.Lock()
	defer r.learning.Unlock()
	if r.dir == nil {
		return nil
	}
	dir := r.dir
	r.dir = nil
	return dir.Close()
}

// fail ends Run with err; only the first error counts.
func (r *Replica) fail(err error) { r.fatalOnce.Do(func() { r.fatal <- err }) }

func (r *Replica) propose(data []byte) proposal { return r.raft.Load().Apply(data, 0) }

// afterEntry looks at each applied entry from raft's goroutine; it must not block.
func (r *Replica) afterEntry(a *applied) {
	r.batch.setNext(a.next)
	if r.machine.logBytes.Load() >= r.cfg.Limits.SnapshotBytes {
		poke(r.snapNow, struct{}{})
	}
	r.lookAtMarks(a)
}

// poke sends if nobody has to wait for it.
func poke[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

// snapshotBySize takes a snapshot when enough bytes of log have gathered; raft
// itself counts entries.
func (r *Replica) snapshotBySize(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.snapNow:
		}
		if r.machine.logBytes.Load() < r.cfg.Limits.SnapshotBytes {
			continue
		}
		done := make(chan error, 1)
		go func() { done <- r.raft.Load().Snapshot().Error() }()
		select {
		case <-ctx.Done():
			return
		case err := <-done:
			if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				r.log.Warn("snapshot failed", "error", err)
			}
		}
	}
}
