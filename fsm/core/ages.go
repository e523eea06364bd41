package core

import (
	"slices"

	"vigil/fsm/noun"
)

// What one role costs a look for its oldest tasks.
const (
	ageLook       = 64 // claimable tasks that are looked at
	agePriorities = 16 // of queued tasks: of each the first
)

// WaitedBounds are the upper bounds, in seconds, of Figures.Waited; its last count has none.
var WaitedBounds = [...]float64{0.1, 1, 10, 60, 300, 1800, 7200, 28800, 86400}

// waited notes for how long a task that is claimed now was in its role's queue.
func (f *Figures) waited(t noun.Time) {
	seconds := float64(t) / 1e9
	at, _ := slices.BinarySearch(WaitedBounds[:], seconds)
	f.Waited[at]++
	f.WaitedSum += t
}

// TaskAge is how long the oldest task of a role is in its state.
type TaskAge struct {
	Role  noun.RoleID
	State noun.TaskState
	Since noun.Time // cluster time
}

// TaskAges tells since when the oldest open tasks are in their states, at most one for a role and
// a state, in no order, and how many tasks have passed their expected completion. Of tasks that wait
// it sees the first of each priority, which is the oldest of it unless a task came back. It costs a
// walk over the roles with waiting tasks and the agents at work.
func (v *View) TaskAges() (ages []TaskAge, overdue int) {
	type key struct {
		role  noun.RoleID
		state noun.TaskState
	}
	oldest := map[key]noun.Time{}
	note := func(role noun.RoleID, state noun.TaskState, since noun.Time) {
		k := key{role, state}
		if was, ok := oldest[k]; !ok || since < was {
			oldest[k] = since
		}
	}
	v.Offered.Scan(func(id noun.RoleID) bool {
		ri := v.RoleIdx.Get(id)
		looked := 0
		ri.Pending.Scan(func(q Queued) bool {
			note(id, noun.TaskPending, q.since)
			looked++
			return looked < ageLook
		})
		ri.eachPriority(func(q Queued) { note(id, noun.TaskQueued, q.since) })
		return true
	})
	if v.AtWork.BTreeG != nil {
		v.AtWork.Scan(func(id noun.AgentID) bool {
			t := v.TaskTable.Get(v.AgentTable.Get(id).Task)
			note(t.Role, t.State, t.ChangedAt)
			if p := t.Planned(); p.Passed(v.Meta.Clock) {
				overdue++
			}
			return true
		})
	}
	for k, since := range oldest {
		ages = append(ages, TaskAge{k.role, k.state, since})
	}
	return ages, overdue
}

// eachPriority gives the first queued task of each of the highest priorities.
func (ri *roleIndex) eachPriority(fn func(Queued)) {
	if ri.Queued.Len() == 0 {
		return
	}
	q, ok := ri.Queued.Min()
	for n := 0; ok && n < agePriorities; n++ {
		fn(q)
		next := Queued{prio: q.prio, Id: ^noun.TaskID(0)}
		ok = false
		ri.Queued.Ascend(next, func(x Queued) bool {
			q, ok = x, true
			return false
		})
	}
}

// RoomLoad is a room with its open tasks.
type RoomLoad struct {
	Room noun.RoomID
	Open uint32
}

// BusiestRooms lists the rooms with the most open tasks, at most so many, the first by number where
// they have equally many. It costs a walk over the rooms.
func (v *View) BusiestRooms(most int) (list []RoomLoad) {
	for id, ri := range v.roomIdx.From(0) {
		if ri.Open == 0 || len(list) == most && ri.Open <= list[most-1].Open {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, ri.Open, func(x RoomLoad, open uint32) int {
			if x.Open >= open {
				return -1
			}
			return 1
		})
		list = slices.Insert(list, at, RoomLoad{id, ri.Open})
		list = list[:min(len(list), most)]
	}
	return list
}
