package agentd

import (
	"errors"
	"time"
)

const (
	// turnSpan is how long a turn at a terminal lasts after its last key. The cluster ends it too, but this
	// host may be connected to a server that does not hear of it.
	turnSpan = time.Minute
	// keyCalls is how many calls with keys a terminal takes in a second, and at once: more than anybody types,
	// and less than what a host has to do.
	keyCalls = 50
)

// turn is that of one human at the terminal of a life, as far as keys of it have come. The cluster gives turns
// and numbers them; the host refuses what is said late. The zero value is ready. It belongs to the keeper's
// goroutine.
type turn struct {
	grant uint64
	seq   uint64        // of the last call
	last  time.Duration // when that came
	calls float64       // that it may still make now
	over  bool          // it was given back
}

var (
	errTyped    = errors.New("typed before")
	errTurnOver = errors.New("somebody else has taken the terminal since")
	errTurnIdle = errors.New("no key came for a minute, so the terminal was given back; take it again")
	errTooFast  = errors.New("keys come faster than anybody types; they were not typed")
)

// hear takes the number of a call with keys. The error says why they are not typed; errTyped: they were.
func (t *turn) hear(now time.Duration, grant, seq uint64) error {
	switch {
	case grant < t.grant || grant == t.grant && t.over:
		return errTurnOver
	case grant > t.grant:
		*t = turn{grant: grant, last: now, calls: keyCalls}
	case seq <= t.seq:
		return errTyped
	case now-t.last > turnSpan:
		return errTurnIdle
	}
	t.calls = min(keyCalls, t.calls+keyCalls*(now-t.last).Seconds())
	t.last = now
	if t.calls < 1 {
		return errTooFast
	}
	t.calls--
	t.seq = seq
	return nil
}

// lasts tells whether somebody types, or did a moment ago.
func (t *turn) lasts(now time.Duration) bool {
	return t.grant != 0 && !t.over && now-t.last <= turnSpan
}

// end notes that a turn was given back.
func (t *turn) end(grant uint64) {
	if grant >= t.grant {
		*t = turn{grant: grant, over: true}
	}
}
