package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// OrderStart opens the start order of incarnation Inc, which must be the next one.
type OrderStart struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	Host  noun.HostID
}

// Apply opens the start order of the next incarnation. It checks again what
// the planner saw: law L4 (one open order), L9 (intent), L11 (budgets).
func (c OrderStart) Apply(s *State) noun.Outcome {
	a, h := s.agents.Mut(c.Agent), s.hosts.Mut(c.Host)
	if a == nil || h == nil {
		return refuse(noun.NotFound, "there is no agent number %d or host number %d", c.Agent, c.Host)
	}
	if why := s.whyNot(a); why != "" {
		s.figures.OrdersDeduped++
		return refuse(noun.Conflict, "%s is not to be started: %s", a.Name, why)
	}
	if inc := s.nextInc(a); inc != c.Inc {
		s.figures.OrdersDeduped++
		return refuse(noun.Conflict, "the next incarnation of %s is %s, not %s", a.Name, inc, c.Inc)
	}
	if why := s.Misfit(h, a); why != "" {
		return refuse(noun.Conflict, "host %s %s", h.Name, why)
	}
	if s.Braked(a) && s.BrakeRoom() == 0 {
		return refuse(noun.Conflict, "the brake lets no start of %s through yet: %s", a.Name, s.meta.Brake.Why)
	}
	if !s.takeStartToken() {
		return refuse(noun.Conflict, "more than %d starts a second", s.meta.Settings.StartsPerSecond)
	}
	s.takeBraked(a)
	was := shadowOf(a)
	s.newLife(a, c.Inc)
	a.Managed, a.Proc, a.Host = true, noun.ProcOrdered, h.ID
	a.Order, a.OrderSince, a.OrderReason = noun.StartOrder, s.meta.Clock, ""
	s.event("order.start", about{agent: a, host: h.ID}, "")
	s.settle(a, was)
	return a.Outcome()
}

// takeStartToken holds the cluster to its start rate, with a burst of one second:
// the generic cell rate algorithm over cluster time.
func (s *State) takeStartToken() bool {
	step := noun.Time(time.Second) / noun.Time(max(s.meta.Settings.StartsPerSecond, 1))
	tat := max(s.meta.StartTAT, s.meta.Clock)
	if tat-s.meta.Clock > noun.Time(time.Second)-step {
		return false
	}
	s.meta.StartTAT = tat + step
	return true
}

// OrderStop opens a stop order for the running incarnation.
type OrderStop struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

func (c OrderStop) Apply(s *State) noun.Outcome {
	a := s.agents.Mut(c.Agent)
	switch {
	case a == nil:
		return refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || !a.Proc.Fenced():
		return refuse(noun.Superseded, "incarnation %s of %s does not run any more", c.Inc, a.Name)
	}
	was := shadowOf(a)
	s.openStop(a, noun.Clip(c.Reason, noun.MaxReason))
	s.settle(a, was)
	return a.Outcome()
}

// CancelOrder withdraws a start order that no host has accepted.
type CancelOrder struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

func (c CancelOrder) Apply(s *State) noun.Outcome {
	a := s.agents.Mut(c.Agent)
	switch {
	case a == nil:
		return refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || a.Proc != noun.ProcOrdered:
		return refuse(noun.Conflict, "no start order of incarnation %s of %s is open and unaccepted", c.Inc, a.Name)
	}
	was := shadowOf(a)
	s.withdraw(a, noun.Clip(c.Reason, noun.MaxReason))
	s.settle(a, was)
	return a.Outcome()
}
