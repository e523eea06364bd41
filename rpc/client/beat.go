package client

import (
	"context"
	"errors"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// beatAgain is how long after one that failed the next beat is sent, at the latest; a tenth of the TTL when
// that is less, and at once when there was no answer for as long: a failure or two must not end a short lease.
const beatAgain = time.Second

// beatLoop renews the lease every quarter of its length, until the worker ends.
func (w *Worker) beatLoop(ctx context.Context) {
	timer := time.NewTimer(w.TTL() / 4)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.unsure:
		}
		began, next := time.Now(), w.TTL()/4
		if err := w.Beat(ctx); err != nil {
			if final(err) {
				w.end(err)
				return
			}
			next = max(0, min(beatAgain, w.TTL()/10)-time.Since(began))
		}
		timer.Reset(next)
	}
}

// Beat proves once that this life goes on; Join starts a loop that does it in time.
// ErrSuperseded, ErrStopped and ErrNotFound say that it is over, ErrDenied that the
// token is not that of this life (nothing was renewed: it is somebody else's). A lease that has
// ended is taken up again by joining, which loses the task that was held.
func (w *Worker) Beat(ctx context.Context) error {
	sent := time.Now()
	// One without an answer must not hold up the next for long.
	short, cancel := context.WithTimeout(ctx, w.TTL()/4)
	defer cancel()
	answer, err := w.work.Beat(short, &vigilv1.BeatRequest{
		Agents: []uint32{w.id}, Incarnations: []uint64{w.Incarnation()}, Kinds: []uint32{BeatLease},
		Tokens: []string{w.speaker.GetToken()}})
	if err != nil {
		return err
	}
	for _, x := range answer.GetExceptions() {
		switch x.GetVerdict() {
		case "rejoin":
			w.outside()
			err := w.enter(ctx)
			if err != nil && !errors.Is(err, ErrRejoin) {
				return err
			}
		case "superseded":
			return ErrSuperseded
		case "unknown":
			return ErrNotFound
		case "denied":
			return ErrDenied
		}
	}
	if len(answer.GetExceptions()) == 0 {
		w.mu.Lock()
		w.proven = sent
		w.mu.Unlock()
	}
	return nil
}

// askBeat makes the loop beat now.
func (w *Worker) askBeat() {
	select {
	case w.unsure <- struct{}{}:
	default:
	}
}
