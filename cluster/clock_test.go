package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm/noun"
)

// rested is the clock of a stint that has begun some time ago.
func rested(start noun.Time) *clock {
	c := newClock(start)
	time.Sleep(clockRest)
	c.now()
	return c
}

// L10: a leader that was paused charges at most 2 s to the agents that could not
// reach it.
func TestL10PausedLeaderChargesAtMostTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := rested(100)
		time.Sleep(time.Hour) // nobody read the clock: the process did not run
		if got := c.now().Sub(100); got != 2*time.Second {
			t.Errorf("an hour's pause counts %v", got)
		}
		time.Sleep(1500 * time.Millisecond)
		if got := c.now().Sub(100); got != 3500*time.Millisecond {
			t.Errorf("a short gap counts in full: %v", got)
		}
	})
}

func TestClockIsNeverFasterThanRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := rested(0)
		begun := time.Now()
		for i := range 1000 {
			time.Sleep(time.Duration(i%13) * 10 * time.Millisecond)
			if now := time.Duration(c.now()); now != time.Since(begun) {
				t.Fatalf("read often, the clock says %v after %v", now, time.Since(begun))
			}
		}
	})
}

// The wait for a commit counts for a second at most, and a while behind a long one
// does not count; so does the begin of a stint.
func TestL10ClockLeavesOutSlowCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(0)
		at := func(want time.Duration) {
			t.Helper()
			if got := time.Duration(c.now()); got != want {
				t.Fatalf("the clock says %v, want %v", got, want)
			}
		}
		pass := func(d time.Duration) {
			for range d / clockReading {
				time.Sleep(clockReading)
				c.now()
			}
		}
		pass(3 * time.Second)
		at(time.Second) // the begin of a stint
		c.seal()
		pass(900 * time.Millisecond)
		c.seal() // the second entry waits for the first
		c.settled()
		at(1900 * time.Millisecond)
		pass(time.Minute)
		at(2900 * time.Millisecond)
		if d := c.until(c.now() + 1); d < time.Minute {
			t.Errorf("the clock stands until the commit, not for %v", d)
		}
		c.settled()
		pass(2 * time.Second)
		at(2900 * time.Millisecond)
		if d := c.until(c.now().Add(time.Second)); d != time.Second {
			t.Errorf("after the rest it takes %v", d)
		}
		pass(time.Second)
		at(3900 * time.Millisecond)
		c.hold(true)
		pass(time.Hour)
		at(3900 * time.Millisecond)
		c.hold(false)
		pass(3 * time.Second)
		at(4900 * time.Millisecond)
	})
}

// A wait that begins in the rest at the begin of a stint has counted little, and has held up renewals all the same.
func TestL10FirstSlowCommitOfAStintIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(0)
		time.Sleep(100 * time.Millisecond)
		c.seal()
		time.Sleep(2700 * time.Millisecond)
		c.settled()
		counted := c.now()
		time.Sleep(clockRest)
		if late := c.now().Sub(counted); counted == 0 || counted >= noun.Time(clockWait) || late != 0 {
			t.Errorf("the wait has counted %v, the rest behind it %v", time.Duration(counted), late)
		}
	})
}

// A disk that is slow for ever slows the clock down, and never stops it.
func TestClockGoesOnBehindASlowDisk(t *testing.T) {
	for _, slow := range []time.Duration{500 * time.Millisecond, 999 * time.Millisecond, time.Second,
		1500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newClock(0)
			c.seal()
			for begun := time.Now(); time.Since(begun) < time.Hour; {
				c.seal()
				time.Sleep(slow)
				c.settled()
			}
			if got := time.Duration(c.now()); got < time.Hour/10 {
				t.Errorf("with commits of %v the clock counts %v in an hour", slow, got)
			}
		})
	}
}
