package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// OnHost finds the agent that a host speaks of.
func (s *State) OnHost(host noun.HostID, id noun.AgentID, inc noun.Incarnation) (*noun.Agent, noun.Outcome) {
	a := s.AgentTable.Mut(id)
	switch {
	case a == nil:
		return nil, Refuse(noun.Superseded, "there is no agent number %d any more; stop its incarnation %s", id, inc)
	case inc < a.Inc || inc == a.Inc && a.Host != host:
		return nil, Refuse(noun.Superseded, "incarnation %s of %s is over; stop it", inc, a.Name)
	case inc > a.Inc:
		return nil, Refuse(noun.Invalid, "incarnation %s of %s was never ordered", inc, a.Name)
	}
	return a, noun.Outcome{}
}

// AcceptOrder is what a host commits before it forks: from here on the fence
// holds, and only an exit report or the end of the fence ends it.
type AcceptOrder struct {
	Host      noun.HostID
	Boot      string
	Agent     noun.AgentID
	Inc       noun.Incarnation
	TokenHash []byte
}

func (c AcceptOrder) Apply(s *State) noun.Outcome {
	a, no := s.OnHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		return no
	}
	h := s.HostTable.Mut(c.Host)
	if h == nil || h.Boot != c.Boot {
		return Refuse(noun.Superseded, "the order was for another boot of the host; register again")
	}
	if s.held() { // it was accepted before the backup, and may have been given up since (law L7)
		return Refuse(noun.Superseded,
			"a backup was restored since incarnation %s of %s was ordered; start nothing", c.Inc, a.Name)
	}
	if a.Proc == noun.ProcAccepted && a.TokenHash == string(c.TokenHash) { // a lost answer
		out := a.Outcome()
		out.TTL = s.LeaseTable.Get(a.ID).TTL
		return out
	}
	if a.Proc != noun.ProcOrdered {
		return Refuse(noun.Superseded, "the start order of incarnation %s of %s is no longer open; start nothing",
			c.Inc, a.Name)
	}
	if s.Paused(a) != "" { // it is about to be taken back
		return Refuse(noun.Superseded,
			"the start order of incarnation %s of %s is withdrawn: %s is paused; start nothing", c.Inc, a.Name, a.Name)
	}
	was := ShadowOf(a)
	a.Proc, a.TokenHash, a.StartedAt, a.Since = noun.ProcAccepted, string(c.TokenHash), s.Meta.Clock, s.Meta.Clock
	l := s.grantFence(a)
	s.Settle(a, was)
	out := a.Outcome()
	out.TTL = l.TTL
	return out
}

// ReportStarted gives the pid of an accepted incarnation.
type ReportStarted struct {
	Host  noun.HostID
	Agent noun.AgentID
	Inc   noun.Incarnation
	PID   uint32
}

func (c ReportStarted) Apply(s *State) noun.Outcome {
	a, no := s.OnHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		return no
	}
	if !a.Proc.Fenced() {
		return Refuse(noun.Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	}
	was := ShadowOf(a)
	if a.Proc == noun.ProcAccepted {
		a.Proc, a.StartedAt = noun.ProcRunning, s.Meta.Clock
		s.Tally.started(a.LastExit, s.Meta.Clock)
		if a.Order == noun.StartOrder {
			a.Order, a.OrderReason = noun.NoOrder, ""
		}
		s.Event("agent.started", About{Agent: a, Host: a.Host}, fmt.Sprintf("pid %d", c.PID))
	}
	a.PID = c.PID
	s.Settle(a, was)
	return a.Outcome()
}

// ReportExit says that nothing of the incarnation runs any more. It is
// idempotent by incarnation.
type ReportExit struct {
	Host  noun.HostID
	Agent noun.AgentID
	Inc   noun.Incarnation
	// ExitStartFailed, ExitOrdered, ExitTimedOut, ExitUsageLimit, or ExitNone: judged from code and
	// order
	Kind   noun.ExitKind
	Code   int32
	Signal string
	Reason string
	Tail   string
	// RetryAfter is how long the usage limit lasts (ExitUsageLimit); 0: unknown.
	RetryAfter time.Duration
}

func (c ReportExit) Apply(s *State) noun.Outcome {
	a, no := s.OnHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		if no.Code == noun.Superseded { // known, or no longer of interest: the report is done
			return noun.Outcome{Agent: c.Agent, Inc: c.Inc}
		}
		return no
	}
	out := a.Outcome()
	if a.Proc == noun.ProcUnproven {
		x := exitOf(a, &c)
		s.prove(a, &x, "its host reports its end: "+x.Sentence())
		return out
	}
	if !a.Proc.Fenced() {
		return out
	}
	s.buried(a, exitOf(a, &c))
	return out
}

// ReportStuck says that something of an incarnation outlives SIGKILL; empty: no more.
type ReportStuck struct {
	Host   noun.HostID
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

// Apply notes that something of the incarnation outlives SIGKILL. Its fence
// goes on, so the slot stays taken; a human has to look at the host.
func (c ReportStuck) Apply(s *State) noun.Outcome {
	a, no := s.OnHost(c.Host, c.Agent, c.Inc)
	switch {
	case a == nil:
		return no
	case !a.Proc.Fenced():
		return Refuse(noun.Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	}
	was := ShadowOf(a)
	if c.Reason != "" && a.Stuck() == "" {
		s.Event("agent.unkillable", About{Agent: a, Task: a.Task, Host: a.Host}, noun.Clip(c.Reason, noun.MaxReason))
		s.escalateAgent(noun.EscStuckProcess, a)
	}
	a.Note(func(n *noun.Notes) { n.Stuck = noun.Clip(c.Reason, noun.MaxReason) })
	s.Settle(a, was)
	return a.Outcome()
}
