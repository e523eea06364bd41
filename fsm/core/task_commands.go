package core

import (
	"fmt"
	"time"
	"unicode/utf8"

	"vigil/fsm/noun"
)

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
		key := ""
		if t.Key != "" { // who creates it with this one gets this task again
			key = fmt.Sprintf(" under another key than %q", t.Key)
		}
		return Refuse(noun.Conflict,
			"the text of task %d was dropped since its budget was full; create the task anew%s", t.ID, key)
	}
	t.Kills, t.Charged, t.Stuck, t.Result, t.Note, t.Dropped, t.Hops = 0, 0, false, "", "", 0, 0
	t.ChangeRetry(func(r *noun.Retry) { *r = noun.Retry{NotBefore: r.NotBefore} })
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
