package cluster

import (
	"sync"
	"time"

	"vigil/fsm/noun"
)

const (
	clockReading = 100 * time.Millisecond // how often a leader reads its clock at least
	clockGap     = 2 * time.Second        // what one gap between readings counts at most
	clockWait    = time.Second            // what the wait for one commit counts at most
	clockRest    = 2 * time.Second        // what does not count behind a longer wait
)

// clock is the cluster time of one stint: the replicated clock that the stint
// found when it opened plus this machine's monotonic time since then. It never
// runs faster than real time, and slower where agents could not be heard:
//
//   - A gap between two readings counts for at most 2 s: a leader that was paused or
//     starved does not charge the lost time to agents that could not reach it.
//   - The wait for a commit counts for at most 1 s: renewals that came meanwhile
//     stand behind it. After one of 1 s or more nothing counts for 2 s, so that renewals
//     that were given up are sent again before a lease ends. The same holds at the begin
//     of a stint: an election held them up. Between two such rests the clock counts 1 s
//     at least, but for the first wait of a stint, which may lie within that at its begin.
//   - Nothing counts while the clock is held: nobody reaches the leader; see reach.go.
//
// So a disk that is slow for ever slows the clock down, and never stops it.
type clock struct {
	mu   sync.Mutex
	at   noun.Time
	last time.Time // of the last reading
	rest time.Time // nothing counts before
	held bool

	open   int           // entries that are sealed and not yet applied
	waited time.Time     // when the wait for the oldest of them began
	spent  time.Duration // what that has counted so far
	earned time.Duration // what the clock has counted since the last rest
}

func newClock(start noun.Time) *clock {
	t := time.Now()
	return &clock{at: start, last: t, rest: t.Add(clockRest), earned: clockWait}
}

// now reads the clock. Stamps taken one after the other never decrease.
func (c *clock) now() noun.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.at
}

// read charges what has gone by since the last reading; the caller holds mu.
func (c *clock) read() time.Time {
	t := time.Now()
	from := c.last
	if from.Before(c.rest) {
		from = c.rest
	}
	gap := min(max(t.Sub(from), 0), clockGap)
	c.last = t
	if c.held {
		return t
	}
	if c.open > 0 {
		gap = min(gap, clockWait-c.spent)
		c.spent += gap
	}
	c.earned += gap
	c.at = c.at.Add(gap)
	return t
}

// seal gives the stamp of an entry that is proposed now; settled follows.
func (c *clock) seal() noun.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.read()
	if c.open == 0 {
		c.waited = t
	}
	c.open++
	return c.at
}

// settled says that the oldest of the sealed entries is applied or lost.
func (c *clock) settled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.read()
	if t.Sub(c.waited) >= clockWait && c.earned >= clockWait { // or the clock could stand still for ever
		c.rest, c.earned = t.Add(clockRest), 0
	}
	c.open--
	c.waited, c.spent = t, 0
}

// hold stops the clock, or lets it go on.
func (c *clock) hold(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == held {
		return
	}
	t := c.read()
	if c.held = held; !held && t.After(c.rest) {
		c.rest = t.Add(clockRest)
	}
}

// until tells how long it takes at least until the clock reads at. Whoever waits for
// it looks again after each commit.
func (c *clock) until(at noun.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.read()
	left := at.Sub(c.at)
	switch {
	case left <= 0:
		return 0
	case c.held:
		return clockReading
	case c.open > 0 && c.spent >= clockWait:
		return time.Hour
	}
	return left + max(c.rest.Sub(t), 0)
}
