package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	announceBound = 5 * time.Second // for servers that have not said yet what they read
	announceLook  = 20 * time.Millisecond
	levelLook     = 250 * time.Millisecond // of a leader, for a level that can begin
)

// Submit proposes one command and waits for its outcome. It works on the leader
// only. Errors: fsm.ErrNotLeader, fsm.ErrStopping and fsm.ErrOldServers (nothing was proposed),
// fsm.ErrUnknownOutcome (ask again with the same request id), ErrTooLarge,
// fsm.ErrDiverged, or the error of ctx, alone when nothing was proposed. The
// memory that the command refers to must not be changed afterwards, even when ctx
// ends first.
func (r *Replica) Submit(ctx context.Context, req fsm.Request) (noun.Outcome, error) {
	if r.diverged.Load() {
		return noun.Outcome{}, noun.ErrDiverged
	}
	if err := r.legible(ctx, &req); err != nil {
		return noun.Outcome{}, err
	}
	return r.batch.submit(ctx, req)
}

// SubmitAll proposes several commands, in one entry where they fit, and fills in
// their outcomes in order; outs must be as long as reqs. Errors as for Submit;
// with an error the outcomes are not filled in.
func (r *Replica) SubmitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error {
	if r.diverged.Load() {
		return noun.ErrDiverged
	}
	if len(outs) < len(reqs) {
		return fmt.Errorf("submit %d commands: place for %d outcomes only", len(reqs), len(outs))
	}
	if len(reqs) == 0 {
		return nil
	}
	for i := range reqs {
		if err := r.legible(ctx, &reqs[i]); err != nil {
			return err
		}
	}
	return r.batch.submitAll(ctx, reqs, outs)
}

// legible is fsm.ErrOldServers when the command belongs to a feature level that has not begun
// and that a server of the cluster cannot read: it must not get into the log then. Only the
// leader's word about that counts. After an upgrade servers need a moment to say what they
// read, and the leader to begin the level: that is waited for.
func (r *Replica) legible(ctx context.Context, req *fsm.Request) error {
	need := fsm.Level(req.Cmd)
	if need <= fsm.Baseline || r.begun(req.Cmd, need) {
		return nil
	}
	end := time.Now().Add(announceBound)
	look := time.NewTicker(announceLook)
	defer look.Stop()
	for !r.begun(req.Cmd, need) {
		if st, _ := r.stints.current(); st == nil {
			return noun.ErrNotLeader
		}
		silent := slices.ContainsFunc(r.Servers(), func(s Server) bool { return s.Features == 0 })
		if r.Level() < need && !silent || time.Now().After(end) {
			return fmt.Errorf("%w: it needs feature level %d", noun.ErrOldServers, need)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("propose: %w", ctx.Err())
		case <-look.C:
		}
	}
	return nil
}

// begun tells that a command of a level may be written. What has begun never goes back,
// whoever joins the cluster later.
func (r *Replica) begun(c fsm.Command, need uint32) bool {
	if _, raise := c.(fsm.RaiseLevel); raise {
		return r.Level() >= need
	}
	return r.levelBegun() >= need
}

func (r *Replica) levelBegun() (level uint32) {
	r.Read(func(s *fsm.View) { level = s.Level() })
	return level
}

// raiseLevel begins a feature level as soon as every member reads it, as long as this
// server leads.
func (r *Replica) raiseLevel(st *stint) {
	look := time.NewTicker(levelLook)
	defer look.Stop()
	for {
		level := r.levelBegun()
		if level >= r.cfg.Features {
			return
		}
		if all := r.Level(); all > level {
			if out, err := r.batch.submit(st.ctx, fsm.Request{Planned: true,
				Cmd: fsm.RaiseLevel{Level: all}}); err != nil || out.Code != noun.OK {
				r.log.Debug("feature level not begun yet", "level", all, "code", out.Code, "error", err)
			}
		}
		select {
		case <-st.ctx.Done():
			return
		case <-look.C:
		}
	}
}

// Beat renews what one host holds. Beats of several hosts are held back for up to
// Timing.BeatGather and go in as one entry. A failed beat is never repeated here:
// its sender beats again. Errors as for Submit.
func (r *Replica) Beat(ctx context.Context, hb fsm.HostBeats) (noun.BeatAnswer, error) {
	if r.diverged.Load() {
		return noun.BeatAnswer{}, noun.ErrDiverged
	}
	return r.batch.beat(ctx, hb)
}

// Barrier waits until everything that was committed anywhere before the call is
// applied here, so that a Read after it is linearizable. It works on the leader
// only, through the log; calls at the same time share one entry. Errors as for Submit.
func (r *Replica) Barrier(ctx context.Context) error {
	if r.diverged.Load() {
		return noun.ErrDiverged
	}
	r.met.barriers.Inc()
	return r.batch.barrier(ctx)
}

// Read gives a look at the live state under its read lock: entries wait
// meanwhile, so fn must be short. It must not keep what it is given, nor change
// it. Without a Barrier the state may be stale.
func (r *Replica) Read(fn func(*fsm.View)) {
	r.machine.mu.RLock()
	defer r.machine.mu.RUnlock()
	fn(&r.machine.state.View)
}

// Copy gives an immutable view of everything, at the price of a few microseconds
// now and of copying pages that change later. The state may be stale without a Barrier.
func (r *Replica) Copy() *fsm.Image { return r.machine.copy() }

// Subscribe has fn called after each applied entry, on every server, from one
// goroutine and outside the state's lock. It must not block, and the slices in the
// effects are valid only during the call. It is called before Run.
func (r *Replica) Subscribe(fn func(noun.Effects)) { r.machine.subs = append(r.machine.subs, fn) }
