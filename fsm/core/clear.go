package core

import (
	"fmt"
	"slices"

	"vigil/fsm/noun"
)

// What becomes of agents and tasks when a room is changed or deleted. A human's word holds at once,
// since it is the room's and the role's: nothing is started, claimed or created any more that it
// forbids. Its agents and tasks are worked off in StepsPerEntry steps an entry, in the entry of the word
// and, when there are more, in later ones that the leader adds (Effects.More); which they are
// stands in the state: Role.Below and Room.Clearing. How roles get new agents: grow.go.

// CheckDelete tells what DeleteRoom has against it, without changing anything.
func (v *View) CheckDelete(c *DeleteRoom) noun.Outcome {
	switch rm := v.Room(c.Room); {
	case rm == nil:
		return v.NoRoom(c.Room)
	case c.IfRev != 0 && c.IfRev != rm.Rev:
		return Changed(fmt.Sprintf("room %q", c.Room), c.IfRev, rm.Rev)
	}
	return noun.Outcome{}
}

// DeleteRoom stops the room's agents, cancels its tasks, and removes it when
// nothing of it runs any more.
type DeleteRoom struct {
	Room  string
	By    string
	IfRev uint64
	// Gentle refuses what would end agents at work or cancel tasks.
	Gentle bool
}

func (c DeleteRoom) Apply(s *State) noun.Outcome {
	if no := s.CheckDelete(&c); no.Code != noun.OK {
		return no
	}
	rm := s.Room(c.Room)
	if rm.Deleting {
		return noun.Outcome{Room: rm.ID, Rev: rm.Rev, Count: 1}
	}
	if c.Gentle {
		if plan := s.PlanDelete(c.Room); s.harmless(c.Room, &plan).Code != noun.OK {
			return s.harmless(c.Room, &plan)
		}
	}
	rm = s.RoomTable.Mut(rm.ID)
	rm.Deleting, rm.ChangedBy, rm.Rev = true, c.By, s.Meta.Index
	s.setEnd(timerRoom, uint64(rm.ID), &rm.PauseEnd, noun.End{}) // nothing of it is resumed any more
	s.Hooks.RoomChanged.Call(rm)
	s.rememberDeleted(rm.Name, c.By)
	s.Event("room.deleting", About{Room: rm.ID}, "by "+Nobody(c.By))
	id, rev := rm.ID, rm.Rev
	for _, role := range rm.Roles {
		s.retireRole(s.RoleTable.Mut(role))
		s.reviewRole(role)
	}
	s.clear(rm)
	s.workOff()
	pending := uint32(0)
	if s.RoomTable.Get(id) != nil {
		pending = 1
	}
	return noun.Outcome{Room: id, Rev: rev, Count: pending}
}

// clear puts a room that is being deleted among those that can be worked on.
func (s *State) clear(rm *noun.Room) {
	rm.Clearing = true
	s.clearing.Set(rm.ID)
}

// retireRole makes all agents of a role go.
func (s *State) retireRole(r *noun.Role) {
	if r.Retired {
		return
	}
	r.Retired, r.Rev = true, s.Meta.Index
	s.reviewRole(r.ID)
	s.endVain(r)
	s.dropHalfOpen(r) // nobody tries its tasks any more; declared again, it begins anew
	s.Hooks.RoleGoes.Call(r)
	s.visitAgents(r, 0)
	s.promise(r)
}

// visitAgents has all agents of a role looked at in steps, since it was declared or is not any more.
func (s *State) visitAgents(r *noun.Role, how noun.AgentID) {
	if r.Below = s.Meta.NextAgent | how; len(r.Agents) > 0 {
		s.visiting.Set(r.ID)
	} else {
		r.Below = 0
		s.visiting.Delete(r.ID)
	}
}

// workOff goes on with everything that was ordered for many, as far as this entry may. Agents of
// roles come before rooms that go: the tasks that they hold are then among those that wait.
func (s *State) workOff() {
	s.withdrawPaused()
	for s.steps > 0 {
		id, any := s.visiting.Min()
		if !any {
			break
		}
		s.carryOut(s.RoleTable.Mut(id))
	}
	for s.steps > 0 {
		id, any := s.growing.Min()
		if !any {
			break
		}
		s.carryOut(s.RoleTable.Mut(id))
	}
	for s.steps > 0 {
		id, any := s.clearing.Min()
		if !any {
			break
		}
		s.clearRoom(s.RoomTable.Mut(id))
	}
	s.Hooks.WorkOff.Call(struct{}{})
	s.Result.Effects.More = s.Result.Effects.More || s.unworked()
}

// StepsLeft tells whether this entry may take another step in working off what was ordered for many, and Step
// takes it.
func (s *State) StepsLeft() bool { return s.steps > 0 }
func (s *State) Step()           { s.steps-- }

// unworked tells that later entries have something to work off.
func (v *View) unworked() bool {
	if v.visiting.Len() > 0 || v.growing.Len() > 0 || v.clearing.Len() > 0 || v.withdrawing.Len() > 0 {
		return true
	}
	for _, left := range v.Hooks.Unworked {
		if left() {
			return true
		}
	}
	return false
}

// carryOut does what a role is declared as, as far as this entry may: first on the agents that it
// has, from the last to the first, since those that go at once leave the end of the list.
func (s *State) carryOut(r *noun.Role) {
	rm := s.RoomTable.Get(r.Room)
	for n := 1; r.Below != 0; n++ {
		at, _ := slices.BinarySearch(r.Agents, r.Before())
		if at == 0 {
			r.Below = 0
			s.visiting.Delete(r.ID)
			s.reviewRole(r.ID)
			s.reviewGrowth(r)
			s.Promote(r.ID)
			break
		}
		if s.steps <= 0 {
			return
		}
		a := s.AgentTable.Mut(r.Agents[at-1])
		r.Below = a.ID | r.Below&(noun.BelowNow|noun.BelowMended)
		goes := r.Retired || a.Index > r.Spec.Replicas
		if r.Retired {
			s.retireAgent(rm, a)
		} else {
			s.changeAgent(r, a)
		}
		if goes || n%agentsPerStep == 0 {
			s.steps--
		}
	}
	s.growRole(r)
}

// retireAgent ends an agent whose role is no longer declared.
func (s *State) retireAgent(rm *noun.Room, a *noun.Agent) {
	if rm.Deleting && a.Task != 0 {
		s.Cancel(s.TaskTable.Mut(a.Task), rm.ChangedBy, roomDeleted)
	}
	was := ShadowOf(a)
	a.Retired, a.Surplus = true, false
	s.intend(a, "its role is no longer declared")
	s.Settle(a, was)
}

// roomDeleted is why the tasks of a deleted room are canceled.
const roomDeleted = "its room was deleted"

// clearRoom cancels the tasks that wait in a room that is being deleted and, once none of its
// agents is left, removes all its tasks and the room.
func (s *State) clearRoom(rm *noun.Room) {
	agents := 0
	for _, id := range rm.Roles {
		agents += len(s.RoleTable.Get(id).Agents)
		ri := s.roleIndex(id)
		for _, q := range [...]*queue{&ri.Queued, &ri.Pending} {
			for ; q.Len() > 0; s.steps-- {
				if s.steps <= 0 {
					return
				}
				first, _ := q.Min()
				s.Cancel(s.TaskTable.Mut(first.Id), rm.ChangedBy, roomDeleted)
			}
		}
		for ; ri.Delayed.Len() > 0; s.steps-- {
			if s.steps <= 0 {
				return
			}
			first, _ := ri.Delayed.Min()
			s.Cancel(s.TaskTable.Mut(first.Id), rm.ChangedBy, roomDeleted)
		}
	}
	if agents == 0 {
		s.purge(rm)
		return
	}
	rm.Clearing = false // the last of them makes it go on
	s.clearing.Delete(rm.ID)
}

// purge removes a room of which nothing runs with all its tasks, as far as this entry may.
func (s *State) purge(rm *noun.Room) {
	for ; ; s.steps-- {
		first := noun.TaskID(0)
		take := func(id noun.TaskID) bool {
			first = id
			return false
		}
		if s.oldest(rm.ID, take); first == 0 {
			s.quarantinedOf(rm.ID)(take)
		}
		if first == 0 {
			break
		}
		if s.steps <= 0 {
			return
		}
		s.removeTask(s.TaskTable.Mut(first))
	}
	s.clearing.Delete(rm.ID)
	for _, id := range rm.Roles {
		s.forgetRole(s.RoleTable.Mut(id))
	}
	s.Event("room.deleted", About{Room: rm.ID}, "")
	delete(s.roomByName, rm.Name)
	s.roomNames.Delete(rm.Name)
	s.Hooks.RoomGoes.Call(rm.ID)
	s.roomIdx.Del(rm.ID)
	s.RoomTable.Del(rm.ID)
}

// dropRole retires a role and removes it when it has neither agents nor tasks.
func (s *State) dropRole(r *noun.Role) bool {
	s.retireRole(r)
	s.carryOut(r)
	if len(r.Agents) > 0 || s.roleIndex(r.ID).Tasks != [noun.TaskQuarantined + 1]uint32{} {
		return false
	}
	s.forgetRole(r)
	return true
}

func (s *State) forgetRole(r *noun.Role) {
	id := r.ID
	s.dropHalfOpen(r)
	delete(s.roleByName, roleKey{r.Room, r.Spec.Name})
	s.starts.Delete(id)
	s.visiting.Delete(id)
	s.withdrawing.Delete(id)
	s.RoleTable.Del(id)
	s.roleIdx.Del(id)
}
