package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// newRetryDrive is a state in which failed tasks are put off and roles half-open.
func newRetryDrive(t *testing.T) *drive {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	return d
}

// fail takes a task by hand and gives it back.
func (d *drive) fail(sp Speaker, id noun.TaskID, after time.Duration) {
	d.t.Helper()
	d.must(Join{Speaker: sp})
	out := d.must(Claim{Speaker: sp, Task: id})
	d.must(FailTask{Work: Work{Speaker: sp, Task: id, Attempt: out.Attempt}, Reason: "the model answers 503",
		Retryable: true, After: after})
}

// offered lets time pass until a task is put off no more, and tells how long that took.
func (d *drive) offered(id noun.TaskID) (waited time.Duration) {
	d.t.Helper()
	begin := d.clock
	for d.s.Task(id).Delayed() && d.clock.Sub(begin) < 31*24*time.Hour {
		at, _ := d.s.NextTimer()
		d.clock = max(at, d.clock+1)
		d.beat(0, BeatLease, d.agent("demo/w").ID)
	}
	return d.clock.Sub(begin)
}

// N30: what has failed retryably waits before it is tried again, twice as long each time, and it is
// not claimable, counts as no demand, and says why meanwhile.
func TestN30FailedTaskWaits(t *testing.T) {
	d := newRetryDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", AttemptLimit: 20})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	role := d.agent("demo/w").Role
	for n := range 12 {
		d.fail(sp, id, 0)
		x := d.s.Task(id)
		if x.State != noun.TaskQueued || !x.Delayed() || d.s.Pending(role) != 0 {
			t.Fatalf("after failure %d it is %+v", n+1, x)
		}
		d.want(noun.NoTask, Claim{Speaker: sp})
		d.want(noun.Conflict, Claim{Speaker: sp, Task: id})
		why := d.s.WhyWaits(role)
		if why.Code != "retry" || why.Left != d.s.DelayLeft(x) || !strings.Contains(why.Text, "the model answers 503") {
			t.Fatalf("%+v", why)
		}
		if got := reload(t, d.s); got.Hash() != d.s.Hash() || got.Check() != nil || got.WhyWaits(role) != why {
			t.Fatalf("it is loaded as %+v: %v", got.Task(id), got.Check())
		}
		most := min(time.Second<<n, 5*time.Minute)
		if waited := d.offered(id); waited < most/2 || waited > most {
			t.Fatalf("after failure %d it waited %s, at most %s was due", n+1, waited, most)
		}
	}
	x := d.s.Task(id)
	if len(x.Retry.Reasons) != 3 || x.Retry.Reasons[2].Attempt != 12 ||
		x.Retry.Reasons[2].Text != "the model answers 503" || x.Retry.Row != 12 {
		t.Errorf("it remembers %+v", x.Retry)
	}
}

// Who gives a task back may say until when it has to wait, exactly; a role may say how it waits.
func TestN30WaitIsSettable(t *testing.T) {
	d := newRetryDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", AttemptLimit: 20, RetryFirst: 20 * time.Second,
		RetryMost: 30 * time.Second})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	for _, most := range []time.Duration{20 * time.Second, 30 * time.Second, 30 * time.Second} {
		d.fail(sp, id, 0)
		if waited := d.offered(id); waited < most/2 || waited > most {
			t.Errorf("it waited %s, at most %s was due", waited, most)
		}
	}
	d.fail(sp, id, 100*time.Second)
	if waited := d.offered(id); waited != 100*time.Second {
		t.Errorf("it waited %s", waited)
	}
	d.must(Join{Speaker: sp})
	w := Work{Speaker: sp, Task: id, Attempt: d.must(Claim{Speaker: sp}).Attempt}
	for _, after := range []time.Duration{-1, noun.MaxAfter + 1} {
		d.want(noun.Invalid, FailTask{Work: w, Retryable: true, After: after})
		d.want(noun.Invalid, CreateTask{Room: "demo", Role: "w", After: after})
	}
	d.must(PutSettings{Values: []noun.KV{{Key: "retry_first", Value: "0s"}}})
	d.room("demo", noun.RoleSpec{Name: "w", AttemptLimit: 20})
	d.must(FailTask{Work: w, Retryable: true})
	if x := d.s.Task(id); x.Delayed() || x.State != noun.TaskPending {
		t.Errorf("without a wait it is %+v", x)
	}
}

// A task that is created for later is offered then, and excuses the silence of its room until then.
func TestN30TaskForLater(t *testing.T) {
	d := newRetryDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w", After: 2 * time.Hour}).Task
	d.want(noun.NoTask, Claim{Speaker: sp})
	d.jump(119 * time.Minute)
	if q := d.s.Quiet(d.s.Room("demo")); q.State != RoomExempt || !strings.Contains(q.Why, "put off") {
		t.Errorf("its room is %s: %s", q.State, q.Why)
	}
	if d.offered(id) != time.Minute {
		t.Errorf("it is offered at %s", time.Duration(d.clock))
	}
	if q := d.s.Quiet(d.s.Room("demo")); q.State != RoomActive || d.s.Task(id).State != noun.TaskPending {
		t.Errorf("then its room is %s: %s, and it is %s", q.State, q.Why, d.s.Task(id).State)
	}
	d.jump(11 * time.Minute)
	if q := d.s.Quiet(d.s.Room("demo")); q.State != RoomStalled {
		t.Errorf("when nobody takes it, its room is %s: %s", q.State, q.Why)
	}
}

// L9: a human's word beats the wait: the task is tried at once, and what it has cost is forgiven.
func TestN30HumanBeatsTheWait(t *testing.T) {
	d := newRetryDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.fail(sp, id, time.Hour)
	d.must(RetryTask{Task: id, By: "ann"})
	if x := d.s.Task(id); x.State != noun.TaskPending || x.Charged != 0 || x.Retry != nil {
		t.Fatalf("%+v", x)
	}
	d.must(Claim{Speaker: sp, Task: id})
	d.want(noun.Conflict, RetryTask{Task: id})
}

// Put off or not, a task can be canceled, and its room deleted.
func TestN30DelayedTaskEnds(t *testing.T) {
	d := newRetryDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	id := d.must(CreateTask{Room: "demo", Role: "w", After: time.Hour}).Task
	d.must(CancelTask{Task: id})
	d.must(RetryTask{Task: id})
	if x := d.s.Task(id); x.State != noun.TaskPending {
		t.Errorf("%+v", x)
	}
	d.must(CreateTask{Room: "demo", Role: "w", After: time.Hour})
	d.must(DeleteRoom{Room: "demo"})
	if d.pass(2 * time.Second); d.s.Room("demo") != nil {
		t.Error("a task that is put off keeps its room")
	}
	if d.s.Counts().Tasks != [noun.TaskQuarantined + 1]uint64{} {
		t.Errorf("tasks %v are left", d.s.Counts().Tasks)
	}
}
