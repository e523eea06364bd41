package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// followLeadership drains raft's signals until ctx ends. It never blocks for
// long: raft waits for it.
func (r *Replica) followLeadership(ctx context.Context, notify <-chan bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case gained := <-notify:
			r.endStint(noun.ErrNotLeader)
			if gained {
				r.beginStint(ctx)
			}
		case <-r.again: // a backup was installed
			if r.raft.Load().State() == raft.Leader {
				r.endStint(noun.ErrNotLeader)
				r.beginStint(ctx)
			}
		}
	}
}

// beginStint opens a stint in the background. No client's write, no plan and no
// beat goes in before its LeaderEstablished.
func (r *Replica) beginStint(ctx context.Context) {
	s := &r.stints
	ctx, end := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		end(errStintOver)
		return
	}
	s.end = end
	s.wg.Go(func() {
		if err := r.openStint(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("cannot open stint", "error", err)
		}
	})
}

func (r *Replica) openStint(ctx context.Context) error {
	term, out, err := r.establish(ctx)
	if err != nil {
		return err
	}
	if r.diverged.Load() {
		r.audit.stepAside(ctx)
		return noun.ErrDiverged
	}
	if err := r.agreement.tell(term, out.Index); err != nil {
		return err
	}
	// 0 says of most times that something has not happened: no life may start then.
	st := &stint{ctx: ctx, term: term, clock: newClock(max(out.Clock, 1))}
	s := &r.stints
	s.mu.Lock()
	if ctx.Err() != nil {
		s.mu.Unlock()
		return errStintOver
	}
	// Under the lock, so that endStint cannot close the batcher before it is opened.
	r.batch.open(st)
	s.open = st
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	r.met.stints.Inc()
	r.log.Info("stint open", "term", term, "clock", time.Duration(out.Clock))
	r.introduce(ctx)
	s.wg.Go(func() { r.watchReach(st) })
	s.wg.Go(func() { r.levels.raiseLevel(st) })
	s.wg.Go(func() { r.seedLate(ctx) })
	s.wg.Go(func() { r.dropOrphans(st) })
	s.wg.Go(func() { r.keepSeats(st) })
	tick := time.NewTicker(clockReading)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			st.clock.now()
		}
	}
}

// establish proposes LeaderEstablished until it is applied in its own term or the
// stint is over. Its entry carries no stamp; the answer has the clock to start from.
func (r *Replica) establish(ctx context.Context) (uint64, noun.Outcome, error) {
	r.machine.answering.Add(1)
	defer r.machine.answering.Add(-1)
	refused := refusals{fail: r.fail}
	for {
		term := r.raft.Load().CurrentTerm()
		data, err := record.Encode(&fsm.Entry{
			Stint: term, Wall: noun.Wall(time.Now().UnixNano()),
			Requests: []fsm.Request{{Cmd: fsm.LeaderEstablished{Server: r.cfg.ID, APIAddr: r.cfg.APIAddr}}},
		})
		if err != nil {
			return 0, noun.Outcome{}, err
		}
		fut := r.batch.propose(data)
		err = fut.Error()
		if err == nil {
			ans, _ := fut.Response().(*answer)
			if ans == nil {
				return 0, noun.Outcome{}, fmt.Errorf("establish leader: %w", record.ErrUnknown)
			}
			if out := ans.outcomes[0]; out.Code == noun.OK {
				return ans.term, out, nil
			}
			refused.since = time.Time{}
		} else if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			return 0, noun.Outcome{}, fmt.Errorf("establish leader: %w", err)
		}
		if err := refused.again(ctx, 10*time.Millisecond); err != nil {
			return 0, noun.Outcome{}, err
		}
	}
}

// introduce lets the state know this server and, in a new cluster, the seeds of
// the settings.
func (r *Replica) introduce(ctx context.Context) {
	self := r.self()
	var known, seed bool
	r.Read(func(s *fsm.View) {
		for _, srv := range s.Servers() {
			if srv.ID == self.ID {
				self.GossipAddr, self.Zone = srv.GossipAddr, srv.Zone // it says so itself, through its API
			}
			known = known || srv == self
		}
		seed = s.SettingsRev() == 0 && len(r.cfg.Seed) > 0 && fsm.Level(r.seeds()) <= s.Level()
	})
	var reqs []fsm.Request
	if !known {
		reqs = append(reqs, fsm.Request{Planned: true, Cmd: fsm.PutServer(self)})
	}
	if seed {
		reqs = append(reqs, fsm.Request{Planned: true, Cmd: r.seeds()})
	}
	if len(reqs) == 0 {
		return
	}
	outs := make([]noun.Outcome, len(reqs))
	if err := r.batch.submitAll(ctx, reqs, outs); err != nil {
		return // the next stint does it
	}
	for _, out := range outs {
		if out.Code != noun.OK {
			r.log.Warn("introduction refused", "code", out.Code, "detail", out.Detail)
		}
	}
}

// seeds are the settings with which a new cluster begins.
func (r *Replica) seeds() fsm.PutSettings {
	return fsm.PutSettings{Values: r.cfg.Seed, By: "bootstrap"}
}

// seedLate puts the seeds of the settings when some of them came with a feature level, which a new cluster begins
// once its servers are known.
func (r *Replica) seedLate(ctx context.Context) {
	missing := func() (is bool) {
		r.Read(func(s *fsm.View) { is = s.SettingsRev() == 0 && len(r.cfg.Seed) > 0 })
		return is
	}
	if !missing() {
		return
	}
	look := time.NewTicker(levelLook)
	defer look.Stop()
	for need := fsm.Level(r.seeds()); r.levelBegun() < need; {
		select {
		case <-ctx.Done():
			return // the next stint does it
		case <-look.C:
		}
	}
	if !missing() { // somebody has put others meanwhile
		return
	}
	out, err := r.batch.submit(ctx, fsm.Request{Planned: true, Cmd: r.seeds()})
	if err == nil && out.Code != noun.OK {
		r.log.Warn("settings of the configuration are refused", "code", out.Code, "detail", out.Detail)
	}
}

// WhileLeader runs fn for each stint of this server. The context of fn ends with
// the stint, and the next call begins only after fn has returned. When fn returns
// before its stint ends it is not called again until the next one, unless it
// returned an error: that ends WhileLeader. It returns nil when ctx ends.
func (r *Replica) WhileLeader(ctx context.Context, fn func(ctx context.Context) error) error {
	var last *stint
	for {
		st, changed := r.stints.current()
		if st != nil && st != last {
			last = st
			inner, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(st.ctx, func() { cancel(errStintOver) })
			err := fn(inner)
			over := inner.Err() != nil
			stop()
			cancel(nil)
			if err != nil && !over {
				return fmt.Errorf("while leader: %w", err)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
