package agentd

import (
	"slices"
	"time"
)

// troubles is the part that has the cluster told what else of this program does not work.
type troubles struct {
	base
	member *membership
	lives  *lives
	enroll func()

	known  []string
	untold bool // it has changed since the last registration that was asked for here
}

// look has the cluster told when something has begun to fail, or to work: gossip that works has an address too.
func (t *troubles) look(time.Duration) time.Duration {
	if now := t.config.Troubles(); !slices.Equal(now, t.known) {
		for _, w := range t.known {
			delete(t.lives.warned, w)
		}
		for _, w := range now {
			t.lives.warned[w] = true
		}
		t.known, t.untold = slices.Clone(now), true
	}
	// A registration that is under way may have been made before.
	if t.untold && t.member.registered && !t.member.wanted {
		t.untold = false
		t.enroll()
	}
	return longestNap
}
