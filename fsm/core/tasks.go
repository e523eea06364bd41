package core

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"vigil/fsm/due"
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
		s.recover(t, &ending{why: why, charge: charge, spared: spared})
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

// recover takes a task from its holder: back to who waits for one, or to an end when its limits are
// reached. While its role is half-open that costs it nothing, see Shielded. A life that the ladder ends is
// counted before.
func (s *State) recover(t *noun.Task, e *ending) {
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

// CreateTask adds a task to a role's queue.
type CreateTask struct {
	Room, Role, Title, Text, By string
	Priority                    int32
	// Expect is how long each attempt may take, MinExpect to MaxExpect; 0: what its role
	// says.
	Expect time.Duration
	// After puts it off: it is offered after so long, at most MaxAfter.
	After time.Duration
	Trace noun.Trace // of whoever creates it; empty: none
	// Key names it in its room, at most MaxTaskKey bytes: who creates a task with it again gets the one that is
	// there, as long as it is kept. Empty: each is a new one.
	Key string
}

func (c CreateTask) Apply(s *State) noun.Outcome {
	r := s.RoleByName(c.Room, c.Role)
	if no := s.taskTarget(c.Room, c.Role, r); no.Code != noun.OK {
		return no
	}
	if no := checkTask(c.Title, c.Text); no.Code != noun.OK {
		return no
	}
	if err := noun.CheckTaskKey(c.Key); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if t := s.TaskTable.Get(s.taskByKey[taskKey{r.Room, c.Key}]); t != nil {
		return c.found(r, t)
	}
	if err := noun.CheckExpect(c.Expect); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if err := noun.CheckAfter(c.After); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if err := c.Trace.Check(); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if no := s.mayAddTask(&noun.Task{Room: r.Room, Title: c.Title, Text: c.Text, Creator: c.By,
		Plan: &noun.Plan{}, Trace: c.Trace, Key: c.Key}); no.Code != noun.OK {
		return no
	}
	t := s.newTask(r, c.Title, c.Text, c.By, c.Priority, 0)
	t.Trace, t.Key = c.Trace, c.Key
	s.indexKey(t)
	if c.After > 0 {
		s.MoveUntil(t, noun.TaskQueued, s.Meta.Clock.Add(c.After))
	} else {
		s.enqueue(r, t)
	}
	t.ChangePlan(func(p *noun.Plan) { p.Expect = c.Expect })
	s.Touch(r.Room)
	return noun.Outcome{Room: r.Room, Role: r.ID, Task: t.ID, Rev: t.Rev}
}

func (v *View) taskTarget(room, role string, r *noun.Role) noun.Outcome {
	rm := v.Room(room)
	switch {
	case rm == nil:
		return v.NoRoom(room)
	case rm.Deleting:
		return Refuse(noun.Stopped, "room %q is being deleted", room)
	case r == nil || r.Retired:
		return Refuse(noun.NotFound, "room %q has no role %q", room, role)
	}
	return noun.Outcome{}
}

func checkTask(title, text string) noun.Outcome {
	switch {
	case len(title) > noun.MaxTitle:
		return Refuse(noun.Invalid, "the title has %d bytes, at most %d are allowed", len(title), noun.MaxTitle)
	case len(text) > noun.MaxTaskText:
		return Refuse(noun.Invalid,
			"the text has %d bytes, at most %d are allowed; put it into a file and name the file", len(text),
			noun.MaxTaskText)
	case !utf8.ValidString(title) || !utf8.ValidString(text):
		return Refuse(noun.Invalid, "title and text must be valid UTF-8")
	}
	return noun.Outcome{}
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

// CancelTask ends a task by a human's word (law L9). That of a QUARANTINED one decides what it has waited for: nobody
// has to die of it once more for that.
type CancelTask struct {
	Task       noun.TaskID
	IfRev      uint64
	By, Reason string
}

func (c CancelTask) Apply(s *State) noun.Outcome {
	t, no := s.changeable(c.Task, c.IfRev)
	if t == nil {
		return no
	}
	if t.State == noun.TaskCanceled {
		return noun.Outcome{Task: t.ID, Rev: t.Rev}
	}
	if t.State.Terminal() && !(t.State == noun.TaskQuarantined && s.Level() >= LevelRetry) {
		return noun.Outcome{Code: noun.Conflict, Rev: t.Rev,
			Detail: fmt.Sprintf("task %d is %s already", t.ID, t.State)}
	}
	s.Cancel(t, c.By, c.Reason)
	s.Promote(t.Role)
	s.touchTask(t)
	return noun.Outcome{Task: t.ID, Rev: t.Rev}
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

// RetryTask puts a FAILED, CANCELED or QUARANTINED task back into the queue. One that is put off,
// or waits since its role is half-open, is offered at once (law L9).
type RetryTask struct {
	Task  noun.TaskID
	IfRev uint64
	By    string
}

func (c RetryTask) Apply(s *State) noun.Outcome {
	t, no := s.changeable(c.Task, c.IfRev)
	if t == nil {
		return no
	}
	switch {
	case t.State == noun.TaskQueued && s.retries():
	case !t.State.Terminal() || t.State == noun.TaskCompleted:
		return noun.Outcome{Code: noun.Conflict, Rev: t.Rev, Detail: fmt.Sprintf(
			"task %d is %s; only FAILED, CANCELED and QUARANTINED tasks are retried, "+
				"and QUEUED ones that wait for another try", t.ID, t.State)}
	}
	return s.requeue(t, "task.retried", c.By)
}

// UnquarantineTask puts a QUARANTINED task back into the queue, its deaths forgiven.
type UnquarantineTask struct {
	Task  noun.TaskID
	IfRev uint64
	By    string
}

func (c UnquarantineTask) Apply(s *State) noun.Outcome {
	t, no := s.changeable(c.Task, c.IfRev)
	switch {
	case t == nil:
		return no
	case t.State != noun.TaskQuarantined:
		return noun.Outcome{Code: noun.Conflict, Rev: t.Rev,
			Detail: fmt.Sprintf("task %d is %s, not QUARANTINED", t.ID, t.State)}
	}
	return s.requeue(t, "task.unquarantined", c.By)
}

// requeue puts a task that has ended back into the queue; what it has cost is
// forgiven, by a human's word.
func (s *State) requeue(t *noun.Task, kind, by string) noun.Outcome {
	if s.RoleTable.Get(t.Role).Retired || s.RoomTable.Get(t.Room).Deleting {
		return Refuse(noun.Stopped, "role %s of task %d is no longer declared", s.RoleName(t.Role), t.ID)
	}
	if t.TextGone {
		return Refuse(noun.Conflict,
			"the text of task %d was dropped since its budget was full; create the task anew", t.ID)
	}
	t.Kills, t.Charged, t.Stuck, t.Result, t.Note, t.Dropped, t.Hops = 0, 0, false, "", "", 0, 0
	t.ChangeRetry(func(r *noun.Retry) { r.Row, r.Reasons, r.Lost, r.Spared, r.Limits = 0, nil, 0, 0, 0 })
	t.ChangePlan(func(p *noun.Plan) { *p = noun.Plan{Expect: p.Expect} })
	t.Pass(0, 0) // what the old attempt still says is late
	s.Event(kind, About{Task: t.ID, Room: t.Room}, "by "+Nobody(by))
	s.urge(t)
	s.touchTask(t)
	return noun.Outcome{Task: t.ID, Rev: t.Rev}
}

// changeable finds a task and compares the revision that a human has read.
func (s *State) changeable(id noun.TaskID, ifRev uint64) (*noun.Task, noun.Outcome) {
	t := s.TaskTable.Mut(id)
	switch {
	case t == nil:
		return nil, Refuse(noun.NotFound, "%s", noun.AbsentTask(id))
	case ifRev != 0 && ifRev != t.Rev:
		return nil, Changed(fmt.Sprintf("task %d", id), ifRev, t.Rev)
	}
	return t, noun.Outcome{}
}

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
