package core

import "vigil/fsm/noun"

// Then is what follows when a word has ended a task: with Next its speaker takes the next one in the same
// entry. So a life of tasks costs one write a task, and no other life comes between: the answer is kept with
// the session like any other, so a repetition gets the same task and never a second one.
type Then struct {
	Next bool
	// Start has what is taken count as started, for who begins at once: the acknowledgement limit, which
	// finds an answer that nobody got, runs no more.
	Start bool
}

// then adds the next task to the answer to a word that has ended one. A word that was refused takes nothing. One
// that counts does so whatever becomes of the claim: then Why and Detail say why there is no task.
//
// Who asks goes before who waits. That keeps nobody from a task for long: while agents wait no task
// does, but those that other agents are about to claim.
func (s *State) then(sp *Speaker, c Then, out noun.Outcome) noun.Outcome {
	if !c.Next || out.Code != noun.OK {
		return out
	}
	next := s.takeNext(sp, c.Start)
	out.Task, out.Attempt, out.TTL = 0, 0, next.TTL
	if next.Code == noun.OK {
		out.Task, out.Attempt = next.Task, next.Attempt
	} else {
		out.Why, out.Detail = next.Code, next.Detail
	}
	return out
}

// takeNext is Claim, and where nothing is to be had the speaker is WAITING from then on, as after Join. What its role
// has still to offer, since it has opened with this very word, comes before.
func (s *State) takeNext(sp *Speaker, start bool) noun.Outcome {
	if a := s.AgentByName(sp.Agent); a != nil {
		if _, grows := s.growing.Get(a.Role); grows {
			s.workOff()
		}
	}
	out := Claim{Speaker: *sp, Start: start}.Apply(s)
	if out.Code != noun.NoTask {
		return out
	}
	a, no := s.leased(sp)
	if a == nil {
		return no
	}
	if no := s.mayEnter(a); no.Code != noun.OK {
		return no
	}
	if a.Part != noun.PartWaiting {
		s.enter(a)
	}
	out.TTL = s.LeaseTable.Get(a.ID).TTL
	return out
}
