package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// L10: a leader that was paused charges at most 2 s to the agents that could not
// reach it.
func TestL10PausedLeaderChargesAtMostTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(100)
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
		begun := time.Now()
		c := newClock(0)
		for i := range 1000 {
			time.Sleep(time.Duration(i%13) * 10 * time.Millisecond)
			if now := time.Duration(c.now()); now != time.Since(begun) {
				t.Fatalf("read often, the clock says %v after %v", now, time.Since(begun))
			}
		}
	})
}
