package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// attempt checks a word about a task: the incarnation is the newest and the
// attempt is the one that holds the task (law L6).
func (s *State) attempt(w *Work) (*noun.Agent, *noun.Task, noun.Outcome) {
	a, no := s.leased(&w.Speaker)
	if a == nil {
		return nil, nil, no
	}
	t := s.TaskTable.Mut(w.Task)
	if t == nil {
		return nil, nil, Refuse(noun.NotFound, "%s", noun.AbsentTask(w.Task))
	}
	if t.Holder != a.ID || t.HolderInc != a.Inc || t.Attempt != w.Attempt || a.Task != t.ID || !t.State.Held() {
		return nil, nil, s.notHeld(a, t, w)
	}
	return a, t, noun.Outcome{}
}

func (v *View) notHeld(a *noun.Agent, t *noun.Task, w *Work) noun.Outcome {
	rest := v.heldBy(t) + "; drop the work"
	own := t.Holder == a.ID && t.HolderInc == w.Inc && t.Attempt == w.Attempt
	switch {
	case own && t.State == noun.TaskCompleted:
		rest = ", by this very attempt: nothing is left to be said about it"
	case t.State == noun.TaskCompleted, t.State == noun.TaskFailed:
		rest = v.endedBy(t) + rest
	}
	return noun.Outcome{Code: noun.Superseded, Rev: t.Rev, Task: t.ID, Attempt: t.Attempt, Detail: fmt.Sprintf(
		"attempt %d of task %d by %s is over: the task is %s%s", w.Attempt, t.ID, a.Name, t.State, rest)}
}

// endedBy names the attempt with which a task ended; "" when nobody had it.
func (v *View) endedBy(t *noun.Task) string {
	a := v.AgentTable.Get(t.Holder)
	if a == nil || t.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf(" by %s (incarnation %s, attempt %d)", a.Name, t.HolderInc, t.Attempt)
}

func (v *View) worked(a *noun.Agent, t *noun.Task) noun.Outcome {
	out := a.Outcome()
	out.Task, out.Attempt, out.Rev, out.Count = t.ID, t.Attempt, t.Rev, uint32(t.State)
	return out
}

// StartTask says that work has begun.
type StartTask struct{ Work }

func (c StartTask) Apply(s *State) noun.Outcome {
	a, t, no := s.attempt(&c.Work)
	if a == nil {
		return no
	}
	s.start(a, t)
	return s.worked(a, t)
}

// start notes that work on a claimed task has begun, once.
func (s *State) start(a *noun.Agent, t *noun.Task) {
	if t.State != noun.TaskAcknowledged {
		return
	}
	t.Progress = s.Meta.Clock
	s.Event("task.started", About{Agent: a, Task: t.ID, attempt: t.Attempt}, "")
	s.Move(t, noun.TaskInProgress)
	s.touchTask(t)
}

// ProgressTask notes progress.
type ProgressTask struct {
	Work
	Note    string
	Percent noun.Percent // 0: not said
	// Expect is how long the rest takes, MinExpect to MaxExpect; 0: not said.
	Expect time.Duration
}

func (c ProgressTask) Apply(s *State) noun.Outcome {
	a, t, no := s.attempt(&c.Work)
	if a == nil {
		return no
	}
	if len(c.Note) > noun.MaxNote {
		return Refuse(noun.Invalid, "the note has %d bytes, at most %d are allowed", len(c.Note), noun.MaxNote)
	}
	if c.Percent > noun.MaxPercent {
		return Refuse(noun.Invalid, "percent is out of range, 0 to 100 is allowed")
	}
	if err := noun.CheckExpect(c.Expect); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if t.State == noun.TaskAcknowledged { // progress implies a start
		s.Event("task.started", About{Agent: a, Task: t.ID, attempt: t.Attempt}, "")
		s.Move(t, noun.TaskInProgress)
	}
	s.replan(a, t, &c)
	t.Note, t.Progress, t.Rev = c.Note, s.Meta.Clock, s.Meta.Index
	s.touchTask(t)
	return s.worked(a, t)
}

// finishing checks a completion or hand-off. It is accepted while its attempt is
// the task's last one and the task is not over, even if the lease has just ended:
// the work is done. Repeated, it is answered as the first time. Anything else is
// kept for people and refused.
func (s *State) finishing(w *Work, result string) (*noun.Agent, *noun.Task, noun.Outcome, bool) {
	t := s.TaskTable.Mut(w.Task)
	if t == nil {
		return nil, nil, Refuse(noun.NotFound, "%s", noun.AbsentTask(w.Task)), false
	}
	if len(result) > noun.MaxResult {
		return nil, nil, Refuse(noun.Invalid,
			"the result has %d bytes, at most %d are allowed; put it into a file and name the file", len(result),
			noun.MaxResult), false
	}
	a, no := s.speaker(&w.Speaker)
	if a == nil {
		if no.Code == noun.Superseded {
			no = s.keptLate(t, w, result, no)
		}
		return nil, nil, no, false
	}
	last := t.Holder == a.ID && t.HolderInc == w.Inc && t.Attempt == w.Attempt
	switch {
	case last && t.State == noun.TaskCompleted:
		return a, t, s.worked(a, t), false
	case last && !t.State.Terminal():
		return a, t, noun.Outcome{}, true
	}
	return nil, nil, s.keptLate(t, w, result, s.notHeld(a, t, w)), false
}

// keptLate keeps a result that is refused, and has the refusal say so.
func (s *State) keptLate(t *noun.Task, w *Work, result string, no noun.Outcome) noun.Outcome {
	if s.keepLate(t, w, result) && s.Level() >= LevelRetry {
		no.Detail += "; the result is " + LateKept
	}
	return no
}

// CompleteTask ends a task with a result.
type CompleteTask struct {
	Work
	Result string
	Then
}

func (c CompleteTask) Apply(s *State) noun.Outcome { return s.then(&c.Speaker, c.Then, c.end(s)) }

func (c *CompleteTask) end(s *State) noun.Outcome {
	a, t, out, ok := s.finishing(&c.Work, c.Result)
	if !ok {
		return out
	}
	s.complete(a, t, c.Result)
	return s.worked(a, t)
}

func (s *State) complete(a *noun.Agent, t *noun.Task, result string) {
	a.Done++ // before it is settled: with it the life may count as healthy
	if s.Meta.Level >= LevelRetry && a.Proc == noun.ProcRunning && a.Order == noun.NoOrder &&
		(a.Failures > 0 || a.Parked) && s.Meta.Clock.Sub(a.StartedAt) >= s.Meta.Settings.HealthyAfter {
		s.recovered(a) // now, since one that claims its next task in this entry has no other moment
	}
	s.putDown(a, t)
	s.ended(t, endDone, "")
	t.Result = result
	s.Event("task.completed", About{Agent: a, Task: t.ID, attempt: t.Attempt}, "")
	s.Move(t, noun.TaskCompleted)
	s.Promote(t.Role)
	s.touchTask(t)
}

// putDown frees the holder: it stays ACTIVE without a task until it joins again.
// Its supervisor no longer vouches for it, so one that never comes back is
// noticed: its lease ends, then the start limit.
func (s *State) putDown(a *noun.Agent, t *noun.Task) {
	if a.Task != t.ID {
		// the task was taken from it before: with it the life may count as healthy all the same
		s.Settle(a, ShadowOf(a))
		return
	}
	was := ShadowOf(a)
	a.Task, a.Since = 0, s.Meta.Clock
	s.LeaseTable.Mut(a.ID).Vouch = false
	s.Settle(a, was)
}

// Handoff completes a task and creates the next role's task, both or neither.
type Handoff struct {
	Work
	Result   string
	ToRole   string // of the same room
	Title    string
	Text     string
	Priority int32
	Then
}

func (c Handoff) Apply(s *State) noun.Outcome { return s.then(&c.Speaker, c.Then, c.end(s)) }

func (c *Handoff) end(s *State) noun.Outcome {
	room, ok := s.roomOfTask(c.Task)
	if !ok {
		return Refuse(noun.NotFound, "%s", noun.AbsentTask(c.Task))
	}
	r := s.RoleByName(room, c.ToRole)
	if no := s.taskTarget(room, c.ToRole, r); no.Code != noun.OK {
		return no
	}
	if no := checkTask(c.Title, c.Text); no.Code != noun.OK {
		return no
	}
	a, t, out, ok := s.finishing(&c.Work, c.Result)
	if !ok {
		if out.Code == noun.OK && t.Next == 0 {
			return noun.Outcome{Code: noun.Conflict, Rev: t.Rev,
				Detail: fmt.Sprintf("task %d was completed without a hand-off", t.ID)}
		}
		if out.Code == noun.OK { // a repeat: find what the first one created
			out.Task = t.Next
		}
		return out
	}
	if no := s.mayHandOn(t, &noun.Task{Room: r.Room, Title: c.Title, Text: c.Text, Creator: a.Name,
		Trace: t.Trace}); no.Code != noun.OK {
		return no // the task stays its holder's, who may complete it without a hand-off
	}
	s.complete(a, t, c.Result)
	next := s.newTask(r, c.Title, c.Text, a.Name, c.Priority, t.ID)
	t.Next, next.Trace = next.ID, t.Trace
	if s.retries() {
		next.Hops = t.Hops + 1
	}
	if limit := s.Meta.Settings.HandoffLimit; limit > 0 && next.Hops >= limit {
		s.askAboutHops(next)
	} else {
		s.enqueue(r, next)
	}
	out = s.worked(a, t)
	out.Task = next.ID
	return out
}

// askAboutHops lets a human decide about a task that roles may hand to each other for ever: each is a new task with
// attempts, kills and charges of 0, so that no other limit ends that (law L11).
func (s *State) askAboutHops(t *noun.Task) {
	t.Result = noun.HandedOn(t.Hops)
	s.Event("task.quarantined", About{Task: t.ID, Room: t.Room}, t.Result)
	s.Move(t, noun.TaskQuarantined)
	s.escalateTask(t)
}

func (v *View) roomOfTask(id noun.TaskID) (string, bool) {
	t := v.TaskTable.Get(id)
	if t == nil {
		return "", false
	}
	return v.RoomTable.Get(t.Room).Name, true
}

// FailTask ends a task with a reason; Retryable puts it back while attempts are left.
type FailTask struct {
	Work
	Reason    string
	Retryable bool
	// After is when a retryable one may be tried again, at most MaxAfter; 0: by its role's rules.
	After time.Duration
	Then
	// Result is what the attempt has made all the same; it is kept like one that came too late. Empty: nothing.
	Result string
}

func (c FailTask) Apply(s *State) noun.Outcome { return s.then(&c.Speaker, c.Then, c.end(s)) }

func (c *FailTask) end(s *State) noun.Outcome {
	if len(c.Reason) > noun.MaxReason {
		return Refuse(noun.Invalid, "the reason has %d bytes, at most %d are allowed", len(c.Reason), noun.MaxReason)
	}
	if len(c.Result) > noun.MaxResult {
		return Refuse(noun.Invalid, "the result has %d bytes, at most %d are allowed", len(c.Result), noun.MaxResult)
	}
	if err := noun.CheckAfter(c.After); err != nil {
		return Refuse(noun.Invalid, "%v", err)
	}
	if t := s.TaskTable.Mut(c.Task); t != nil && t.State == noun.TaskFailed && t.Attempt == c.Attempt &&
		t.HolderInc == c.Inc {
		if a, no := s.speaker(&c.Speaker); a == nil {
			return no
		} else if a.ID == t.Holder {
			return s.worked(a, t)
		}
	}
	a, t, no := s.attempt(&c.Work)
	if a == nil {
		late := s.TaskTable.Mut(c.Task)
		if late != nil && c.Result != "" && (no.Code == noun.Superseded || no.Code == noun.Rejoin) {
			s.keepLate(late, &c.Work, c.Result) // as that of a completion which comes too late
		}
		return no
	}
	if c.Result != "" {
		s.keepLate(t, &c.Work, c.Result)
	}
	s.putDown(a, t)
	s.touchTask(t)
	if c.Retryable {
		s.takeBack(t, &ending{why: "its holder gave it back", charge: true, gaveBack: true, reason: c.Reason,
			after: c.After})
		return s.worked(a, t)
	}
	s.ended(t, endFinal, "its holder said that it cannot be done")
	t.Result = c.Reason
	s.Event("task.failed", About{Agent: a, Task: t.ID, attempt: t.Attempt}, "its holder said so")
	s.Move(t, noun.TaskFailed)
	s.Promote(t.Role)
	return s.worked(a, t)
}
