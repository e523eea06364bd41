package core

import (
	"iter"
	"slices"

	"vigil/fsm/noun"
)

// Which starts are due. Of the reasons against a start (see WhyNot) some are the agent's own
// and some are its role's: that it is paused, that its room is deleted, that no task waits.
// The index keeps them apart, so that what happens to a role or to everything visits no agent:
// a role knows which of its agents are ready, and the state which roles have starts due.

// ready tells that nothing of the agent itself is against a start.
func (v *View) ready(a *noun.Agent) bool {
	return a.Part == noun.PartDisconnected && a.Proc != noun.ProcOrdered && !a.Proc.Fenced() &&
		a.Proc != noun.ProcUnproven && !a.Retired && !a.Stopped && !a.Paused && a.NotBefore <= v.Meta.Clock &&
		v.LeaseTable.Get(a.ID).Fence == 0 && !v.agentBarred(a)
}

// Want brings the indexes by what an agent is or needs in line with it.
func (s *State) Want(a *noun.Agent) {
	ri := s.roleIndexOf(a.Role)
	ready, lost := s.ready(a), a.LostLast()
	called := ready && s.called(a)
	if was, wasLost := ri.ready.Has(a.ID), ri.lost.Has(a.ID); was != (ready && !lost) || wasLost != (ready && lost) ||
		called != ri.isCalled(a.ID) {
		ri.ready.Put(a.ID, ready && !lost)
		ri.lost.Put(a.ID, ready && lost)
		ri.called.Put(a.ID, called && !lost)
		ri.calledLost.Put(a.ID, called && lost)
		s.reviewRole(a.Role)
		if _, due := s.starts.Get(a.Role); due && ready {
			s.Result.Effects.Plan = true
		}
	}
	ri.free.Put(a.ID, s.free(a))
	s.AtWork.Put(a.ID, a.Task != 0)
}

// unwant takes an agent that goes out of what want keeps.
func (s *State) unwant(a *noun.Agent) {
	ri := s.roleIndexOf(a.Role)
	for _, set := range [...]*IdSet{&ri.ready, &ri.lost, &ri.called, &ri.calledLost, &ri.free, &s.AtWork} {
		set.Put(a.ID, false)
	}
	s.reviewRole(a.Role)
}

// reviewRole puts a role among those with starts due, or takes it out.
func (s *State) reviewRole(id noun.RoleID) {
	r := s.RoleTable.Get(id)
	_, in := s.starts.Get(id)
	s.reviewPause(r)
	switch due := s.roleDue(r, s.roleIndexOf(id)); {
	case due && !in:
		s.starts.Set(id)
		s.Result.Effects.Plan = true
	case !due && in:
		s.starts.Delete(id)
	}
}

func (v *View) roleDue(r *noun.Role, ri *roleIndex) bool {
	switch {
	case ri.ready.len() == 0 && (ri.lost.len() == 0 || v.brakeHolds()):
		return false
	case v.RoomTable.Get(r.Room).Deleting, r.Retired, r.Below != 0, r.Spec.Desired != noun.DesiredRunning,
		r.Spec.Runner == "":
		return false
	case v.RolePaused(r) != "", v.StartsHeld() > 0, v.awaits(r):
		return false
	}
	return r.Spec.Start != noun.StartOnDemand || ri.starts(!v.brakeHolds()) > 0
}

// Whether there is something to do for an agent that does not run is asked of these functions
// alone. For roles that are always on there is; an agent on demand is wanted for a task of its role
// that nobody is free for, whichever of them takes it, or because a feature calls for it by itself.

// shortfall is how many claimable tasks of a role no agent is free for.
func (ri *roleIndex) shortfall() uint32 {
	if n := ri.Tasks[noun.TaskPending]; n > ri.spare {
		return n - ri.spare
	}
	return 0
}

// starts is how many agents of an on_demand role are to be started, as far as they may be: those
// that are called for take tasks too. With lost those count whose last life was lost.
func (ri *roleIndex) starts(lost bool) uint32 {
	n := ri.called.len()
	if lost {
		n += ri.calledLost.len()
	}
	return max(ri.shortfall(), uint32(n))
}

func (ri *roleIndex) isCalled(id noun.AgentID) bool {
	return ri.called.Has(id) || ri.calledLost.Has(id)
}

// demanded tells whether there is something to do for an agent of the role.
func (v *View) demanded(r *noun.Role, id noun.AgentID) bool {
	ri := v.roleIndex(r.ID)
	return r.Spec.Start != noun.StartOnDemand || ri.shortfall() > 0 || ri.isCalled(id)
}

// called tells that a feature calls for an agent on demand.
func (v *View) called(a *noun.Agent) bool {
	return v.RoleTable.Get(a.Role).Spec.Start == noun.StartOnDemand &&
		slices.ContainsFunc(v.Hooks.Calls, func(calls func(*noun.Agent) bool) bool { return calls(a) })
}

// reviewAll looks at every role, when what holds for all of them has changed.
func (s *State) reviewAll() {
	s.Weigh(weightOfLook * s.RoleTable.Len() / looksPerWeight)
	for id := range s.RoleTable.From(0) {
		s.reviewRole(noun.RoleID(id))
	}
}

// reviewDemand looks at a role when its claimable tasks or its agents have changed: those of
// an on_demand role are due while the tasks outnumber the agents that are free for them.
func (s *State) reviewDemand(id noun.RoleID) {
	if s.RoleTable.Get(id).Spec.Start != noun.StartOnDemand {
		return
	}
	s.reviewRole(id)
	if _, due := s.starts.Get(id); due {
		s.Result.Effects.Plan = true // one more may be due
	}
}

// Wants tells whether a start of the agent is due by the indexes.
func (v *View) Wants(a *noun.Agent) bool {
	_, due := v.starts.Get(a.Role)
	ri := v.roleIndex(a.Role)
	return due && (ri.ready.Has(a.ID) || ri.lost.Has(a.ID) && !v.brakeHolds()) &&
		v.demanded(v.RoleTable.Get(a.Role), a.ID)
}

// Wanting yields the agents for which a start is due now, role by role.
func (v *View) Wanting() iter.Seq[noun.AgentID] {
	return func(yield func(noun.AgentID) bool) {
		for role := range v.DueRolesAfter(0) {
			for id := range v.DueAgents(role) {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// DueRoles counts the roles that have starts due.
func (v *View) DueRoles() int { return v.starts.Len() }

// DueRolesAfter yields the roles behind the one named that have starts due, in order.
func (v *View) DueRolesAfter(after noun.RoleID) iter.Seq[noun.RoleID] {
	return func(yield func(noun.RoleID) bool) { v.starts.Ascend(after+1, yield) }
}

// DueAgents yields the agents of a role with starts due that are to be started, by id; those
// that the brake paces come last, with true. Of an on_demand role it yields all that may be, of
// each of these two parts those first that are called for: see DueStarts.
func (v *View) DueAgents(id noun.RoleID) iter.Seq2[noun.AgentID, bool] {
	return func(yield func(noun.AgentID, bool) bool) {
		r, ri := v.RoleTable.Get(id), v.RoleIdx.Get(id)
		if ri == nil || !v.dueOf(r, ri.ready, ri.called, func(a noun.AgentID) bool { return yield(a, false) }) ||
			v.brakeHolds() {
			return
		}
		paced := v.Meta.Brake.Set != 0
		v.dueOf(r, ri.lost, ri.calledLost, func(a noun.AgentID) bool { return yield(a, paced) })
	}
}

// dueOf yields the agents that are called for, then the others for which there is something to do.
func (v *View) dueOf(r *noun.Role, ready, called IdSet, yield func(noun.AgentID) bool) (all bool) {
	if r.Spec.Start != noun.StartOnDemand {
		return ready.scan(yield)
	}
	if !called.scan(yield) {
		return false
	}
	return v.roleIndex(r.ID).shortfall() == 0 ||
		ready.scan(func(a noun.AgentID) bool { return called.Has(a) || yield(a) })
}

// DueStarts is how many of a role's DueAgents are to be started: of an on_demand role as many
// as there are tasks that nobody is free for, or agents that are called for.
func (v *View) DueStarts(id noun.RoleID) int {
	r, ri := v.RoleTable.Get(id), v.RoleIdx.Get(id)
	switch {
	case r == nil || ri == nil:
		return 0
	case r.Spec.Start != noun.StartOnDemand:
		return ri.ready.len() + ri.lost.len()
	}
	return int(ri.starts(!v.brakeHolds()))
}

// LivesOn counts the lives of a role on a host, those included that are only ordered.
func (v *View) LivesOn(role noun.RoleID, host noun.HostID) uint32 {
	if ri := v.RoleIdx.Get(role); ri != nil {
		return ri.on[host]
	}
	return 0
}
