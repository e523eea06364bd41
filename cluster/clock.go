package cluster

import (
	"sync"
	"time"

	"vigil/fsm"
)

const (
	clockReading = 100 * time.Millisecond // how often a leader reads its clock at least
	clockGap     = 2 * time.Second        // what one gap between readings counts at most
)

// clock is the cluster time of one stint: the replicated clock that the stint
// found when it opened plus this machine's monotonic time since then. It never
// runs faster than real time. A gap between two readings counts for at most 2 s:
// a leader that was paused or starved does not charge the lost time to agents
// that could not reach it.
type clock struct {
	mu   sync.Mutex
	at   fsm.Time
	last time.Time
}

func newClock(start fsm.Time) *clock { return &clock{at: start, last: time.Now()} }

// now reads the clock. Stamps taken one after the other never decrease.
func (c *clock) now() fsm.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now()
	gap := t.Sub(c.last)
	c.last = t
	c.at = c.at.Add(min(max(gap, 0), clockGap))
	return c.at
}
