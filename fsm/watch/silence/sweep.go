package silence

import (
	"fmt"
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// A room with more open tasks than an entry has steps is canceled by several: those that agents hold
// first, then those that wait. In the entry of the cancellation it counts as canceled, and none of its
// tasks is offered any more that was not; what somebody does with one of them after that entry is a word
// that beats the plan, and the task stays (law L4). What is put off stays, too, unless a deadline cancels the room.
// It is reopened in the same way.

// toldPerSweep is how many tasks that nobody has ever claimed have an event of their own in one sweep; one event
// counts the others. So it does not push the history of the whole fleet out.
const toldPerSweep = 4096

// sweepPlace is how far a sweep has come: all before it stay. It is derived, and only saves looking at
// these again: it is no step, so a state that was restored, and looks at them once more, goes on the same.
type sweepPlace struct {
	rev         uint64 // of the room: under another one it may have other roles
	role, stage int
	agent       noun.AgentID
	queued      core.Queued
	delayed     core.DelayedTask
	begun       bool // the stage: the one looked at last is set
}

// Stages of a role.
const (
	sweepHeld = iota
	sweepPending
	sweepQueued
	sweepDelayed
	sweepStages
)

// inSteps tells whether so many tasks are for several entries. It came with a feature level.
func (v *View) inSteps(tasks uint32) bool {
	return v.Meta.Level >= core.LevelRetry && tasks > noun.StepsPerEntry
}

// beginSweep has so many open tasks of a room canceled from this entry on.
func (s *State) beginSweep(rm *noun.Room, x *noun.Cancellation, open uint32) {
	x.Tasks, x.Swept = open, true
	for _, id := range rm.Roles {
		r, ri := s.RoleTable.Get(id), s.RoleIdx.Get(id)
		n := ri.Tasks[noun.TaskQueued] + ri.Tasks[noun.TaskPending] + ri.Tasks[noun.TaskAcknowledged] +
			ri.Tasks[noun.TaskInProgress]
		if s.sparesDelayed(x) {
			n -= uint32(ri.Delayed.Len())
		}
		if n > 0 {
			x.Roles = named(x.Roles, r.Spec.Name)
		}
	}
	for _, id := range s.heldTasksOf(rm) {
		if a := s.AgentTable.Get(s.TaskTable.Get(id).Holder); a != nil {
			x.Hosts = named(x.Hosts, s.HostNameOf(a))
		}
	}
	s.setSweep(rm, &noun.Sweep{Index: s.Meta.Index})
}

func (s *State) setSweep(rm *noun.Room, w *noun.Sweep) {
	rm.Sweep = w
	s.sweeping.Set(rm.ID)
	s.silenceOf(rm.ID).sweep = sweepPlace{}
	s.ReviewOffers(rm)
	s.placeRoom(rm)
}

// dropSweep leaves the tasks of a room that is being deleted to that.
func (s *State) dropSweep(rm *noun.Room) {
	if rm.Deleting && rm.Sweep != nil {
		s.RoomTable.Mut(rm.ID).Sweep = nil
		s.sweeping.Delete(rm.ID)
	}
}

// sweepRooms goes on with rooms as far as this entry may.
func (s *State) sweepRooms(struct{}) {
	for s.StepsLeft() {
		id, any := s.sweeping.Min()
		if !any {
			return
		}
		rm := s.RoomTable.Mut(id)
		w := *rm.Sweep
		over := false
		if w.Back {
			over = s.bringBack(rm, &w)
		} else {
			over = s.cancelOpen(rm, &w)
		}
		if rm = s.RoomTable.Mut(id); over {
			s.endSweep(rm, &w)
		} else {
			rm.Sweep = &w
		}
	}
}

// cancelOpen cancels open tasks; true: none is left.
func (s *State) cancelOpen(rm *noun.Room, w *noun.Sweep) bool {
	why := rm.Canceled.TaskReason()
	for {
		id := s.nextOpen(rm, w)
		if id == 0 {
			return true
		}
		if !s.StepsLeft() {
			return false
		}
		s.Step()
		t := s.TaskTable.Mut(id)
		s.cancelTask(t, why, s.tells(t, w))
		t.Swept = true
	}
}

// tells counts a task, and says whether it has an event of its own.
func (s *State) tells(t *noun.Task, w *noun.Sweep) bool {
	w.Done++
	if t.Attempt > 0 || w.Done-w.Untold <= toldPerSweep {
		return true
	}
	w.Untold++
	return false
}

// nextOpen is the next task that is to be canceled, 0: there is none. Those that were changed since the
// cancellation are not, nor those that supervision has made for itself, which end by themselves.
func (s *State) nextOpen(rm *noun.Room, w *noun.Sweep) (found noun.TaskID) {
	p := &s.silenceOf(rm.ID).sweep
	if p.rev != rm.Rev {
		*p = sweepPlace{rev: rm.Rev}
	}
	meant := func(id noun.TaskID) bool {
		if _, aside := s.Aside[id]; !aside && s.TaskTable.Get(id).Rev < w.Index {
			found = id
		}
		return found != 0
	}
	stages := sweepStages
	if s.sparesDelayed(rm.Canceled) {
		stages = sweepDelayed
	}
	for ; p.stage < stages; *p = (sweepPlace{rev: p.rev, stage: p.stage + 1}) {
		for ; p.role < len(rm.Roles); *p = (sweepPlace{rev: p.rev, stage: p.stage, role: p.role + 1}) {
			if s.lookOn(p, rm.Roles[p.role], meant); found != 0 {
				return found
			}
		}
	}
	return 0
}

// lookOn goes on with one stage of a role until a task is meant.
func (s *State) lookOn(p *sweepPlace, role noun.RoleID, meant func(noun.TaskID) bool) {
	ri := s.RoleIdx.Get(role)
	waits := func(q core.Queued) bool {
		if meant(q.Id) {
			return false
		}
		p.queued, p.begun = q, true
		return true
	}
	switch p.stage {
	case sweepHeld:
		if ri.Tasks[noun.TaskAcknowledged]+ri.Tasks[noun.TaskInProgress] == 0 {
			return
		}
		list := s.RoleTable.Get(role).Agents
		at, _ := slices.BinarySearch(list, p.agent)
		for _, id := range list[at:] {
			p.agent = id
			if a := s.AgentTable.Get(id); a.Task != 0 && meant(a.Task) {
				return
			}
		}
	case sweepPending, sweepQueued:
		queue := ri.Pending
		if p.stage == sweepQueued {
			queue = ri.Queued
		}
		switch {
		case queue.Len() == 0:
		case p.begun:
			queue.Ascend(p.queued, waits)
		default:
			queue.Scan(waits)
		}
	case sweepDelayed:
		later := func(d core.DelayedTask) bool {
			if meant(d.Id) {
				return false
			}
			p.delayed, p.begun = d, true
			return true
		}
		switch {
		case ri.Delayed.Len() == 0:
		case p.begun:
			ri.Delayed.Ascend(p.delayed, later)
		default:
			ri.Delayed.Scan(later)
		}
	}
}

// bringBack brings canceled tasks back; true: all are.
func (s *State) bringBack(rm *noun.Room, w *noun.Sweep) bool {
	for {
		id := noun.TaskID(0)
		s.Finished.Ascend(core.FinishedTask{Seq: w.Next}, func(f core.FinishedTask) bool {
			if f.Seq > w.Last {
				return false
			}
			if w.Next = f.Seq; s.comesBack(rm, f.Id, w.Swept) {
				id = f.Id
				return false
			}
			w.Next++
			return true
		})
		if id == 0 {
			return true
		}
		if !s.StepsLeft() {
			return false
		}
		s.Step()
		w.Next++
		t := s.TaskTable.Mut(id)
		s.reopen(t, w.By, s.tells(t, w))
	}
}

// comesBack tells whether a task that has ended is one that the last cancellation of the room has canceled. One
// whose text was dropped for want of space stays canceled: nobody could do it.
func (v *View) comesBack(rm *noun.Room, id noun.TaskID, swept bool) bool {
	t := v.TaskTable.Get(id)
	return t.Room == rm.ID && t.State == noun.TaskCanceled && (t.Swept || !swept) &&
		!v.RoleTable.Get(t.Role).Retired && !(t.TextGone && v.Level() >= core.LevelRetry)
}

// recordAgain has the history of the watchdog tell how a cancellation ended that it knows from its beginning.
func (s *State) recordAgain(x *noun.Cancellation) {
	h := slices.Clone(s.Meta.Watchdog.History)
	for i := range h {
		if h[i].Room == x.Room && h[i].At == x.At && h[i].First == x.First {
			h[i] = *x
			s.Meta.Watchdog.History = h
		}
	}
}

// endSweep says what became of the tasks of a room, and offers what is left of them.
func (s *State) endSweep(rm *noun.Room, w *noun.Sweep) {
	rm.Sweep = nil
	s.sweeping.Delete(rm.ID)
	what := "back"
	if !w.Back {
		what = "canceled"
		x := *rm.Canceled
		x.Last, x.Tasks = s.Meta.FinishSeq, w.Done
		rm.Canceled = &x
		s.recordAgain(&x)
	}
	if w.Untold > 0 {
		s.Event("room.swept", core.About{Room: rm.ID}, fmt.Sprintf("%s %s, %d of them without an event of their own",
			noun.Plural(w.Done, "task is", "tasks are"), what, w.Untold))
	}
	if s.placeRoom(rm); w.Back {
		return
	}
	s.ReviewOffers(rm)
	if x := s.RoomIndex(rm.ID); x.Open > x.Delayed { // what came in the meantime: its silence begins here
		s.openRoom(rm.ID)
	}
}
