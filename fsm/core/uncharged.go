package core

import "vigil/fsm/noun"

// Ends of lives that cost a task nothing, since they are nobody's fault, are counted all the same: one task may be the
// cause of all of them, and whatever is tried for ever must end (law L11).

// lostPerKill is how many lives that are lost with their host, or leave, weigh as much as one that died by
// itself: hosts are lost, and agents leave, for reasons of their own.
const lostPerKill = 2

// noteLost counts a life that is lost with its host or its daemon, or that leaves, against the task that it holds,
// unless it has got on with it. A task that uses up the memory of its host ends everything there, again and again,
// and nobody's exit code says so.
func (s *State) noteLost(a *noun.Agent) {
	t := s.TaskTable.Mut(a.Task)
	if t == nil || !s.retries() {
		return
	}
	shielded := s.Shielded(t)
	t.ChangeRetry(func(r *noun.Retry) {
		if shielded { // that ends with so many failures, and these are some
			r.Row++
			return
		}
		r.Lost++
		if t.Progress > t.ChangedAt { // the start of a task is no progress
			r.Lost = 0
		}
	})
}

// noteTrial counts the trial of a parked agent that died against the task that it holds. While its role is half-open
// its failure counts as any other.
func (s *State) noteTrial(a *noun.Agent) {
	if t := s.TaskTable.Get(a.Task); t != nil && !s.Shielded(t) {
		s.noteLost(a)
	}
}

// limitsPerAttempt is how many lives that used tokens and ended at a limit of their tool weigh as much as an attempt
// that failed. A task may need several windows of a quota. But what a tool takes for a limit or an outage may come from
// the task itself, as an error of the model at too long a request does, and that must end (law L11). In an outage no
// life uses any.
const limitsPerAttempt = 12

// noteLimit counts a life that used tokens and ends at a limit of its tool against the task that it holds, unless it
// has got on with it, and tells whether these are so many that they count as an attempt.
func (s *State) noteLimit(a *noun.Agent) (counts bool) {
	t := s.TaskTable.Mut(a.Task)
	if t == nil || !s.retries() || !a.UsedTokens() || t.Progress > t.ChangedAt {
		return false
	}
	shielded := s.Shielded(t)
	t.ChangeRetry(func(r *noun.Retry) {
		if shielded {
			r.Row++
			return
		}
		r.Limits++
		if counts = r.Limits >= limitsPerAttempt; counts {
			r.Limits = 0
		}
	})
	return counts
}
