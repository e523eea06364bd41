package shim

import (
	"math"
	"time"
)

// deadman is the switch of one life (law L7). It listens to acknowledged fence
// beats only and says what must happen to the process tree. It holds no clock and
// no process.
type deadman struct {
	ttl    time.Duration
	sent   time.Duration // when the last acknowledged beat was sent
	frozen bool
	since  time.Duration // when it froze
}

// command is what the switch asks for.
type command uint8

const (
	goOn command = iota
	freeze
	thaw
)

// patience is F: the age of the last acknowledged beat at which the tree freezes.
func (d *deadman) patience() time.Duration { return d.ttl * 3 / 4 }

// acknowledge notes that a beat sent at that time found the incarnation current.
func (d *deadman) acknowledge(sent time.Duration) { d.sent = max(d.sent, sent) }

// silent tells whether F has passed.
func (d *deadman) silent(now time.Duration) bool { return now-d.sent >= d.patience() }

// judge says what to do at that time: freeze and thaw, once each. Time alone ends nothing: an
// outage of all servers, for days too, pauses the fleet and does not kill it (law L10).
func (d *deadman) judge(now time.Duration) command {
	silent := d.silent(now)
	switch {
	case silent && !d.frozen:
		d.frozen, d.since = true, now
		return freeze
	case !silent && d.frozen:
		d.frozen = false
		return thaw
	}
	return goOn
}

// next says how long nothing changes if no beat is acknowledged.
func (d *deadman) next(now time.Duration) time.Duration {
	if d.frozen {
		return math.MaxInt64
	}
	return d.sent + d.patience() - now
}
