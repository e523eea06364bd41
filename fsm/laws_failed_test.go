package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// failing is a room whose roles a and b fail what they get.
type failing struct {
	*drive
	me map[string]Speaker
}

func newFailing(t *testing.T, level uint32) *failing {
	d := newDrive(t)
	if level > Baseline {
		d.must(RaiseLevel{Level: level})
	}
	d.room("r", noun.RoleSpec{Name: "a"}, noun.RoleSpec{Name: "b"}, noun.RoleSpec{Name: "once", AttemptLimit: 1})
	return &failing{d, map[string]Speaker{"a": d.hand("r/a"), "b": d.hand("r/b"), "once": d.hand("r/once")}}
}

// fails makes a task of the role that FAILED for good.
func (x *failing) fails(role, result string) noun.TaskID {
	x.t.Helper()
	id := x.must(CreateTask{Room: "r", Role: role, Title: "t", By: "ann"}).Task
	x.claimed(role, id, FailTask{Reason: "no such branch", Result: result})
	return id
}

// claimed has the role's agent claim a task and end it.
func (x *failing) claimed(role string, id noun.TaskID, end FailTask) {
	x.t.Helper()
	x.must(Join{Speaker: x.me[role]})
	out := x.must(Claim{Speaker: x.me[role]})
	if out.Task != id {
		x.t.Fatalf("it got task %d, want %d", out.Task, id)
	}
	end.Work = Work{Speaker: x.me[role], Task: id, Attempt: out.Attempt}
	x.must(end)
}

// told gives the escalation about failed tasks of a role, and how many there are.
func (x *failing) told(role string) (e *noun.Escalation, n int) {
	for k := range x.s.Escalations(0) {
		if k.Kind == noun.EscTaskFailed && k.Subject == "r/"+role {
			e, n = k, n+1
		}
	}
	return e, n
}

// L3: a task that FAILED calls a human, and a thousand of a role are one escalation, which names the newest.
func TestL3FailedTasksCallAHumanOncePerRole(t *testing.T) {
	x := newFailing(t, core.LevelRetry)
	x.must(PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}}) // else the role half-opens
	var last noun.TaskID
	for range 1000 {
		last = x.fails("a", "")
	}
	x.fails("b", "")
	e, n := x.told("a")
	if n != 1 || e.State != noun.EscalationOpen || e.Priority != noun.MailNormal || e.Count != 1000 || e.Task != 0 ||
		e.Facts[0] != (noun.KV{Key: "failed", Value: "1000"}) || strings.Count(e.Facts[1].Value, ",") != 9 ||
		!strings.HasSuffix(e.Facts[1].Value, fmt.Sprint(", ", last)) || !x.s.Lasts(e) {
		t.Fatalf("%d escalations: %+v", n, e)
	}
	if _, n := x.told("b"); n != 1 {
		t.Errorf("%d escalations about the other role", n)
	}
	if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil {
		t.Errorf("loaded: %v", got.Check())
	}
}

// L3: it closes by itself when none of its tasks is FAILED any more, whoever sees to that; what a human has closed
// does not hold open what comes after it.
func TestL3FailedTasksCloseTheirEscalation(t *testing.T) {
	x := newFailing(t, core.LevelRetry)
	one, two := x.fails("a", ""), x.fails("a", "")
	x.must(RetryTask{Task: one, By: "ann"})
	if e, _ := x.told("a"); e.State != noun.EscalationOpen || e.Facts[0].Value != "1" ||
		e.Facts[1].Value != fmt.Sprint(two) {
		t.Fatalf("after the first retry: %+v", e)
	}
	x.must(RetryTask{Task: two, By: "ann"})
	if e, _ := x.told("a"); e.State != noun.EscalationClosed || e.CloseBy != noun.LaddersBy || x.s.Lasts(e) {
		t.Fatalf("after the last retry: %+v", e)
	}
	x.claimed("a", one, FailTask{Reason: "again"})
	e, _ := x.told("a")
	if e.State != noun.EscalationOpen || e.Facts[0].Value != "1" || e.Reopened != 1 {
		t.Fatalf("it failed again: %+v", e)
	}
	x.must(CloseEscalation{Escalation: e.ID, By: "ann"}) // and leaves the task as it is
	three := x.must(CreateTask{Room: "r", Role: "b", Title: "t", By: "ann"}).Task
	x.claimed("b", three, FailTask{Reason: "no"})
	x.must(RetryTask{Task: three, By: "ann"})
	if e, _ := x.told("b"); e.State != noun.EscalationClosed {
		t.Errorf("the other role: %+v", e)
	}
	x.claimed("a", two, FailTask{Reason: "no"})
	if e, _ := x.told("a"); e.State != noun.EscalationOpen || e.Facts[0].Value != "1" {
		t.Fatalf("after a human has closed it: %+v", e)
	}
	x.must(RetryTask{Task: two, By: "ann"})
	if e, _ := x.told("a"); e.State != noun.EscalationClosed {
		t.Errorf("task %d, which a human has seen, holds it open: %+v", one, e)
	}
	x.claimed("a", two, FailTask{Reason: "no"})
	x.set("task_retention", "1m")
	x.jump(2 * time.Minute)
	if e, _ := x.told("a"); e.State != noun.EscalationClosed || x.s.Task(two) != nil {
		t.Errorf("its tasks are forgotten: %+v", e)
	}
	x.claimed("b", three, FailTask{Reason: "no"})
	x.must(DeleteRoom{Room: "r", By: "ann"})
	if e, _ := x.told("b"); e.State != noun.EscalationClosed {
		t.Errorf("its room is deleted: %+v", e)
	}
}

// L3: attempts that are used up call a human too; before the level nothing does, as on servers that do not know it.
func TestL3UsedUpAttemptsCallAHuman(t *testing.T) {
	for _, level := range []uint32{Baseline, core.LevelRetry} {
		x := newFailing(t, level)
		id := x.must(CreateTask{Room: "r", Role: "once", Title: "t", By: "ann"}).Task
		x.claimed("once", id, FailTask{Reason: "503", Retryable: true})
		_, n := x.told("once")
		if want := int(level) - Baseline; n != want || x.s.Task(id).State != noun.TaskFailed {
			t.Errorf("level %d: %d escalations, the task is %s", level, n, x.s.Task(id).State)
		}
	}
}

// L8: what an attempt has made is kept with its failure, for people: an hours' result whose hand-off was refused.
func TestL8ResultOfAFailureIsKept(t *testing.T) {
	x := newFailing(t, core.LevelRetry)
	id := x.fails("a", "what took two hours")
	k := x.s.Task(id)
	if k.State != noun.TaskFailed || k.Result != "no such branch" || len(k.Late) != 1 ||
		k.Late[0].Result != "what took two hours" || k.Late[0].Attempt != 1 {
		t.Errorf("%+v", k)
	}
	x.must(RetryTask{Task: id, By: "ann"})
	x.claimed("a", id, FailTask{Reason: "full", Retryable: true, Result: "the second one"})
	if k := x.s.Task(id); k.State.Terminal() || len(k.Late) != 2 || k.Late[1].Result != "the second one" {
		t.Errorf("given back: %+v", k)
	}
	x.want(noun.Invalid, FailTask{Result: strings.Repeat("x", noun.MaxResult+1)})
	if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Check() != nil {
		t.Errorf("loaded: %v", got.Check())
	}
}

// What an attempt has made is kept, too, when its failure comes too late: as that of a completion is (law L6).
func TestF15ResultOfAFailureThatComesTooLate(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.room("r", noun.RoleSpec{Name: "a"})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	id := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	work := Work{Speaker: me, Task: id, Attempt: d.must(Claim{Speaker: me}).Attempt}
	d.must(CancelTask{Task: id, By: "ann"})
	d.want(noun.Superseded, FailTask{Work: work, Reason: "no tester", Result: "two hours of work"})
	if late := d.s.Task(id).Late; len(late) != 1 || late[0].Result != "two hours of work" {
		t.Errorf("kept: %+v", late)
	}
	other := work
	other.Attempt++
	d.want(noun.Superseded, FailTask{Work: other, Reason: "no tester", Result: "of nobody"})
	for _, w := range []*Work{&work, &other} { // who asks is told whether it may throw the result away
		out := d.do(CompleteTask{Work: *w, Result: "two hours of work"})
		if out.Code != noun.Superseded || strings.Contains(out.Detail, core.LateKept) != (w == &work) {
			t.Errorf("attempt %d: %+v", w.Attempt, out)
		}
	}
	if late := d.s.Task(id).Late; len(late) != 1 {
		t.Errorf("another's is kept: %+v", late)
	}
}
