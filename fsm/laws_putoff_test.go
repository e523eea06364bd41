package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// A silent room, and tasks in it that are put off: the conversation watchdog, and who reopens what it has canceled,
// hold their hours.

// putOff creates a task for later.
func (x *silentRoom) putOff(after time.Duration) noun.TaskID {
	x.t.Helper()
	return x.must(CreateTask{Room: "r", Role: "a", Title: "later", After: after, By: "ann"}).Task
}

// same checks that a server which loads the state has the same one.
func (x *silentRoom) same() {
	x.t.Helper()
	if next := reload(x.t, x.s); next.Hash() != x.s.Hash() || next.Quiet(next.Room("r")) != x.see() {
		x.t.Error("L12: a loaded state differs")
	}
}

// L9, L12: a cancellation for silence leaves what is put off, by who created it or gave it back: nobody could be silent
// about it. It is offered at its hour, and the room works again with the first word of somebody.
func TestWatchdogLeavesTasksThatArePutOff(t *testing.T) {
	x := newSilentRoom(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	later, begun := x.putOff(6*time.Hour), x.clock
	back := x.held
	x.must(FailTask{Work: x.work(), Reason: "busy", Retryable: true, After: 7 * time.Hour})
	if x.held = x.must(Claim{Speaker: x.me}).Task; x.held != x.waiting {
		t.Fatalf("task %d is claimed", x.held)
	}
	if out := x.cancel(); out.Count != 1 || x.room().Canceled.Tasks != 1 {
		t.Fatalf("%d tasks are canceled, want the one that is held: %+v", out.Count, x.room().Canceled)
	}
	if q := x.is(RoomExempt); !strings.Contains(q.Why, "put off") {
		t.Errorf("the room is exempt since %s", q.Why)
	}
	if got := x.s.Task(x.held).State; got != noun.TaskCanceled || x.agent("r/a").Order != noun.StopOrder {
		t.Errorf("the held task is %s, its agent has order %s", got, x.agent("r/a").Order)
	}
	if len(x.events("task.canceled")) != 1 || x.room().ResumedWork() {
		t.Error("more is told of, or the room counts as one that works")
	}
	x.same()
	x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
	x.clock = begun.Add(6*time.Hour - time.Nanosecond)
	x.apply(x.entry())
	for _, id := range []noun.TaskID{later, back} {
		if task := x.s.Task(id); !task.Delayed() {
			t.Errorf("task %d is %s before its hour", id, task.State)
		}
	}
	x.is(RoomExempt)
	x.jump(time.Nanosecond)
	if task := x.s.Task(later); task.State != noun.TaskPending || !x.s.Task(back).Delayed() {
		t.Errorf("at its hour the task is %s, the other one %s", task.State, x.s.Task(back).State)
	}
	x.is(RoomActive)
	if x.room().ResumedWork() {
		t.Error("a room in which nobody has done anything counts as one that works")
	}
	x.me = x.start("r/a", x.host)
	x.must(Join{Speaker: x.me})
	if out := x.must(Claim{Speaker: x.me}); out.Task != later || !x.room().ResumedWork() {
		t.Errorf("task %d is claimed, the room works: %v", out.Task, x.room().ResumedWork())
	}
	x.jump(time.Hour) // the second one comes to an agent that is busy
	if task := x.s.Task(back); task.State != noun.TaskPending {
		t.Errorf("the task that was given back is %s", task.State)
	}
	x.same()
}

// A deadline is one of all that is open: it cancels what is put off, too. Reopened, that waits for its hour; by a
// human's word about the task itself it is offered at once.
func TestWatchdogDeadlineAndTasksThatArePutOff(t *testing.T) {
	x := newSilentRoom(t, noun.RoomWatch{Deadline: 3 * time.Hour})
	x.must(RaiseLevel{Level: core.LevelRetry})
	begun := x.clock
	soon, later, urged := x.putOff(4*time.Hour), x.putOff(6*time.Hour), x.putOff(6*time.Hour)
	x.clock = x.room().Opened.Add(3*time.Hour + time.Second)
	x.must(ProgressTask{Work: x.work(), Note: "on"})
	if q := x.is(RoomStalled); q.Reason != RoomDeadline {
		t.Fatalf("%+v", q)
	}
	x.must(x.warning())
	x.jump(time.Minute)
	if out := x.must(x.cancellation()); out.Count != 5 || x.tasks()[noun.TaskCanceled] != 5 {
		t.Fatalf("%d tasks are canceled, want all 5", out.Count)
	}
	x.is(RoomIdle)
	x.same()
	x.must(RetryTask{Task: urged, By: "ann"})
	if x.s.Task(urged).Delayed() {
		t.Error("what a human has tried again is put off")
	}
	x.clock = begun.Add(5 * time.Hour) // the hour of one has come meanwhile
	if out := x.must(ReopenRoom{Room: "r", By: "ann"}); out.Count != 4 {
		t.Errorf("%d tasks came back, want 4", out.Count)
	}
	if x.s.Task(soon).Delayed() || !x.s.Task(later).Delayed() {
		t.Errorf("put off: %v before its hour, %v after it", x.s.Task(later).Delayed(), x.s.Task(soon).Delayed())
	}
	x.same()
	x.clock = begun.Add(6*time.Hour - time.Nanosecond)
	if x.apply(x.entry()); !x.s.Task(later).Delayed() {
		t.Error("it is offered before its hour")
	}
	if x.jump(time.Nanosecond); x.s.Task(later).Delayed() {
		t.Error("it is put off after its hour")
	}
}

// A room that is canceled but for what is put off, and reopened, has the whole time of its deadline again.
func TestWatchdogReopenedBesideTasksThatArePutOff(t *testing.T) {
	x := newSilentRoom(t, noun.RoomWatch{Deadline: 3 * time.Hour})
	x.must(RaiseLevel{Level: core.LevelRetry})
	later := x.putOff(6 * time.Hour)
	x.cancel()
	if x.room().Opened != x.clock {
		t.Errorf("the stretch of a canceled room goes on since %s", time.Duration(x.room().Opened))
	}
	x.jump(2*time.Hour + 55*time.Minute)
	if out := x.must(ReopenRoom{Room: "r", By: "ann"}); out.Count != 2 || x.room().Opened != x.clock {
		t.Errorf("%d tasks are back, the stretch began at %s", out.Count, time.Duration(x.room().Opened))
	}
	x.jump(9 * time.Minute)
	x.is(RoomActive)
	if !x.s.Task(later).Delayed() {
		t.Error("it was offered with the others")
	}
	x.same()
}

// F11: so it is where many tasks are canceled by several entries, and many are put off.
func TestF11SweepsLeaveTasksThatArePutOff(t *testing.T) {
	const many = noun.StepsPerEntry + 88
	for name, open := range map[string]int{"both many": many, "few open": 10} {
		t.Run(name, func(t *testing.T) {
			x := newSilentRoom(t)
			x.must(RaiseLevel{Level: core.LevelRetry})
			begun := x.clock
			var reqs []Request
			for i := range open + many {
				c := CreateTask{Room: "r", Role: "a", Title: "t"}
				if i >= open {
					c.After = 6 * time.Hour
				}
				reqs = append(reqs, Request{Cmd: c})
			}
			x.s.Apply(x.entry(reqs...))
			open += 2 // those of the silent room
			if out := x.cancel(); int(out.Count) != open || (x.room().Sweep != nil) != (open > noun.StepsPerEntry) {
				t.Fatalf("%d tasks are canceled, want %d", out.Count, open)
			}
			x.follow()
			putOff := func() (n int) {
				for task := range x.s.Tasks(0) {
					if task.Delayed() {
						n++
					}
				}
				return n
			}
			h := x.s.Meta.Watchdog.History
			if n := x.tasks(); n[noun.TaskCanceled] != open || putOff() != many || int(x.room().Canceled.Tasks) != open ||
				int(h[len(h)-1].Tasks) != open || x.room().ResumedWork() {
				t.Errorf("%v, %d are put off, %+v", n, putOff(), x.room().Canceled)
			}
			x.is(RoomExempt)
			x.follow(ReopenRoom{Room: "r", By: "ann"})
			if n := x.tasks(); n[noun.TaskCanceled] != 0 || n[noun.TaskPending] != 1 || putOff() != many ||
				n[noun.TaskQueued] != open-1+many {
				t.Errorf("reopened: %v, %d are put off", n, putOff())
			}
			x.clock = begun.Add(6 * time.Hour)
			if x.whole(); putOff() != 0 {
				t.Errorf("%d are put off after their hour", putOff())
			}
		})
	}
}
