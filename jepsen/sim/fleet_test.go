package sim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"vigil/cluster"
	"vigil/cluster/duty"
	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// server is one machine of the control plane: its disk and, while it runs, its
// program.
type server struct {
	w    *world
	i    int
	cfg  cluster.Config
	disk *disk

	mu     turn // one change at a time
	now    atomic.Pointer[stay]
	mayEnd atomic.Int32 // faults that may make its program end by itself
}

// stay is one run of a server's program.
type stay struct {
	rep    *cluster.Replica
	port   *port
	cancel context.CancelFunc // of the program
	duties context.CancelFunc // of what surrounds the replica
	board  *switchboard
	reach  *reach
	dead   atomic.Bool // nobody hears from it any more
	done   chan struct{}
}

// turn is a mutex that may be held while simulated time passes: who waits for a
// sync.Mutex keeps the time from passing.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

func newServers(w *world) (list []*server) {
	for i := range w.n {
		s := &server{w: w, i: i, mu: newTurn(), disk: newDisk(w.rng("disk", uint64(i)))}
		s.cfg = cluster.Config{ID: fmt.Sprintf("s%d", i+1), RaftAddr: string(address(i)),
			APIAddr: fmt.Sprintf("10.0.0.%d:7420", i+1),
			Version: "sim", Features: cluster.FeatureLevel, Report: w.reporter(i)}
		s.cfg.Limits.TrailingLogs, s.cfg.Limits.SnapshotEntries = 64, 800
		if !w.cfg.brisk { // an idle hour costs a third
			s.cfg.Timing.Heartbeat, s.cfg.Timing.Commit = time.Second, 300*time.Millisecond
		}
		list = append(list, s)
	}
	var members []cluster.Config
	for _, s := range list {
		cfg, h := s.cfg, s.disk.open()
		cfg.Backend = &cluster.Backend{Log: h, Stable: h, Snapshots: h}
		members = append(members, cfg)
	}
	if err := cluster.Found(members...); err != nil {
		w.ledger.breach("server", "the cluster cannot be founded: %v", err)
	}
	return list
}

// reporter stands for the door that carries a follower's hash to the leader.
func (w *world) reporter(from int) func(context.Context, fsm.ReportHash) error {
	return func(ctx context.Context, h fsm.ReportHash) error {
		st := w.leader(from)
		if st == nil {
			return noun.ErrNotLeader
		}
		_, err := st.rep.Submit(ctx, fsm.Request{Cmd: h})
		return err
	}
}

// start runs a server that does not run, with whatever is on its disk.
func (s *server) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Load() != nil || s.w.ctx.Err() != nil {
		return
	}
	st := &stay{port: s.w.wire.listen(s.i), board: newSwitchboard(),
		reach: &reach{born: time.Now(), reached: map[string]time.Time{}}, done: make(chan struct{})}
	h, cfg := s.disk.open(), s.cfg
	cfg.Backend = &cluster.Backend{Log: h, Stable: h, Snapshots: h, Transport: st.port, Ask: s.w.asker(s.i),
		Question: s.w.questioner(s.i)}
	rep, err := cluster.Open(cfg)
	if s.mayEnd.Load() > 0 && errors.Is(err, logstore.ErrDiskStuck) {
		return // who has stalled the disk starts it again
	}
	if err != nil {
		s.w.ledger.breach("server", "server %d cannot be opened: %v", s.i, err)
		return
	}
	st.rep = rep
	rep.SetReach(st.reach)
	s.surround(st)
	var ctx context.Context
	ctx, st.cancel = context.WithCancel(context.Background())
	s.now.Store(st)
	s.w.tasks.Go(func() { s.run(ctx, st) })
}

// surround wires a server as cmd does: API and duties.
func (s *server) surround(st *stay) {
	st.rep.Subscribe(func(e noun.Effects) {
		if !st.dead.Load() {
			st.board.changed(e)
		}
	})
	d, err := duty.Open(duty.Config{Replica: st.rep, Unheard: func() map[string]bool { return s.w.unheard(s.i) },
		Escalate: s.w.pager.of(s.w, st)})
	if err != nil {
		s.w.ledger.breach("server", "duties of server %d cannot be opened: %v", s.i, err)
		return
	}
	st.rep.Subscribe(d.Wake)
	var ctx context.Context
	ctx, st.duties = context.WithCancel(s.w.ctx)
	s.w.tasks.Go(func() { s.w.hear(ctx, s.i, st) })
	s.w.tasks.Go(func() {
		if err := st.rep.WhileLeader(ctx, d.Run); err != nil && !st.dead.Load() {
			s.w.ledger.breach("duty", "duties of server %d ended: %v", s.i, err)
		}
	})
}

// run is the process. Its end, for whatever reason, takes everything with it.
func (s *server) run(ctx context.Context, st *stay) {
	defer close(st.done)
	err := st.rep.Run(ctx)
	if st.dead.Load() {
		return
	}
	if err != nil {
		s.w.ledger.count("servers that ended by themselves")
		// A server that is frozen while it is told to stop cannot join its goroutines.
		if !errors.Is(err, cluster.ErrNoJoin) && !(s.mayEnd.Load() > 0 && errors.Is(err, logstore.ErrDiskStuck)) {
			s.w.ledger.breach("server", "server %d ended: %v", s.i, err)
		}
	}
	s.over(st)
}

// over takes one run of the program away at once: whatever it still does has no
// effect on anybody.
func (s *server) over(st *stay) {
	if st.dead.Swap(true) {
		return
	}
	_ = st.port.Close()
	s.disk.crash()
	st.duties()
	s.now.CompareAndSwap(st, nil)
}

// kill ends the program as kill -9 and a loss of power do.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.now.Load(); st != nil {
		s.over(st)
		st.cancel()
	}
	s.disk.heal()
}

// stop ends the program in an orderly way and waits for it.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.now.Load(); st != nil {
		st.cancel()
		<-st.done
	}
}

// replica gives the running server i, nil when it is down.
func (w *world) replica(i int) *cluster.Replica {
	if st := w.servers[i].now.Load(); st != nil {
		return st.rep
	}
	return nil
}

// leading gives the number of the server that leads, as it believes itself; -1: none.
func (w *world) leading() int {
	best, term := -1, uint64(0)
	for i := range w.n {
		if rep := w.replica(i); rep != nil && !w.wire.isFrozen(i) {
			if l := rep.Leader(); l.Self && l.Term >= term {
				best, term = i, l.Term
			}
		}
	}
	return best
}

// await looks every 20 ms until cond holds; false: it does not within the bound.
func (w *world) await(bound time.Duration, cond func() bool) bool {
	for end := time.Now().Add(bound); !cond(); {
		if time.Now().After(end) || !nap(w.ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

// ready gives a leader that can commit; nil when there is none within the bound.
func (w *world) ready(bound time.Duration) (found *stay) {
	w.await(bound, func() bool {
		i := w.leading()
		if i < 0 {
			return false
		}
		st := w.servers[i].now.Load()
		if st == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(w.ctx, 500*time.Millisecond)
		defer cancel()
		if st.rep.Barrier(ctx) != nil {
			return false
		}
		found = st
		return true
	})
	return found
}

// agree holds law L12: some time after all faults, all servers run, have applied
// the same entries and hold the same state, in which every law holds.
func (w *world) agree() {
	if w.ready(convergence) == nil {
		w.ledger.breach("recovery", "no leader for %v although nothing is broken", convergence)
		return
	}
	var images []*fsm.Image
	same := w.await(convergence, func() bool {
		images = images[:0]
		for i := range w.n {
			rep := w.replica(i)
			if rep == nil {
				return false
			}
			images = append(images, rep.Copy())
		}
		for _, img := range images {
			if img.Index() != images[0].Index() {
				return false
			}
		}
		return true
	})
	if !same {
		w.ledger.breach("recovery", "the servers have not caught up with each other within %v: %s", convergence,
			w.indexes())
		return
	}
	for i, img := range images {
		if img.Hash() != images[0].Hash() {
			w.ledger.breach("L12", "at entry %d server %d holds another state than server 0", img.Index(), i)
		}
	}
	w.replica(0).Read(func(st *fsm.View) {
		if err := st.Check(); err != nil {
			w.ledger.breach("Check", "%v", err)
		}
		w.pager.judge(w, st)
	})
}

func (w *world) indexes() (text string) {
	for i := range w.n {
		rep := w.replica(i)
		if rep == nil {
			text += fmt.Sprintf("server %d is down; ", i)
			continue
		}
		s := rep.Stats()
		text += fmt.Sprintf("server %d is a %s at %d of %d; ", i, s.State, s.AppliedIndex, s.LastIndex)
	}
	return text
}
