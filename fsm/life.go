package fsm

import "vigil/fsm/noun"

// nextInc is the incarnation that the agent's next start gets.
func (v *View) nextInc(a *noun.Agent) noun.Incarnation {
	base := max(a.Inc, v.meta.IncFloor)
	if base.Epoch() < v.meta.Epoch {
		return noun.MakeIncarnation(v.meta.Epoch, 1)
	}
	return base + 1
}

// NextIncarnation is the number that OrderStart must carry now.
func (v *View) NextIncarnation(a *noun.Agent) noun.Incarnation { return v.nextInc(a) }

// newLife resets what belonged to the old incarnation. The caller has checked that
// no fence holds.
func (s *State) newLife(a *noun.Agent, inc noun.Incarnation) *noun.Lease {
	a.Inc, a.PID, a.TokenHash, a.Done, a.Task = inc, 0, "", 0, 0
	a.Overdue, a.Declared = false, nil
	a.Note(func(n *noun.Notes) { n.Stuck, n.MailAt, n.Screen = "", 0, nil })
	a.StartedAt, a.Since = s.meta.Clock, s.meta.Clock
	l := s.leases.Mut(a.ID)
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, 0)
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, 0)
	*l = noun.Lease{Inc: inc, TTL: int64(s.roles.Mut(a.Role).Spec.TTL)}
	return l
}

func (s *State) grantLease(a *noun.Agent) *noun.Lease {
	l := s.leases.Mut(a.ID)
	l.Until, l.Beat, l.Beatless = s.meta.Clock+noun.Time(l.TTL), s.meta.Clock, false
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, l.Until)
	return l
}

func (s *State) grantFence(a *noun.Agent) *noun.Lease {
	l := s.leases.Mut(a.ID)
	l.Fence = s.meta.Clock + noun.Time(l.TTL)
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, l.Fence)
	return l
}

// disconnect ends the participant (leave, lease, exit) and recovers its task in
// the same step (law L2). The caller may hold no shadow of the agent.
func (s *State) disconnect(id noun.AgentID, why string, charge bool) {
	a := s.agents.Mut(id)
	was := shadowOf(a)
	s.release(a, why, charge, false)
	s.settle(a, was)
}

// release is disconnect without settling, for callers that change more.
func (s *State) release(a *noun.Agent, why string, charge, killed bool) {
	if a.Part != noun.PartDisconnected {
		a.Part, a.Since = noun.PartDisconnected, s.meta.Clock
	}
	l := s.leases.Mut(a.ID)
	l.Until, l.Vouch = 0, false
	s.rearm(timerLease, uint64(a.ID), &l.ArmedL, 0)
	if a.Task != 0 {
		t := s.tasks.Mut(a.Task)
		if !a.Managed {
			s.figures.Exits[noun.ExitGone]++
			a.LastExit = &noun.Exit{Inc: a.Inc, At: s.meta.Clock, Wall: s.now.Wall, Kind: noun.ExitGone, Reason: why, Task: a.Task}
		}
		a.Task = 0
		s.recover(t, why, charge, killed)
	}
}

// lose ends a fence without an exit report: another host may start the agent.
func (s *State) lose(id noun.AgentID, why string) {
	a := s.agents.Mut(id)
	was := shadowOf(a)
	l := s.leases.Mut(id)
	l.Fence = 0
	s.rearm(timerFence, uint64(id), &l.ArmedF, 0)
	s.event("agent.fence_ended", about{agent: a, task: a.Task, host: a.Host}, why)
	s.figures.Exits[noun.ExitFenceEnded]++
	a.LastExit = &noun.Exit{Inc: a.Inc, At: s.meta.Clock, Wall: s.now.Wall, Kind: noun.ExitFenceEnded,
		Reason: why, Task: a.Task, Host: a.Host}
	s.release(a, "the fence of its holder ended", false, false)
	a.Proc, a.Order, a.OrderReason, a.Overdue = noun.ProcLost, noun.NoOrder, "", false
	a.Note(func(n *noun.Notes) { n.Stuck = "" }) // nobody is left who could say that it is gone
	s.settle(a, was)
}

// buried takes note of an end that somebody saw: the process is gone.
func (s *State) buried(a *noun.Agent, x noun.Exit) {
	was := shadowOf(a)
	l := s.leases.Mut(a.ID)
	l.Fence = 0
	s.rearm(timerFence, uint64(a.ID), &l.ArmedF, 0)
	x.Inc, x.At, x.Wall, x.Task, x.Host = a.Inc, s.meta.Clock, s.now.Wall, a.Task, a.Host
	a.LastExit = &x
	s.figures.Exits[x.Kind]++
	s.event("agent.exited", about{agent: a, task: a.Task, host: a.Host}, x.Sentence())
	fault := x.Kind == noun.ExitCrash || x.Kind == noun.ExitStartFailed || x.Kind == noun.ExitTimedOut
	s.release(a, "its holder ended: "+x.Sentence(), fault, x.Kind == noun.ExitCrash)
	a.Proc, a.Order, a.OrderReason, a.PID = noun.ProcNone, noun.NoOrder, "", 0
	a.Overdue, a.Declared = false, nil
	a.Note(func(n *noun.Notes) { n.Stuck = "" })
	s.charge(a, &x)
	s.settle(a, was)
}

// openStop opens a stop order for an incarnation that may run.
func (s *State) openStop(a *noun.Agent, reason string) {
	if !a.Proc.Fenced() {
		return
	}
	if a.Order == noun.StopOrder {
		s.figures.OrdersDeduped++
		return
	}
	a.Order, a.OrderSince, a.OrderReason = noun.StopOrder, s.meta.Clock, reason
	s.event("order.stop", about{agent: a, host: a.Host}, reason)
}

// withdraw takes back a start order that no host has accepted. Its number is used up.
func (s *State) withdraw(a *noun.Agent, reason string) {
	a.Proc, a.Order, a.OrderReason = noun.ProcNone, noun.NoOrder, ""
	a.Host = 0
	s.event("order.canceled", about{agent: a}, reason)
}

// intend makes an agent follow what humans have decided (law L9): what must not
// run is stopped, an order that is not accepted yet is withdrawn, by a pause too.
func (s *State) intend(a *noun.Agent, reason string) {
	stop := s.stopWish(a)
	switch {
	case a.Proc == noun.ProcOrdered && (stop || s.paused(a) != ""):
		s.withdraw(a, reason)
	case !stop:
	case a.Proc.Fenced():
		s.openStop(a, reason)
	case a.Part != noun.PartDisconnected:
		s.release(a, reason, false, false)
	}
}

// stopWish tells whether a human wants the agent not to run.
func (v *View) stopWish(a *noun.Agent) bool {
	r, rm := v.roles.Get(a.Role), v.rooms.Get(a.Room)
	return a.Stopped || a.Retired || r.Retired || rm.Deleting || r.Spec.Desired == noun.DesiredStopped
}
