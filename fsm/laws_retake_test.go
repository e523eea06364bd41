package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// slept is a fleet of one host, which falls silent for longer than all its leases while its agent works on a task with
// a program that says nothing before it is done.
type slept struct {
	*hung
	w Work
}

func newSlept(t *testing.T, change func(*noun.RoleSpec)) *slept {
	t.Helper()
	x := &slept{hung: &hung{drive: newRetryDrive(t)}}
	x.h = x.host("h1", "w")
	spec := noun.RoleSpec{Name: "a", Runner: "w", Replicas: 2, TTL: time.Minute, StartLimit: 2 * time.Minute}
	change(&spec)
	x.room("r", spec)
	x.begin()
	x.w = Work{Speaker: x.me, Task: x.task, Attempt: x.s.Task(x.task).Attempt}
	x.beating(10 * time.Minute)
	x.jump(10 * time.Minute)
	if a, task := x.agent(hungName), x.s.Task(x.task); !a.Proc.GivenUp() || task.State != noun.TaskPending {
		t.Fatalf("%s, %s", a.Proc, task.State)
	}
	x.s = reload(t, x.s)
	return x
}

// wakes has the host heard again.
func (x *slept) wakes() { x.beat(x.h, BeatFence|BeatVouch, x.agent(hungName).ID) }

// L10: a laptop that has slept wakes up with its work: the life has its task again, as the same attempt, and is not
// ended for saying nothing.
func TestL10LifeThatIsBackHasItsTaskAgain(t *testing.T) {
	x := newSlept(t, func(*noun.RoleSpec) {})
	for range 5 { // and each time costs nothing
		x.wakes()
		a, task := x.agent(hungName), x.s.Task(x.task)
		if a.Task != x.task || a.Part != noun.PartActive || task.State != noun.TaskInProgress ||
			task.Attempt != x.w.Attempt || task.Charged != 0 || task.Kills != 0 || task.Retried().Lost != 0 {
			t.Fatalf("%s with task %d; the task is %s, %+v", a.Part, a.Task, task.State, task.Retried())
		}
		x.beating(30 * time.Minute)
		if x.stopped() {
			t.Fatalf("it is stopped at work: %s", x.agent(hungName).OrderReason)
		}
		x.jump(10 * time.Minute)
	}
	x.wakes()
	x.must(CompleteTask{Work: x.w, Result: "done"})
	if n := x.agent(hungName).Failures; n != 0 {
		t.Errorf("%d failures", n)
	}
}

// L6, L9: it gets no task that somebody else has, that is over, or whose life a human has ended.
func TestL6LifeThatIsBackTakesNothingFromOthers(t *testing.T) {
	for name, meanwhile := range map[string]func(*slept){
		"another has it": func(x *slept) {
			h2 := x.host("h2", "w")
			other := x.start("r/a.2", h2)
			x.must(Join{Speaker: other})
			x.must(Claim{Speaker: other})
			x.beat(h2, BeatFence|BeatLease, x.agent("r/a.2").ID)
		},
		"another had it": func(x *slept) {
			h2 := x.host("h2", "w")
			other := x.start("r/a.2", h2)
			x.must(Join{Speaker: other})
			out := x.must(Claim{Speaker: other})
			x.must(FailTask{Work: Work{Speaker: other, Task: x.task, Attempt: out.Attempt}, Reason: "no", Retryable: true})
		},
		"it is canceled": func(x *slept) { x.must(CancelTask{Task: x.task, By: "ann"}) },
		"it is stopped":  func(x *slept) { x.must(SetAgent{Agent: hungName, Stop: true, By: "ann"}) },
	} {
		x := newSlept(t, func(*noun.RoleSpec) {})
		meanwhile(x)
		was := *x.s.Task(x.task)
		x.wakes()
		if a := x.agent(hungName); a.Task != 0 || a.Part == noun.PartActive {
			t.Errorf("%s: it has task %d and is %s", name, a.Task, a.Part)
		}
		if now := x.s.Task(x.task); now.State != was.State || now.Holder != was.Holder {
			t.Errorf("%s: the task is %s, it was %s", name, now.State, was.State)
		}
		if x.agent(hungName).Proc == noun.ProcRunning { // it works on at what is not its own, is replaced, and not charged
			x.beating(3 * time.Minute)
			if !x.stopped() {
				t.Errorf("%s: it works on for ever", name)
			}
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Signal: "terminated"})
			if n := x.agent(hungName).Failures; n != 0 {
				t.Errorf("%s: %d failures", name, n)
			}
		}
	}
}

// A life that proves itself is not given what it may have dropped: it asks.
func TestL10LifeThatProvesItselfJoinsAgain(t *testing.T) {
	x := newSlept(t, func(r *noun.RoleSpec) { r.Proof = noun.ProofAgent })
	x.wakes()
	if a := x.agent(hungName); a.Task != 0 || a.Proc != noun.ProcRunning {
		t.Errorf("it has task %d and is %s", a.Task, a.Proc)
	}
	if task := x.s.Task(x.task); task.State != noun.TaskPending {
		t.Errorf("the task is %s", task.State)
	}
}
