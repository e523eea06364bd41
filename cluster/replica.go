package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/cluster/wire"
	"vigil/fsm"
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
	*node
	*identity
	*members
	*reachability
	*figures
	entrance  *entrance
	agreement *agreement
	audit     *audit
	levels    *levels
	trailing  *trailing

	snapNow chan struct{} // enough log for a snapshot has gathered
	again   chan struct{} // a backup was installed
	ran     atomic.Bool
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
	n := &node{cfg: cfg, log: cfg.Logger.Named("cluster"), met: met,
		words: newRaftLog(cfg.Logger.Named("raft")), fatal: make(chan error, 1)}
	n.strangers = newStrangers(n.log)
	id := &identity{node: n}
	r := &Replica{node: n, identity: id, members: &members{node: n, turn: make(chan struct{}, 1)},
		reachability: &reachability{node: n}, entrance: &entrance{node: n, id: id},
		agreement: &agreement{n}, audit: newAudit(n),
		levels: &levels{n}, trailing: &trailing{node: n},
		snapNow: make(chan struct{}, 1), again: make(chan struct{}, 1)}
	r.figures = &figures{node: n, reach: r.reachedAt}
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
	g := &gate{r.node}
	if !r.cfg.ported() {
		r.trans = newWatchedTransport(r.cfg.Backend.Transport, g, r.trailing)
		return nil
	}
	l := r.cfg.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", r.cfg.BindAddr); err != nil {
			return fmt.Errorf("listen for servers: %w", err)
		}
	}
	r.port = wire.Listen(wire.Config{
		ID: r.cfg.ID, Advertise: r.cfg.RaftAddr, Listener: l, Dial: r.cfg.Dial, Identity: r.cfg.Identity,
		Cluster: r.Cluster, Learn: r.learnCluster, Answer: r.answerTo, Revoked: r.revoked,
		Reject: r.strangers.say, Logger: r.cfg.Logger.Named("raft.net"),
	})
	r.trans = newWatchedTransport(r.port, g, r.trailing)
	return nil
}

// revoked tells whether a server's credential is known not to count any more.
func (r *Replica) revoked(p wire.Peer) (revoked bool) {
	if r.cfg.Revoked != nil {
		r.Read(func(v *fsm.View) { revoked = r.cfg.Revoked(v, p) })
	}
	return revoked
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
	err := r.entrance.enter(ctx)
	if err == nil {
		err = r.agreement.agree(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return r.giveBack(err)
	}
	notify := make(chan bool)
	var rf *raft.Raft
	err = r.awaitDisk(func() (err error) {
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
	wg.Go(func() { r.audit.hashMarks(live) })
	wg.Go(func() { r.audit.proposeMarks(live) })
	wg.Go(func() { r.snapshotBySize(live) })
	wg.Go(func() { r.audit.watchDivergence(live) })
	wg.Go(func() { r.watchDirectory(live) })

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
	down := make(chan error, 1)
	go func() {
		future := rf.Shutdown()
		// What raft is sending would hold it up: a snapshot to a server that hangs takes minutes to fail.
		down <- errors.Join(r.trans.Close(), future.Error())
	}()
	var downErr error
	select {
	case err := <-r.fatal:
		return r.abandon(rf, err)
	case downErr = <-down:
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

// abandon ends what can be ended without waiting for a disk that may be at fault.
func (r *Replica) abandon(rf *raft.Raft, err error) error {
	r.log.Error("server stops at once", "error", err)
	r.endStint(noun.ErrStopping)
	down := rf.Shutdown()
	if cerr := r.trans.Close(); cerr != nil {
		r.log.Warn("cannot close transport", "error", cerr)
	}
	if !errors.Is(err, record.ErrUnknown) && !errors.Is(err, ErrBrokenInvariant) && !errors.Is(err, ErrOtherRefusals) {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- down.Error() }()
	select {
	case <-done: // the error that brought us here matters more
		_ = r.release()
	case <-time.After(shutdownBound):
	}
	return err
}

// handOver gives leadership to another server, so that clients hardly notice.
func (r *Replica) handOver(rf *raft.Raft) {
	if rf.State() != raft.Leader || len(r.voters()) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), transferBound)
	defer cancel()
	if err := r.transfer(ctx, ""); err != nil {
		r.log.Warn("leadership not handed over", "error", err)
	}
}

// Close gives back what Open took when Run is never called.
func (r *Replica) Close() error {
	if r.ran.Swap(true) {
		return nil
	}
	return errors.Join(r.trans.Close(), r.release())
}

// afterEntry looks at each applied entry from raft's goroutine; it must not block.
func (r *Replica) afterEntry(a *applied) {
	r.batch.setNext(a.next)
	if r.machine.logBytes.Load() >= r.cfg.Limits.SnapshotBytes {
		poke(r.snapNow, struct{}{})
	}
	r.audit.lookAtMarks(a)
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
