package core

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
	a, h := s.AgentTable.Mut(c.Agent), s.HostTable.Mut(c.Host)
	if a == nil || h == nil {
		return Refuse(noun.NotFound, "there is no agent number %d or host number %d", c.Agent, c.Host)
	}
	if why := s.WhyNot(a); why != "" {
		s.Tally.OrdersDeduped++
		return Refuse(noun.Conflict, "%s is not to be started: %s", a.Name, why)
	}
	if inc := s.NextInc(a); inc != c.Inc {
		s.Tally.OrdersDeduped++
		return Refuse(noun.Conflict, "the next incarnation of %s is %s, not %s", a.Name, inc, c.Inc)
	}
	if why := s.Misfit(h, a); why != "" {
		return Refuse(noun.Conflict, "host %s %s", h.Name, why)
	}
	if s.Braked(a) && s.BrakeRoom() == 0 {
		return Refuse(noun.Conflict, "the brake lets no start of %s through yet: %s", a.Name, s.Meta.Brake.Why)
	}
	if !s.takeStartToken() {
		return Refuse(noun.Conflict, "more than %d starts a second", s.Meta.Settings.StartsPerSecond)
	}
	s.takeBraked(a)
	was := ShadowOf(a)
	s.newLife(a, c.Inc)
	a.Managed, a.Proc, a.Host, a.RoleRev = true, noun.ProcOrdered, h.ID, s.RoleTable.Get(a.Role).LifeRev
	a.Order, a.OrderSince, a.OrderReason = noun.StartOrder, s.Meta.Clock, ""
	s.Event("order.start", About{Agent: a, Host: h.ID}, "")
	s.Settle(a, was)
	return a.Outcome()
}

// takeStartToken holds the cluster to its start rate, with a burst of one second:
// the generic cell rate algorithm over cluster time.
func (s *State) takeStartToken() bool {
	step := noun.Time(time.Second) / noun.Time(max(s.Meta.Settings.StartsPerSecond, 1))
	tat := max(s.Meta.StartTAT, s.Meta.Clock)
	if tat-s.Meta.Clock > noun.Time(time.Second)-step {
		return false
	}
	s.Meta.StartTAT = tat + step
	return true
}

// OrderStop opens a stop order for the running incarnation.
type OrderStop struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

func (c OrderStop) Apply(s *State) noun.Outcome {
	a := s.AgentTable.Mut(c.Agent)
	switch {
	case a == nil:
		return Refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || !a.Proc.Fenced():
		return Refuse(noun.Superseded, "incarnation %s of %s does not run any more", c.Inc, a.Name)
	}
	was := ShadowOf(a)
	s.OpenStop(a, noun.Clip(c.Reason, noun.MaxReason))
	s.Settle(a, was)
	return a.Outcome()
}

// CancelOrder withdraws a start order that no host has accepted.
type CancelOrder struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string
}

func (c CancelOrder) Apply(s *State) noun.Outcome {
	a := s.AgentTable.Mut(c.Agent)
	switch {
	case a == nil:
		return Refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || a.Proc != noun.ProcOrdered:
		return Refuse(noun.Conflict, "no start order of incarnation %s of %s is open and unaccepted", c.Inc, a.Name)
	}
	was := ShadowOf(a)
	s.withdraw(a, noun.Clip(c.Reason, noun.MaxReason))
	s.Settle(a, was)
	return a.Outcome()
}
