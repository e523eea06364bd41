package core

import (
	"fmt"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// NextInc is the incarnation that the agent's next start gets, which OrderStart must carry.
func (v *View) NextInc(a *noun.Agent) noun.Incarnation {
	base := max(a.Inc, v.Meta.IncFloor)
	if base.Epoch() < v.Meta.Epoch {
		return noun.MakeIncarnation(v.Meta.Epoch, 1)
	}
	return base + 1
}

// newLife resets what belonged to the old incarnation. The caller has checked that
// no fence holds.
func (s *State) newLife(a *noun.Agent, inc noun.Incarnation) *noun.Lease {
	a.Inc, a.PID, a.TokenHash, a.Done, a.Task = inc, 0, "", 0, 0
	a.Overdue, a.Declared = false, nil
	a.TaskKnown()
	a.Note(func(n *noun.Notes) {
		n.Stuck, n.MailAt, n.Screen, n.Answered, n.Adopted = "", 0, nil, 0, false
	})
	a.StartedAt, a.Since = s.Meta.Clock, s.Meta.Clock
	if s.retries() && a.Resume != "" {
		a.Resumed = inc
	}
	l := s.LeaseTable.Mut(a.ID)
	s.Rearm(TimerLease, uint64(a.ID), &l.ArmedL, due.Row{})
	s.Rearm(timerFence, uint64(a.ID), &l.ArmedF, due.Row{})
	spec := &s.RoleTable.Get(a.Role).Spec
	*l = noun.Lease{Inc: inc, TTL: int64(spec.TTL), Confirm: spec.Policy == noun.PolicyConfirm,
		Own: s.retries() && spec.Proof == noun.ProofAgent}
	return l
}

func (s *State) grantLease(a *noun.Agent) *noun.Lease {
	l := s.LeaseTable.Mut(a.ID)
	l.Until, l.Beat, l.Beatless = s.Meta.Clock+noun.Time(l.TTL), s.Meta.Clock, false
	s.Rearm(TimerLease, uint64(a.ID), &l.ArmedL, s.leaseRow(a.ID, l))
	return l
}

func (s *State) grantFence(a *noun.Agent) *noun.Lease {
	l := s.LeaseTable.Mut(a.ID)
	l.Fence = s.Meta.Clock + noun.Time(l.TTL)
	s.Rearm(timerFence, uint64(a.ID), &l.ArmedF, s.fenceRow(a.ID, l))
	return l
}

// disconnect ends the participant (leave, lease, exit) and recovers its task in
// the same step (law L2). The caller may hold no shadow of the agent.
func (s *State) disconnect(id noun.AgentID, e *ending) {
	a := s.AgentTable.Mut(id)
	was := ShadowOf(a)
	s.release(a, e)
	s.Settle(a, was)
}

// release is disconnect without settling, for callers that change more.
func (s *State) release(a *noun.Agent, e *ending) {
	if a.Part != noun.PartDisconnected {
		a.Part, a.Since = noun.PartDisconnected, s.Meta.Clock
	}
	l := s.LeaseTable.Mut(a.ID)
	l.Until, l.Vouch = 0, false
	s.Rearm(TimerLease, uint64(a.ID), &l.ArmedL, due.Row{})
	if a.Task != 0 {
		t := s.TaskTable.Mut(a.Task)
		if !a.Managed {
			s.Tally.Exits[noun.ExitGone]++
			a.LastExit = &noun.Exit{Inc: a.Inc, At: s.Meta.Clock, Wall: s.Entry.Wall, Kind: noun.ExitGone,
				Reason: e.why, Task: a.Task}
		}
		a.Task = 0
		s.takeBack(t, e)
	}
}

// lose ends a fence without an exit report: another host may start the agent, of a role with policy
// confirm only when the end is proven.
func (s *State) lose(id noun.AgentID, why string, proven bool) {
	a := s.AgentTable.Mut(id)
	was := ShadowOf(a)
	l := s.LeaseTable.Mut(id)
	if s.retries() {
		expected := expectedBack(a, l)
		a.Note(func(n *noun.Notes) { n.Adopted = expected })
	}
	l.Fence = 0
	s.Rearm(timerFence, uint64(id), &l.ArmedF, due.Row{})
	s.Event("agent.fence_ended", About{Agent: a, Task: a.Task, Host: a.Host}, why)
	s.Tally.Exits[noun.ExitFenceEnded]++
	a.LastExit = &noun.Exit{Inc: a.Inc, At: s.Meta.Clock, Wall: s.Entry.Wall, Kind: noun.ExitFenceEnded,
		Reason: why, Task: a.Task, Host: a.Host}
	if !told(a) {
		s.noteLost(a)
	}
	s.noteLeft(a)
	s.release(a, &ending{why: "the fence of its holder ended"})
	a.Proc, a.Order, a.OrderReason, a.Overdue = noun.ProcLost, noun.NoOrder, "", false
	a.Note(func(n *noun.Notes) { n.Stuck = "" }) // nobody is left who could say that it is gone
	if !proven && s.confirmed(a) {
		s.doubtLife(a)
	}
	s.Settle(a, was)
}

// expectedBack tells of a life that is given up for the silence of its host that it joins its room when it is heard of
// again: it was there until that silence, or had yet to join. One that had left its room, or whose lease ended while
// its host was heard, stays outside.
func expectedBack(a *noun.Agent, l *noun.Lease) bool {
	switch {
	case a.Part != noun.PartDisconnected, a.Since <= a.StartedAt, a.Adopted():
		return true
	}
	ttl := noun.Time(l.TTL) // the last proofs of its process and of its place in the room are as old as that at the ends
	return a.Since > l.Fence-ttl && a.Since >= l.Beat+ttl
}

// buried takes note of an end that somebody saw: the process is gone.
func (s *State) buried(a *noun.Agent, x noun.Exit) {
	was := ShadowOf(a)
	l := s.LeaseTable.Mut(a.ID)
	l.Fence = 0
	s.Rearm(timerFence, uint64(a.ID), &l.ArmedF, due.Row{})
	x.Inc, x.At, x.Wall, x.Task, x.Host = a.Inc, s.Meta.Clock, s.Entry.Wall, a.Task, a.Host
	a.LastExit = &x
	s.Tally.Exits[x.Kind]++
	s.Event("agent.exited", About{Agent: a, Task: a.Task, Host: a.Host}, x.Sentence())
	fault := x.Kind == noun.ExitCrash || x.Kind == noun.ExitStartFailed || x.Kind == noun.ExitTimedOut
	t := s.TaskTable.Get(a.Task)
	worked := t != nil && t.Progress > t.ChangedAt // the start of a task is no progress
	if (x.Kind == noun.ExitHostGone || x.Kind == noun.ExitOrdered) && !told(a) {
		s.noteLost(a)
	}
	trial := fault && s.tried(a)
	if trial {
		s.noteTrial(a)
	}
	slow := x.Kind == noun.ExitOrdered && a.Proc == noun.ProcAccepted && !told(a) && s.retries()
	why := "its holder ended: " + x.Sentence()
	limits := x.Kind == noun.ExitUsageLimit && s.noteLimit(a)
	if limits {
		why += fmt.Sprintf("; %d such ends in a row count as an attempt", limitsPerAttempt)
	}
	s.release(a, &ending{why: why, charge: fault || limits, trial: trial,
		killed: x.Kind == noun.ExitCrash, spared: !trial && unresumed(&x) && s.acquit(a)})
	a.Proc, a.Order, a.OrderReason, a.PID = noun.ProcNone, noun.NoOrder, "", 0
	a.Overdue, a.Declared = false, nil
	a.Note(func(n *noun.Notes) { n.Stuck = "" })
	s.charge(a, &x, worked)
	if slow {
		s.noteSlow(a, &x)
	}
	s.judgeResume(a, &x, worked)
	s.Settle(a, was)
}

// told tells that the present life was told to end, for no fault of its own: one that is over a limit was not.
func told(a *noun.Agent) bool { return a.Order == noun.StopOrder && !a.Overdue }

// tried tells that the present life is the trial of an agent that its breaker has parked, and that it has done
// nothing. It dies of what the ones before it died of, and tasks are not to be used up on that.
func (v *View) tried(a *noun.Agent) bool {
	return v.retries() && a.Parked && a.Notes().ParkedWhy == "" && !a.Useful()
}

// OpenStop opens a stop order for an incarnation that may run.
func (s *State) OpenStop(a *noun.Agent, reason string) {
	if !a.Proc.Fenced() {
		return
	}
	if a.Order == noun.StopOrder {
		s.Tally.OrdersDeduped++
		return
	}
	a.Order, a.OrderSince, a.OrderReason = noun.StopOrder, s.Meta.Clock, reason
	s.Event("order.stop", About{Agent: a, Host: a.Host}, reason)
}

// withdraw takes back a start order that no host has accepted. Its number is used up.
func (s *State) withdraw(a *noun.Agent, reason string) {
	a.Proc, a.Order, a.OrderReason = noun.ProcNone, noun.NoOrder, ""
	a.Host = 0
	s.Event("order.canceled", About{Agent: a}, reason)
}

// intend makes an agent follow what humans have decided (law L9): what must not
// run is stopped, an order that is not accepted yet is withdrawn, by a pause too.
func (s *State) intend(a *noun.Agent, reason string) {
	stop := s.StopWish(a)
	switch {
	case a.Proc == noun.ProcOrdered && (stop || s.Paused(a) != ""):
		s.withdraw(a, reason)
	case !stop:
	case a.Proc.Fenced():
		s.OpenStop(a, reason)
	case a.Part != noun.PartDisconnected:
		s.release(a, &ending{why: reason})
	}
}

// StopWish tells whether a human wants the agent not to run.
func (v *View) StopWish(a *noun.Agent) bool {
	r, rm := v.RoleTable.Get(a.Role), v.RoomTable.Get(a.Room)
	return a.Stopped || a.Retired || r.Retired || rm.Deleting || r.Spec.Desired == noun.DesiredStopped
}
