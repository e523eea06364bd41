package core

import (
	"slices"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// shadow is what the indexes hold of an agent: taken before a change, compared
// with the agent after it.
type shadow struct {
	id    noun.AgentID
	role  noun.RoleID
	host  noun.HostID
	proc  noun.ProcState
	part  noun.PartState
	order noun.OrderKind
	busy  bool // takes no task: holds one, is paused, has used up its own budget or is to end
	pause bool
	park  bool // waits for the end of a breaker's or a usage limit's pause
	off   bool // stopped by a human, or no longer declared
	out   bool // runs outside its room, where it has been
}

func ShadowOf(a *noun.Agent) shadow {
	return shadow{a.ID, a.Role, a.Host, a.Proc, a.Part, a.Order,
		a.Task != 0 || a.Paused || a.SpentOut() || a.Order == noun.StopOrder || a.Retired, a.Paused, a.Waits() &&
			!a.Stopped, a.Stopped || a.Retired,
		a.Proc == noun.ProcRunning && a.Part == noun.PartDisconnected && a.Since > a.StartedAt &&
			!a.Adopted()}
}

// atHand tells that the agent counts as one that is free for a task, or will be. A life that has left its room may
// stay away for hours, at what a human has given it.
func (v *View) atHand(w shadow) bool {
	switch {
	case w.busy, w.out && v.Level() >= LevelRetry:
		return false
	}
	return w.part != noun.PartDisconnected || w.proc == noun.ProcOrdered || w.proc.Fenced()
}

// recountSpare counts those that are outside their rooms anew, around a change of what they count as.
func (s *State) recountSpare(change func()) {
	var out []shadow
	for _, a := range s.AgentTable.From(0) {
		if w := ShadowOf(a); w.out {
			out = append(out, w)
			s.countAgent(w, -1)
		}
	}
	change()
	for _, w := range out {
		s.countAgent(w, +1)
		s.reviewDemand(w.role)
	}
}

// indexAgent adds (by 1) or takes away (by -1) an agent's share of the indexes.
func (s *State) indexAgent(w shadow, by int) {
	s.countAgent(w, by)
	if w.host == 0 {
		return
	}
	hi := s.hostIndexOf(w.host)
	if by < 0 {
		delete(hi.agents, w.id)
		delete(hi.orders, w.id)
		return
	}
	hi.agents[w.id] = struct{}{}
	if w.order != noun.NoOrder {
		hi.orders[w.id] = struct{}{}
	}
}

// reindexAgent is indexAgent for an agent that was something else before.
func (s *State) reindexAgent(was, now shadow) {
	if was.host != now.host || was.order != now.order {
		s.indexAgent(was, -1)
		s.indexAgent(now, +1)
		return
	}
	s.countAgent(was, -1)
	s.countAgent(now, +1)
}

// countAgent counts an agent in (by 1) or out (by -1).
func (s *State) countAgent(w shadow, by int) {
	d := uint32(by) // adding 2^32-1 takes one away
	ri := s.roleIndexOf(w.role)
	if w.proc != noun.ProcNone {
		s.procCount[w.proc] += d
	}
	if w.part != noun.PartDisconnected {
		ri.live += d
		s.live += d
	}
	if w.proc == noun.ProcOrdered || w.proc == noun.ProcAccepted {
		ri.starting += d
	}
	if w.proc == noun.ProcOrdered {
		ri.ordered.Put(w.id, by > 0)
	}
	if w.proc == noun.ProcOrdered || w.proc.Fenced() {
		ri.lives += d
		ri.locate(w.host, d)
	}
	if w.off {
		ri.off += d
	}
	if w.pause {
		ri.paused += d
	}
	if w.park {
		s.parked += d
	}
	if s.atHand(w) {
		ri.spare += d
	}
	if w.host == 0 {
		return
	}
	switch hi := s.hostIndexOf(w.host); w.proc {
	case noun.ProcOrdered, noun.ProcAccepted:
		hi.starting += d
	case noun.ProcRunning:
		hi.running += d
	}
}

// locate counts a life of the role in or out of a host.
func (ri *roleIndex) locate(h noun.HostID, d uint32) {
	if ri.on == nil {
		ri.on = map[noun.HostID]uint32{}
	}
	if ri.on[h] += d; ri.on[h] == 0 {
		delete(ri.on, h)
	}
}

// Settle ends a change of an agent: it brings indexes, timers and the starts
// that are due in line, and notes whom to tell. Every change of an agent passes
// here (law L11: there is one choke point).
func (s *State) Settle(a *noun.Agent, was shadow) {
	s.Weigh(weightOfSettle)
	s.dismiss(a)
	s.drain(a)
	a.Rev = s.Meta.Index
	if now := ShadowOf(a); now != was {
		s.reindexAgent(was, now)
		if a.Order != noun.NoOrder && a.Host != 0 {
			s.Result.Effects.Hosts = append(s.Result.Effects.Hosts, a.Host)
		}
		if was.order != noun.NoOrder && was.host != 0 && (a.Order == noun.NoOrder || a.Host != was.host) {
			s.Result.Effects.Hosts = append(s.Result.Effects.Hosts, was.host) // withdrawn or done
		}
		if was.proc == noun.ProcOrdered || was.proc == noun.ProcAccepted {
			s.Result.Effects.Plan = true // a start slot may be free again
		}
	}
	s.Rearm(TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
	s.reviewDemand(a.Role)
	s.Want(a)
	s.Hooks.AgentChanged.Call(a)
	if a.Retired && s.idle(a) {
		s.removeAgent(a)
	}
}

// idle tells that nothing of the agent runs or may run, as far as its policy lets that be decided.
func (v *View) idle(a *noun.Agent) bool {
	return !a.Proc.Fenced() && a.Proc != noun.ProcOrdered && a.Proc != noun.ProcUnproven &&
		a.Part == noun.PartDisconnected && v.LeaseTable.Get(a.ID).Fence == 0
}

func (s *State) fireAgent(id noun.AgentID) {
	a := s.AgentTable.Mut(id)
	if a == nil {
		return
	}
	a.Armed = 0
	s.Hooks.AgentFires.Call(a)
	was := ShadowOf(a) // a feature settles what it changes of it
	s.endIntents(a)
	if row := s.agentLimit(a); row.Due(s.Meta.Clock) {
		s.endLimit(a, row.Kind)
	}
	s.Settle(a, was)
}

// endLimit does what follows when a limit of an agent is over.
func (s *State) endLimit(a *noun.Agent, limit *due.Kind) {
	switch limit {
	case KindTurn:
		why := "turn limit of " + s.RoleTable.Get(a.Role).Spec.TurnLimit.String()
		s.Event("agent.turn_limit", About{Agent: a, Task: a.Task}, "the "+why+" is over")
		s.EndForLimit(a, why)
	case KindAccept:
		s.withdraw(a, "its host did not accept the start order in time")
	case KindHealthy:
		s.recovered(a)
	case KindStart:
		if a.Proc == noun.ProcAccepted {
			why := "its host has accepted the start order but reported no process within the start limit"
			s.Event("agent.start_limit", About{Agent: a, Host: a.Host}, why)
			s.EndForLimit(a, why)
			return
		}
		s.Event("agent.start_limit", About{Agent: a}, "it runs but has not joined; it is replaced")
		s.EndForLimit(a, "runs without having joined within the start limit")
		// one that hangs after its work is replaced at no charge, and one that does not know that it was canceled;
		// one that has let a limit of its task pass is charged (law L11)
		a.Overdue = a.Done == 0 && (!a.TaskTaken() || a.Notes().Late)
	}
}

// removeAgent forgets a retired agent of which nothing runs. Incarnations of
// agents that are created later begin above its own, so that a late word of a
// removed agent can never be taken for theirs.
func (s *State) removeAgent(a *noun.Agent) {
	s.Meta.IncFloor = max(s.Meta.IncFloor, a.Inc)
	s.Rearm(TimerAgent, uint64(a.ID), &a.Armed, due.Row{})
	l := s.LeaseTable.Mut(a.ID)
	s.Rearm(TimerLease, uint64(a.ID), &l.ArmedL, due.Row{})
	s.Rearm(timerFence, uint64(a.ID), &l.ArmedF, due.Row{})
	s.Hooks.AgentGoes.Call(a)
	s.unwant(a)
	s.indexAgent(ShadowOf(a), -1)
	delete(s.agentByName, a.Name)
	room, role, id, index := a.Room, a.Role, a.ID, a.Index
	s.Event("agent.removed", About{Agent: a}, "no longer declared")
	s.LeaseTable.Del(id)
	s.AgentTable.Del(id)
	r := s.RoleTable.Mut(role)
	s.unlist(r, id)
	s.lack(r, index)
	if rm := s.RoomTable.Mut(room); rm.Deleting && len(r.Agents) == 0 {
		s.clear(rm)
	}
}

// unlist takes an agent off the list of its role. The ends go without a copy, and one copy
// does for all until the next view (the roles have another generation then): views keep what
// they see.
func (s *State) unlist(r *noun.Role, id noun.AgentID) {
	switch n := len(r.Agents); id {
	case r.Agents[0]:
		r.Agents = r.Agents[1:]
	case r.Agents[n-1]:
		r.Agents = r.Agents[: n-1 : n-1]
	default:
		if ri := s.roleIndexOf(r.ID); ri.owned != s.RoleTable.Generation()+1 {
			r.Agents, ri.owned = slices.Clone(r.Agents), s.RoleTable.Generation()+1
		}
		at, _ := slices.BinarySearch(r.Agents, id)
		r.Agents = slices.Delete(r.Agents, at, at+1)
		s.steps -= (n - at) / movedPerStep
	}
}

// movedPerStep is how many entries of a list are moved at the cost of one step.
const movedPerStep = 2048
