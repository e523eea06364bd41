package core

import (
	"time"

	"vigil/fsm/noun"
)

// SetAgent is a durable stop or start of one agent. Fresh forgets its resume value. A stop ends by
// itself after For, 1 s to 365 days; 0: never.
type SetAgent struct {
	Agent string
	Stop  bool
	By    string
	IfRev uint64
	Fresh bool
	// Reason is why, for people: it becomes the agent's IntentWhy.
	Reason string
	For    time.Duration
}

func (c SetAgent) Apply(s *State) noun.Outcome {
	if no := checkFor(c.For, c.Stop); no.Code != noun.OK {
		return no
	}
	a, no := s.ChangeableAgent(c.Agent, c.IfRev)
	if a == nil {
		return no
	}
	s.Touch(a.Room)
	was := ShadowOf(a)
	reason := noun.Clip(c.Reason, noun.MaxReason)
	if c.Fresh {
		a.ForgetResume()
	}
	if c.Stop {
		end := noun.EndIn(s.Meta.Clock, c.For)
		// who stops it again, without a reason or another end, does not erase the first one's word
		if !a.Stopped || reason != "" || end != a.Ends().Stop {
			a.IntentBy, a.IntentAt = c.By, s.Entry.Wall
			a.Note(func(n *noun.Notes) { n.IntentWhy = reason })
			a.SetEnds(noun.Ends{Stop: end, Pause: a.Ends().Pause})
		}
		a.Stopped = true
		s.Event("agent.stopped", About{Agent: a}, forText(c.For)+said(c.By, reason))
		s.intend(a, "stopped by "+Nobody(c.By))
	} else {
		s.letRun(a, c.By, reason, said(c.By, reason))
	}
	out := a.Outcome()
	out.Rev = s.Meta.Index
	if !c.Stop {
		out.Detail = s.startDetail(a)
	}
	s.Settle(a, was)
	return out
}

// letRun ends the stop of an agent and forgives its failures; text is for the event. The caller
// settles it.
func (s *State) letRun(a *noun.Agent, by, why, text string) {
	a.Stopped, a.IntentBy, a.IntentAt = false, by, s.Entry.Wall
	a.Note(func(n *noun.Notes) { n.IntentWhy = why })
	a.SetEnds(noun.Ends{Pause: a.Ends().Pause})
	s.forgive(a)
	s.Event("agent.wanted", About{Agent: a}, text)
}

func (s *State) ChangeableAgent(name string, ifRev uint64) (*noun.Agent, noun.Outcome) {
	id, ok := s.agentByName[name]
	if !ok {
		return nil, s.NoAgent(name)
	}
	a := s.AgentTable.Mut(id)
	if ifRev != 0 && ifRev != a.Rev {
		return nil, Changed("agent "+a.Name, ifRev, a.Rev)
	}
	return a, noun.Outcome{}
}

// RestartAgent stops the running incarnation; the next start is not charged.
type RestartAgent struct {
	Agent string
	By    string
	Fresh bool // without the resume value
	// Reason is why, for people.
	Reason string
	IfRev  uint64 // 0: whatever it is now
}

func (c RestartAgent) Apply(s *State) noun.Outcome {
	a, no := s.ChangeableAgent(c.Agent, c.IfRev)
	if a == nil {
		return no
	}
	switch code := s.Paused(a); {
	case s.StopWish(a):
		return Refuse(noun.Stopped, "%s is stopped; `vigil agent start %s` starts it", a.Name, a.Name)
	case code != "": // it would be stopped and not started
		return Refuse(noun.Stopped, "%s is %s", a.Name, s.PausedText(a, code))
	case a.Part != noun.PartDisconnected && !a.Managed:
		return Refuse(noun.Conflict,
			"%s was started by hand, vigil has no process of it to stop; end it there and start it again", a.Name)
	case !a.Proc.Fenced() && a.Proc != noun.ProcOrdered && s.RoleTable.Get(a.Role).Spec.Runner == "":
		return Refuse(noun.Conflict, "role %s names no runner, so vigil cannot start %s; start it by hand",
			s.RoleName(a.Role), a.Name)
	}
	s.Touch(a.Room)
	was := ShadowOf(a)
	s.forgive(a)
	if c.Fresh {
		a.ForgetResume()
	}
	s.Event("agent.restarted", About{Agent: a}, said(c.By, noun.Clip(c.Reason, noun.MaxReason)))
	s.OpenStop(a, "restarted by "+Nobody(c.By))
	s.Settle(a, was)
	out := a.Outcome()
	out.Rev = a.Rev
	return out
}

// UnparkAgent ends a back-off, an open breaker or a usage-limit pause.
type UnparkAgent struct {
	Agent, By string
	IfRev     uint64 // 0: whatever it is now
}

// Apply ends a back-off, an open breaker or a pause for a usage limit.
func (c UnparkAgent) Apply(s *State) noun.Outcome {
	a, no := s.ChangeableAgent(c.Agent, c.IfRev)
	if a == nil {
		return no
	}
	waits := a.Parked || a.NotBefore > s.Meta.Clock
	s.Touch(a.Room)
	was := ShadowOf(a)
	s.forgive(a)
	if waits {
		s.Event("agent.unparked", About{Agent: a}, "by "+Nobody(c.By))
	}
	s.Settle(a, was)
	out := a.Outcome()
	out.Rev = a.Rev
	out.Detail = s.startDetail(a)
	return out
}
