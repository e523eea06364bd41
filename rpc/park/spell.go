package park

import (
	"context"
	"time"
)

// Looks at the state of a call that waits: one soon, since a replica that was behind
// may not have known that the agent already held a task; then seldom, to let go of
// waiters that were superseded.
const (
	firstLook = time.Second
	nextLook  = 30 * time.Second
)

// Spell is the time of one call that waits. It belongs to the goroutine of the call.
type Spell struct {
	end   time.Time
	timer *time.Timer
	stop  <-chan struct{}
}

// Begin begins the time of a call that waits for at most limit. End must follow.
func (e *Engine) Begin(limit time.Duration) *Spell {
	return &Spell{time.Now().Add(limit), time.NewTimer(min(firstLook, limit)), e.stop}
}

// End gives back what the spell holds.
func (s *Spell) End() { s.timer.Stop() }

// Over tells whether the time is over.
func (s *Spell) Over() bool { return time.Until(s.end) <= 0 }

// Rest waits until woken gets something (true), or it is time to look at the state,
// at the latest when the time is over (false). The error is that of ctx, or says that
// the server is stopping.
func (s *Spell) Rest(ctx context.Context, woken <-chan struct{}) (bool, error) {
	select {
	case <-woken:
		return true, nil
	case <-s.timer.C:
		s.timer.Reset(max(0, min(nextLook, time.Until(s.end))))
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-s.stop:
		return false, stopping()
	}
}
