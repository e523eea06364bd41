package cluster

import (
	"context"
	"fmt"

	"vigil/fsm"
)

// Submit proposes one command and waits for its outcome. It works on the leader
// only. Errors: fsm.ErrNotLeader and fsm.ErrStopping (nothing was proposed),
// fsm.ErrUnknownOutcome (ask again with the same request id), ErrTooLarge,
// fsm.ErrDiverged, or the error of ctx, alone when nothing was proposed. The
// memory that the command refers to must not be changed afterwards, even when ctx
// ends first.
func (r *Replica) Submit(ctx context.Context, req fsm.Request) (fsm.Outcome, error) {
	if r.diverged.Load() {
		return fsm.Outcome{}, fsm.ErrDiverged
	}
	return r.batch.submit(ctx, req)
}

// SubmitAll proposes several commands, in one entry where they fit, and fills in
// their outcomes in order; outs must be as long as reqs. Errors as for Submit;
// with an error the outcomes are not filled in.
func (r *Replica) SubmitAll(ctx context.Context, reqs []fsm.Request, outs []fsm.Outcome) error {
	if r.diverged.Load() {
		return fsm.ErrDiverged
	}
	if len(outs) < len(reqs) {
		return fmt.Errorf("submit %d commands: place for %d outcomes only", len(reqs), len(outs))
	}
	if len(reqs) == 0 {
		return nil
	}
	return r.batch.submitAll(ctx, reqs, outs)
}

// Beat renews what one host holds. Beats of several hosts are held back for up to
// Timing.BeatGather and go in as one entry. A failed beat is never repeated here:
// its sender beats again. Errors as for Submit.
func (r *Replica) Beat(ctx context.Context, hb fsm.HostBeats) (fsm.BeatAnswer, error) {
	if r.diverged.Load() {
		return fsm.BeatAnswer{}, fsm.ErrDiverged
	}
	return r.batch.beat(ctx, hb)
}

// Barrier waits until everything that was committed anywhere before the call is
// applied here, so that a Read after it is linearizable. It works on the leader
// only, through the log; calls at the same time share one entry. Errors as for Submit.
func (r *Replica) Barrier(ctx context.Context) error {
	if r.diverged.Load() {
		return fsm.ErrDiverged
	}
	r.met.barriers.Inc()
	return r.batch.barrier(ctx)
}

// Read gives a look at the live state under its read lock: entries wait
// meanwhile, so fn must be short. It must not keep what it is given, nor change
// it. Without a Barrier the state may be stale.
func (r *Replica) Read(fn func(*fsm.State)) {
	r.machine.mu.RLock()
	defer r.machine.mu.RUnlock()
	fn(r.machine.state)
}

// Copy gives an immutable view of everything, at the price of a few microseconds
// now and of copying pages that change later. The state may be stale without a Barrier.
func (r *Replica) Copy() *fsm.Image { return r.machine.copy() }

// Subscribe has fn called after each applied entry, on every server, from one
// goroutine and outside the state's lock. It must not block, and the slices in the
// effects are valid only during the call. It is called before Run.
func (r *Replica) Subscribe(fn func(fsm.Effects)) { r.machine.subs = append(r.machine.subs, fn) }
