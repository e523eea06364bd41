package agentd

import "time"

// gate bounds the starts of this host by its own means, whatever is ordered.
type gate struct {
	held bool          // an open order waits for the gate
	next time.Duration // when the next start would be if all kept their distance
}

// ahead is how far starts may run ahead of their distance: a few agents that die
// together must not wait for each other.
func (s *orders) ahead() time.Duration {
	return time.Duration(s.config.MaxStarting-1) * s.config.StartEvery
}

// pass notes that a start begins.
func (s *orders) pass(now time.Duration) {
	s.gate.next = max(s.gate.next, now) + s.config.StartEvery
}

// open tells whether another start may begin.
func (s *orders) open(now time.Duration) bool {
	if s.pressure.reason != "" || now < s.gate.next-s.ahead() {
		return false
	}
	under := 0
	for _, l := range s.lives.all {
		if l.phase != running && !l.hung {
			under++
		}
	}
	return under < s.config.MaxStarting
}

// look takes the orders that had to wait, and says when to look again. They are
// taken from the newest list: what is no longer in it is no longer open.
func (s *orders) look(now time.Duration) time.Duration {
	if !s.gate.held {
		return longestNap
	}
	if s.open(now) {
		s.gate.held = false
		s.take(s.newest)
	}
	if wait := s.gate.next - s.ahead() - now; s.gate.held && wait > 0 {
		return wait
	}
	return longestNap // the end of a start or of a look at the memory wakes the keeper
}
