package cluster

import (
	"context"
	"fmt"

	"vigil/fsm"
	"vigil/fsm/noun"
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
	if err := r.levels.legible(ctx, &req); err != nil {
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
		if err := r.levels.legible(ctx, &reqs[i]); err != nil {
			return err
		}
	}
	return r.batch.submitAll(ctx, reqs, outs)
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

// Subscribe has fn called after each applied entry, on every server, from one
// goroutine and outside the state's lock. It must not block, and the slices in the
// effects are valid only during the call. It is called before Run.
func (r *Replica) Subscribe(fn func(noun.Effects)) { r.machine.subs = append(r.machine.subs, fn) }
