package shim

import (
	"testing"
	"time"
)

// L7: whatever beats come and go, the tree is frozen from 0.75 TTL after the last
// acknowledged beat was sent, and never before.
func TestL7Deadman(t *testing.T) {
	const s = time.Second
	d := deadman{ttl: 60 * s, sent: 10 * s}
	for _, step := range []struct {
		at    time.Duration
		acked time.Duration // a beat sent then is acknowledged now; 0: none
		want  command
	}{
		{20 * s, 0, goOn},
		{55*s - 1, 0, goOn},
		{55 * s, 0, freeze},
		{56 * s, 0, goOn},      // once
		{90 * s, 12 * s, goOn}, // an old answer: 78 s are too many
		{91 * s, 50 * s, thaw},
		{92 * s, 20 * s, goOn}, // answers overtake each other
		{95*s - 1, 0, goOn},
		{95 * s, 0, freeze},
		{400 * 24 * 3600 * s, 0, goOn}, // time alone ends nothing
		{400*24*3600*s + 1, 400 * 24 * 3600 * s, thaw},
	} {
		if step.acked != 0 {
			d.acknowledge(step.acked)
		}
		if got := d.judge(step.at); got != step.want {
			t.Errorf("at %s: %d, want %d", step.at, got, step.want)
		}
	}
}

// Whoever naps for as long as next says judges in time.
func TestL7NextIsNeverLate(t *testing.T) {
	d := deadman{ttl: 4 * time.Second, sent: time.Second}
	now := time.Second
	for _, want := range []struct {
		at time.Duration
		do command
	}{{4 * time.Second, freeze}} {
		now += d.next(now)
		if got := d.judge(now); now != want.at || got != want.do {
			t.Errorf("at %s: %d, want %d at %s", now, got, want.do, want.at)
		}
	}
}
