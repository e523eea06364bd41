package core

import (
	"slices"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// forget removes terminal tasks that are older or more than settings keep. One that waits for a human is none of them.
func (s *State) forget() {
	set := &s.Meta.Settings
	for range 256 + len(s.Entry.Requests) { // more than an entry can finish
		f, ok := s.Finished.Min()
		if !ok {
			return
		}
		t := s.TaskTable.Mut(f.Id)
		if uint64(s.Finished.Len()) <= set.TasksKept && s.Meta.Clock.Sub(t.FinishedAt) < set.TaskRetention {
			return
		}
		s.removeTask(t)
	}
}

func (s *State) removeTask(t *noun.Task) {
	s.Hooks.TaskGoes.Call(t)
	s.indexTask(t, -1)
	s.reviewDemand(t.Role)
	if t.State.Terminal() {
		s.Meta.TasksDone--
	}
	s.Rearm(TimerTask, uint64(t.ID), &t.Armed, due.Row{})
	if t.Key != "" {
		delete(s.taskByKey, taskKey{t.Room, t.Key})
	}
	s.TaskTable.Del(t.ID)
}

// LateKept is how a refusal says that the result is with its task all the same.
const LateKept = "kept for inspection"

// keepLate keeps a result that came too late to count, or was refused, at most the last three. It tells whether that
// is with the task now.
func (s *State) keepLate(t *noun.Task, w *Work, result string) bool {
	if !t.WasOf(noun.Held{Attempt: w.Attempt, Agent: s.agentByName[w.Agent], Inc: w.Inc}) { // law L6: not its own
		return false
	}
	late := noun.LateResult{Attempt: w.Attempt, Inc: w.Inc, Result: noun.Clip(result, noun.MaxResult), At: s.Entry.Wall}
	if slices.ContainsFunc(t.Late, func(l noun.LateResult) bool {
		return l.Attempt == late.Attempt &&
			l.Result == late.Result
	}) {
		return true
	}
	t.Late = append(slices.Clone(t.Late[max(0, len(t.Late)-noun.PastKept+1):]), late)
	if t.State.Terminal() {
		s.indexEnded(t, +1)
	}
	t.Rev = s.Meta.Index
	s.Event("task.late_result", About{Task: t.ID, Room: t.Room, attempt: w.Attempt}, LateKept)
	return true
}

// SetAside makes a task one that supervision has made for itself: it makes no room active.
func (s *State) SetAside(id noun.TaskID) {
	if _, aside := s.Aside[id]; aside {
		return
	}
	s.Aside[id] = struct{}{}
	if t := s.TaskTable.Get(id); t != nil && !t.State.Terminal() {
		if t.Delayed() {
			s.roomIndexOf(t.Room).Delayed--
		}
		if ri := s.roomIndexOf(t.Room); ri.Open == 1 {
			ri.Open = 0
			s.Hooks.RoomOpened.Call(t.Room)
		} else {
			ri.Open--
		}
	}
}

// touchTask says that something was done with a task.
func (s *State) touchTask(t *noun.Task) {
	if _, aside := s.Aside[t.ID]; !aside {
		s.Touch(t.Room)
	}
}

// openAside counts the open tasks of a role that are set aside.
func (v *View) openAside(id noun.RoleID) (n uint32) {
	for task := range v.Aside {
		if t := v.TaskTable.Get(task); t != nil && t.Role == id && !t.State.Terminal() {
			n++
		}
	}
	return n
}
