package agentd

import (
	"context"
	"time"
)

// spools is the part that delivers what running agents have left.
type spools struct {
	base
	member *membership
	lives  *lives
	outbox *outbox

	due      time.Duration
	underway bool
	again    bool // once more after the look that is under way, which may have failed
}

// look looks into the spools when that is due, and says when to look again.
func (s *spools) look(now time.Duration) time.Duration {
	if now < s.due || s.underway || !s.member.registered {
		return longestNap
	}
	s.due, s.again = now+lookAtSpools, false
	var all []spool
	for _, l := range s.lives.all {
		if l.phase == running && l.folder != "" {
			all = append(all, spool{l.folder, l.intent()})
		}
	}
	if len(all) == 0 {
		return longestNap
	}
	s.underway = true
	s.spawn(func() {
		for _, one := range all {
			ctx, cancel := context.WithTimeout(s.ctx, attemptLimit)
			err := s.outbox.deliver(ctx, one)
			cancel()
			if err != nil {
				break // nobody answers: the next look goes on
			}
		}
		s.send(func() {
			s.underway = false
			if s.again {
				s.due = 0
			}
		})
	})
	return longestNap
}

// now has the spools looked into at once.
func (s *spools) now() { s.due, s.again = 0, s.underway }
