package core

import "vigil/fsm/noun"

// A life that is given up for the silence of its host goes on when the host is heard again: a laptop has slept, a
// network was away. One whose supervisor vouches for it (role setting proof: process) may run a program in its place,
// which says no word before its work is done: it would be ended for not joining its room, in the middle of that. So it
// is given its task back, as the attempt that it was, as long as nobody has taken that up.

// noteLeft remembers the task of a life that is given up for the silence of its host, before the task is taken from it.
func (s *State) noteLeft(a *noun.Agent) {
	if a.Task != 0 && s.retries() && s.LeaseTable.Get(a.ID).Vouch && !told(a) {
		a.Note(func(n *noun.Notes) { n.Left = a.Task })
	}
}

// retake gives an adopted life its task back, and tells whether it has. A completion of the attempt would be accepted
// in the same cases: see finishing. Else the life works on at what is not its own, and nobody there hears of it.
func (s *State) retake(a *noun.Agent) bool {
	left := a.Notes().Left
	if left == 0 {
		return false
	}
	t := s.TaskTable.Mut(left)
	if t == nil || t.Holder != a.ID || t.HolderInc != a.Inc || t.State != noun.TaskPending && t.State != noun.TaskQueued {
		a.Note(func(n *noun.Notes) { n.Left, n.Taken = 0, true })
		return false
	}
	a.TaskKnown()
	if t.Retried().Lost > 0 { // by this silence; see noteLost
		t.ChangeRetry(func(r *noun.Retry) { r.Lost-- })
	}
	s.Move(t, noun.TaskAcknowledged)
	a.Task, a.Part, a.Since, a.TaskSince = t.ID, noun.PartActive, s.Meta.Clock, s.Meta.Clock
	a.Note(func(n *noun.Notes) { n.Adopted = false })
	s.grantLease(a).Vouch = s.Vouched(a)
	s.start(a, t)
	s.Promote(t.Role)
	return true
}
