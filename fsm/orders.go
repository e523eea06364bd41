package fsm

import "time"

// orderStart opens the start order of the next incarnation. It checks again what
// the planner saw: law L4 (one open order), L9 (intent), L11 (budgets).
func (s *State) orderStart(c *OrderStart) Outcome {
	a, h := s.agents.Mut(c.Agent), s.hosts.Mut(c.Host)
	if a == nil || h == nil {
		return refuse(NotFound, "there is no agent number %d or host number %d", c.Agent, c.Host)
	}
	if why := s.whyNot(a); why != "" {
		s.figures.OrdersDeduped++
		return refuse(Conflict, "%s is not to be started: %s", a.Name, why)
	}
	if inc := s.nextInc(a); inc != c.Inc {
		s.figures.OrdersDeduped++
		return refuse(Conflict, "the next incarnation of %s is %s, not %s", a.Name, inc, c.Inc)
	}
	if why := s.Misfit(h, a); why != "" {
		return refuse(Conflict, "host %s %s", h.Name, why)
	}
	if s.Braked(a) && s.BrakeRoom() == 0 {
		return refuse(Conflict, "the brake lets no start of %s through yet: %s", a.Name, s.meta.Brake.Why)
	}
	if !s.takeStartToken() {
		return refuse(Conflict, "more than %d starts a second", s.meta.Settings.StartsPerSecond)
	}
	s.takeBraked(a)
	was := a.shadow()
	s.newLife(a, c.Inc)
	a.Managed, a.Proc, a.Host = true, ProcOrdered, h.ID
	a.Order, a.OrderSince, a.OrderReason = StartOrder, s.meta.Clock, ""
	s.event("order.start", about{agent: a, host: h.ID}, "")
	s.settle(a, was)
	return a.outcome()
}

// takeStartToken holds the cluster to its start rate, with a burst of one second:
// the generic cell rate algorithm over cluster time.
func (s *State) takeStartToken() bool {
	step := Time(time.Second) / Time(max(s.meta.Settings.StartsPerSecond, 1))
	tat := max(s.meta.StartTAT, s.meta.Clock)
	if tat-s.meta.Clock > Time(time.Second)-step {
		return false
	}
	s.meta.StartTAT = tat + step
	return true
}

func (s *State) orderStop(c *OrderStop) Outcome {
	a := s.agents.Mut(c.Agent)
	switch {
	case a == nil:
		return refuse(NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || !a.Proc.Fenced():
		return refuse(Superseded, "incarnation %s of %s does not run any more", c.Inc, a.Name)
	}
	was := a.shadow()
	s.openStop(a, clip(c.Reason, MaxReason))
	s.settle(a, was)
	return a.outcome()
}

func (s *State) cancelOrder(c *CancelOrder) Outcome {
	a := s.agents.Mut(c.Agent)
	switch {
	case a == nil:
		return refuse(NotFound, "there is no agent number %d", c.Agent)
	case a.Inc != c.Inc || a.Proc != ProcOrdered:
		return refuse(Conflict, "no start order of incarnation %s of %s is open and unaccepted", c.Inc, a.Name)
	}
	was := a.shadow()
	s.withdraw(a, clip(c.Reason, MaxReason))
	s.settle(a, was)
	return a.outcome()
}
