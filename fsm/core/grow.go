package core

import (
	"slices"

	"vigil/fsm/noun"
)

// How a role gets the agents that are declared and not there yet. A human's word holds at once:
// the role has its spec from the entry of the word on, and the agents that it has go on. What
// there is to do for each of them, and those to create, takes steps as in clear.go: no entry is
// long, whatever was declared. What is left stands in the state: Role.Below for agents that were
// not looked at yet, and the replicas without an agent. So another word about the room, its
// deletion or a restore in between needs nothing of its own.

const (
	// agentsPerStep is how many agents one step changes that stay, or creates: this takes a
	// quarter of the time that it takes to remove one.
	agentsPerStep = 4
	// stepsPerWord is what each word about a room may take in its own entry, whatever else is
	// worked off there: who declares a small room finds it complete in the next entry.
	stepsPerWord = 16
)

// missing are the replicas of the role that have no agent, in order.
func (v *View) missing(r *noun.Role) (list []uint32) {
	if r.Retired {
		return nil
	}
	return v.without(r.Agents, r.Spec.Replicas)
}

// without are the replicas that none of the agents is.
func (v *View) without(agents []noun.AgentID, replicas uint32) (list []uint32) {
	there := make([]bool, replicas+1)
	left := replicas
	for _, id := range agents {
		if a := v.AgentTable.Get(id); a.Index <= replicas {
			there[a.Index] = true
			left--
		}
	}
	list = make([]uint32, 0, left)
	for i := uint32(1); i <= replicas; i++ {
		if !there[i] {
			list = append(list, i)
		}
	}
	return list
}

// costOfMissing is what agents will cost that are to be created. It is charged from the word on:
// two words cannot both be promised what only one of them can have.
func (v *View) costOfMissing(r *noun.Role, indexes ...uint32) (bytes int64) {
	room := v.RoomTable.Get(r.Room)
	for _, index := range indexes {
		bytes += noun.CostAgent + noun.CostText + nameBytes(room.Name, r.Spec.Name, index)
	}
	return bytes
}

// promise counts the replicas without an agent, after a word about the role.
func (s *State) promise(r *noun.Role) {
	ri := s.roleIndexOf(r.ID)
	s.promised -= len(ri.missing)
	s.Ledger.charge(noun.ForAgents, r.Room, -s.costOfMissing(r, ri.missing...))
	ri.missing = s.missing(r)
	s.promised += len(ri.missing)
	s.Ledger.charge(noun.ForAgents, r.Room, s.costOfMissing(r, ri.missing...))
	s.reviewGrowth(r)
}

// lack notes that an agent was removed which has been declared again meanwhile.
func (s *State) lack(r *noun.Role, index uint32) {
	if r.Retired || index > r.Spec.Replicas {
		return
	}
	ri := s.roleIndexOf(r.ID)
	at, _ := slices.BinarySearch(ri.missing, index)
	ri.missing = slices.Insert(ri.missing, at, index)
	s.promised++
	s.Ledger.charge(noun.ForAgents, r.Room, s.costOfMissing(r, index))
	s.reviewGrowth(r)
}

// reviewGrowth puts a role among those that grow, or takes it out.
func (s *State) reviewGrowth(r *noun.Role) {
	if s.grows(r) {
		s.growing.Set(r.ID)
	} else {
		s.growing.Delete(r.ID)
	}
}

// grows tells that agents of the role are to be created, or more of its tasks to be offered, or others. Those of
// a half-open role are few and follow time.
func (v *View) grows(r *noun.Role) bool {
	ri := v.roleIndex(r.ID)
	return !r.Retired && r.Below == 0 && (len(ri.missing) > 0 || r.Half == nil && v.promotable(r, ri) ||
		v.disordered(r, ri))
}

// growRole creates agents of a role, and offers as many of its tasks as it has replicas, the most urgent ones.
func (s *State) growRole(r *noun.Role) {
	rm, ri := s.RoomTable.Get(r.Room), s.roleIndexOf(r.ID)
	for n := 1; s.steps > 0 && s.grows(r); n++ {
		switch {
		case len(ri.missing) > 0:
			index := ri.missing[0]
			ri.missing = ri.missing[1:]
			s.promised--
			s.Ledger.charge(noun.ForAgents, r.Room, -s.costOfMissing(r, index))
			s.addAgent(rm, r, index)
		case s.promotable(r, ri):
			s.promoteOne(r, ri)
		default:
			s.swapOne(ri)
		}
		if n%agentsPerStep == 0 {
			s.steps--
		}
	}
	if s.reviewGrowth(r); r.Half != nil {
		s.Promote(r.ID)
	}
}

// Unfinished counts the agents of a room that are to be created, or on which the last word
// about it still has to be carried out. An agent that goes does not count.
func (v *View) Unfinished(rm *noun.Room) (n int) {
	for _, id := range rm.Roles {
		r := v.RoleTable.Get(id)
		if r == nil || r.Retired {
			continue
		}
		at, _ := slices.BinarySearch(r.Agents, r.Before())
		n += at + len(v.roleIndex(id).missing)
	}
	return n
}

// promotable tells that a waiting task of the role is to be offered.
func (v *View) promotable(r *noun.Role, ri *roleIndex) bool {
	switch {
	case ri.Queued.Len() == 0 || v.RoomTable.Get(r.Room).Sweep.Cancels():
		return false
	case r.Half != nil:
		return r.Half.Next <= v.Meta.Clock && r.Half.Probing() < r.Half.Allowed
	}
	return ri.Tasks[noun.TaskPending] < max(r.Spec.Replicas, 1)
}

// disordered tells that a task of the role waits that is more urgent than one which is offered and which nobody has
// claimed. A half-open role chooses by itself what it tries.
func (v *View) disordered(r *noun.Role, ri *roleIndex) bool {
	if r.Half != nil || !v.retries() || ri.Queued.Len() == 0 || ri.Pending.Len() == 0 ||
		v.RoomTable.Get(r.Room).Sweep.Cancels() {
		return false
	}
	first, _ := ri.Queued.Min()
	last, _ := ri.Pending.Max()
	return first.prio > last.prio
}

// swapOne offers the first task of the queue in the place of the last one that is offered, which keeps its place in
// the queue.
func (s *State) swapOne(ri *roleIndex) {
	first, _ := ri.Queued.Min()
	last, _ := ri.Pending.Max()
	s.Move(s.TaskTable.Mut(last.Id), noun.TaskQueued)
	ri.Queued.Set(last)
	s.Move(s.TaskTable.Mut(first.Id), noun.TaskPending)
}

// ReviewOffers follows the begin and the end of a sweep that cancels the tasks of a room: none is offered meanwhile.
func (s *State) ReviewOffers(rm *noun.Room) {
	for _, id := range rm.Roles {
		s.reviewGrowth(s.RoleTable.Get(id))
		s.Promote(id)
	}
}

func (s *State) promoteOne(r *noun.Role, ri *roleIndex) {
	q, _ := ri.Queued.Min()
	if r.Half != nil {
		q = nextProbe(r, ri)
	}
	s.Move(s.TaskTable.Mut(q.Id), noun.TaskPending)
}
