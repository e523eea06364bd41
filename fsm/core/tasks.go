package core

import (
	"fmt"

	"vigil/fsm/noun"
)

// indexTask adds or takes away a task's share of the indexes.
func (s *State) indexTask(t *noun.Task, by int) {
	ri := s.roleIndexOf(t.Role)
	ri.Tasks[t.State] += uint32(by)
	s.taskCount[t.State] += uint64(by)
	if _, aside := s.Aside[t.ID]; !aside && !t.State.Terminal() {
		s.roomIndexOf(t.Room).Open += uint32(by)
	}
	q := Queued{t.Priority, t.ID, t.ChangedAt}
	switch {
	case t.Delayed() && by > 0:
		ri.Delayed.put(t)
		s.countDelayed(t, by)
	case t.Delayed():
		ri.Delayed.Delete(DelayedTask{t.Retry.NotBefore, t.ID})
		s.countDelayed(t, by)
	case t.State == noun.TaskQueued && by > 0:
		ri.Queued.add(q)
	case t.State == noun.TaskQueued:
		ri.Queued.Delete(q)
	case t.State == noun.TaskPending && by > 0:
		ri.Pending.add(q)
		s.offers(t.Role, ri.Tasks[noun.TaskPending])
	case t.State == noun.TaskPending:
		ri.Pending.Delete(q)
		s.offers(t.Role, ri.Tasks[noun.TaskPending])
	case t.State.Terminal():
		s.indexEnded(t, by)
	}
	if t.State == noun.TaskQuarantined {
		s.roomIndexOf(t.Room).quarantined += uint32(by)
	}
}

// Move is the only way by which a task changes its state. It is put off no more.
func (s *State) Move(t *noun.Task, to noun.TaskState) { s.MoveUntil(t, to, 0) }

// MoveUntil is Move, and with QUEUED the task is put off until then; 0: it is not.
func (s *State) MoveUntil(t *noun.Task, to noun.TaskState, notBefore noun.Time) {
	s.Weigh(weightOfMove)
	from, active := t.State, s.RoomIndex(t.Room).Open > 0
	since := s.roleIndexOf(t.Role).waits(t)
	if from != 0 {
		s.indexTask(t, -1)
	}
	if from.Terminal() {
		s.Meta.TasksDone--
		t.Swept = false
	}
	if t.Retried().NotBefore != notBefore {
		t.ChangeRetry(func(r *noun.Retry) { r.NotBefore = notBefore })
	}
	t.State, t.ChangedAt, t.Rev = to, s.Meta.Clock, s.Meta.Index
	if to.Terminal() {
		s.Meta.FinishSeq++
		s.Meta.TasksDone++
		t.FinishSeq, t.FinishedAt = s.Meta.FinishSeq, s.Meta.Clock
	}
	s.indexTask(t, +1)
	switch {
	case from == noun.TaskQueued && to == noun.TaskPending:
		s.roleIndexOf(t.Role).Pending.Set(Queued{t.Priority, t.ID, since})
	case to == noun.TaskAcknowledged:
		s.Tally.waited(t.ChangedAt - since)
	}
	s.Rearm(TimerTask, uint64(t.ID), &t.Armed, s.TaskRow(t))
	if active != (s.RoomIndex(t.Room).Open > 0) {
		s.Hooks.RoomOpened.Call(t.Room)
	}
	if to == noun.TaskPending {
		s.Result.Effects.Claimable = append(s.Result.Effects.Claimable, t.Role)
	}
	if (to == noun.TaskPending) != (from == noun.TaskPending) {
		s.reviewDemand(t.Role)
	}
	s.followProbe(t, from)
	s.Hooks.TaskMoved.Call(TaskMove{t, from})
}

// hostHolding is the host of the agent that holds a task; 0: none.
func (v *View) hostHolding(t *noun.Task) noun.HostID {
	if a := v.AgentTable.Get(t.Holder); a != nil && a.Task == t.ID {
		return a.Host
	}
	return 0
}

func (s *State) fireTask(id noun.TaskID) {
	t := s.TaskTable.Mut(id)
	if t == nil {
		return
	}
	t.Armed = 0
	row := s.taskAway(t)
	if !row.Due(s.Meta.Clock) {
		s.Rearm(TimerTask, uint64(id), &t.Armed, row)
		return
	}
	switch row.Kind {
	case KindRetry:
		s.undelay(t)
	case KindPending: // said once; who serves the role is restarted by its own rules
		s.Event("task.overdue", About{Task: id, Room: t.Room}, "nobody has claimed it within the pending limit")
	case KindAck, KindProgress:
		why := "was claimed but not started within the acknowledgement limit"
		if row.Kind == KindProgress {
			why = "showed no progress within the progress limit"
		}
		charge, spared := true, false
		if a := s.AgentTable.Mut(t.Holder); a != nil && a.Task == id {
			charge = !s.fenceOver(a)
			spared = charge && s.acquit(a)
			was := ShadowOf(a)
			s.takeUntold(a, true)
			s.Settle(a, was)
		}
		s.takeBack(t, &ending{why: why, charge: charge, spared: spared})
	}
}

// takeTask takes the task from an agent that stays where it is. Its supervisor no longer
// vouches for it. The time is kept: what waits since before has not waited for
// it.
func (s *State) takeTask(a *noun.Agent) {
	a.Task = 0
	s.LeaseTable.Mut(a.ID).Vouch = false
	a.TaskSince = s.Meta.Clock
}

// takeUntold is takeTask from who does not know of it. A life that uses vigil hears so with its next word. One that
// runs a program in its place does not, and works on at what somebody else may have by now; so it comes to its end by
// itself, or at its start limit, whatever signs of work it gives. late: a limit of the task is over.
func (s *State) takeUntold(a *noun.Agent, late bool) {
	s.takeTask(a)
	if a.Managed && s.Level() >= LevelRetry {
		a.Note(func(n *noun.Notes) { n.Taken, n.Late = true, late })
	}
}

// takeBack takes a task from its holder: back to who waits for one, or to an end when its limits are
// reached. While its role is half-open that costs it nothing, see Shielded. A life that the ladder ends is
// counted before.
func (s *State) takeBack(t *noun.Task, e *ending) {
	// it has got on, however the attempt ended
	if x := t.Retried(); t.Progress > t.ChangedAt && (x.Lost > 0 || x.Limits > 0) {
		t.ChangeRetry(func(r *noun.Retry) { r.Lost, r.Limits = 0, 0 })
	}
	if e.failed() {
		s.ended(t, endFailed, e.why)
		s.noteFailure(t, e)
	}
	spec, shielded := &s.RoleTable.Get(t.Role).Spec, s.Shielded(t)
	counts := !shielded && !e.trial && !e.spared
	if e.charge && counts {
		t.Charged++
	}
	if e.killed && counts {
		t.Kills++
	}
	a := s.AgentTable.Mut(t.Holder)
	deadly, failed := t.Kills >= spec.KillLimit && spec.KillLimit > 0, t.Charged >= spec.AttemptLimit &&
		spec.AttemptLimit > 0
	lost := t.Retried().Lost
	sinks := spec.KillLimit > 0 && uint64(lost) >= lostPerKill*uint64(spec.KillLimit)
	switch {
	case sinks && !deadly:
		deadly = true
		t.Result = fmt.Sprintf("%d incarnations in a row were lost with their host or its agentd, left their room, "+
			"or died at the trial of a parked agent, while they held it and had not got on with it", lost)
	case deadly:
		t.Result = fmt.Sprintf("%d incarnations died or had to be ended while they held it", t.Kills)
	case failed:
		t.Result = fmt.Sprintf("attempt limit of %d reached: %s", spec.AttemptLimit, e.why)
	}
	switch {
	case deadly || failed && t.Stuck:
		s.Event("task.quarantined", About{Agent: a, Task: t.ID, attempt: t.Attempt}, t.Result)
		s.Move(t, noun.TaskQuarantined)
		s.escalateTask(t)
	case failed:
		s.Event("task.failed", About{Agent: a, Task: t.ID, attempt: t.Attempt}, t.Result)
		s.Move(t, noun.TaskFailed)
	default:
		s.Event("task.recovered", About{Agent: a, Task: t.ID, attempt: t.Attempt}, e.why)
		s.Tally.Recovered++
		s.again(t, e)
		return
	}
	s.Promote(t.Role)
}

// noteFailure remembers why an attempt failed.
func (s *State) noteFailure(t *noun.Task, e *ending) {
	if !s.retries() {
		return
	}
	text := e.reason
	if text == "" {
		text = e.why
	}
	t.NoteFailure(text, s.Entry.Wall)
}

// Promote keeps as many tasks of a role PENDING as it has replicas: highest
// priority first, then oldest. Of a half-open role it offers what may be tried. What is offered and less urgent than
// what waits, since it has come back or was tried, makes room: urgent work would wait for the whole of it.
func (s *State) Promote(id noun.RoleID) {
	r, ri := s.RoleTable.Mut(id), s.roleIndexOf(id)
	if _, later := s.growing.Get(id); later || r.Below != 0 {
		s.reviewGrowth(r) // in steps; or nothing is left to offer
		return
	}
	for s.promotable(r, ri) {
		s.promoteOne(r, ri)
	}
	for s.disordered(r, ri) {
		s.swapOne(ri)
	}
}

func (s *State) AddTask(r *noun.Role, title, text, by string, prio int32, parent noun.TaskID) *noun.Task {
	t := s.newTask(r, title, text, by, prio, parent)
	s.enqueue(r, t)
	return t
}

// newTask makes a task without a state; the caller gives it one.
func (s *State) newTask(r *noun.Role, title, text, by string, prio int32, parent noun.TaskID) *noun.Task {
	id := s.Meta.NextTask
	s.Meta.NextTask++
	t := s.TaskTable.Put(id)
	t.ID, t.Room, t.Role, t.Priority, t.Parent = id, r.Room, r.ID, prio, parent
	t.Title, t.Text, t.Creator, t.CreatedAt = title, text, by, s.Entry.Wall
	s.Event("task.created", About{Task: id, Room: r.Room}, r.Spec.Name)
	return t
}

// enqueue gives a new task its place.
func (s *State) enqueue(r *noun.Role, t *noun.Task) {
	if r.Half == nil && s.roleIndex(r.ID).Tasks[noun.TaskPending] < max(r.Spec.Replicas, 1) {
		s.Move(t, noun.TaskPending)
		return
	}
	s.Move(t, noun.TaskQueued)
	s.Promote(r.ID)
}

func (s *State) Cancel(t *noun.Task, by, reason string) {
	s.takeFromHolder(t)
	s.Event("task.canceled", About{Task: t.ID, Room: t.Room}, "by "+Nobody(by))
	s.CancelUntold(t, reason)
}

// CancelUntold is Cancel without an event.
func (s *State) CancelUntold(t *noun.Task, reason string) {
	s.takeFromHolder(t)
	t.Result = noun.Clip(reason, noun.MaxReason)
	t.ChangeRetry(func(r *noun.Retry) { r.ResultDropped = 0 })
	s.Move(t, noun.TaskCanceled)
}

// takeFromHolder takes a task that is canceled from who holds it.
func (s *State) takeFromHolder(t *noun.Task) {
	if t.State.Held() {
		if a := s.AgentTable.Mut(t.Holder); a != nil && a.Task == t.ID {
			was := ShadowOf(a)
			s.takeUntold(a, false)
			s.Settle(a, was)
		}
	}
}

// Touch says that something was done or said in a room.
func (s *State) Touch(id noun.RoomID) { s.Hooks.RoomTouched.Call(id) }

// offers keeps the roles with claimable tasks, after a change of their number.
func (s *State) offers(r noun.RoleID, pending uint32) {
	if pending > 0 {
		s.Offered.Set(r)
	} else {
		s.Offered.Delete(r)
	}
}
