package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// queued declares a role w of one agent that was started by hand, holds the first of n tasks, and has
// the others in its queue; it gives the word about the first.
func (d *drive) queued(n int) Work {
	d.t.Helper()
	d.room("r", noun.RoleSpec{Name: "w", AttemptLimit: 9})
	for range n {
		d.must(CreateTask{Room: "r", Role: "w", Title: "t"})
	}
	sp := d.hand("r/w")
	c := d.must(Claim{Speaker: sp, Start: true})
	return Work{Speaker: sp, Task: c.Task, Attempt: c.Attempt}
}

var next = Then{Next: true, Start: true}

// ends are the words that end a task, each with the next one.
func ends(w Work) map[string]Command {
	return map[string]Command{"complete": CompleteTask{Work: w, Then: next}, "fail": FailTask{Work: w, Then: next},
		"give back":      FailTask{Work: w, Retryable: true, After: time.Hour, Then: next},
		"hand off":       Handoff{Work: w, ToRole: "w", Title: "x", Then: next},
		"answer to look": AnswerLook{CompleteTask: CompleteTask{Work: w, Then: next}}}
}

// L8: the end of a task and the claim of the next one are one entry, done once however often it is asked
// for: a repeated number gets the first answer, the same task.
func TestL8NextIsDoneOnce(t *testing.T) {
	for name := range ends(Work{}) {
		d := newDrive(t)
		d.must(RaiseLevel{Level: core.LevelRetry})
		w := d.queued(3)
		ss := d.must(OpenSession{}).Session
		r := Request{Session: ss, Seq: 1, Cmd: ends(w)[name]}
		first := d.apply(d.entry(r)).Outcomes[0]
		if first.Code != noun.OK || first.Why != noun.OK || first.Task != 2 || first.Attempt != 1 || first.TTL == 0 ||
			noun.TaskState(first.Count) != d.s.Task(1).State {
			t.Fatalf("%s: %+v", name, first)
		}
		if a, x := d.agent("r/w"), d.s.Task(2); a.Task != 2 || a.Part != noun.PartActive || x.State != noun.TaskInProgress {
			t.Errorf("%s: the agent is %s with task %d, which is %s", name, a.Part, a.Task, x.State)
		}
		d.pass(time.Second)
		again := d.apply(d.entry(r, r)).Outcomes
		for _, out := range again {
			if out.Index != first.Index || out.Task != 2 || out.Rev != first.Rev || !out.Repeated() {
				t.Errorf("%s: repeated: %+v, first %+v", name, out, first)
			}
		}
		if got := d.s.Task(3).State; got.Held() || d.agent("r/w").Task != 2 {
			t.Errorf("%s: repeated, task 3 is %s and the agent holds %d", name, got, d.agent("r/w").Task)
		}
	}
}

// L8: without a number too a repeated end takes no second task: who holds one gets the same.
func TestL8NextWithoutANumberTakesNoSecondTask(t *testing.T) {
	d := newDrive(t)
	w := d.queued(3)
	for range 3 {
		if out := d.must(CompleteTask{Work: w, Then: next}); out.Task != 2 || out.Attempt != 1 {
			t.Fatalf("%+v", out)
		}
	}
	if n := d.s.Counts().Tasks[noun.TaskInProgress]; n != 1 {
		t.Errorf("%d tasks were taken", n)
	}
}

// L6: an end that is refused takes nothing and changes nothing.
func TestL6NextOfARefusedEndTakesNothing(t *testing.T) {
	for name := range ends(Work{}) {
		d := newDrive(t)
		w := d.queued(2)
		w.Attempt = 7
		if out := d.do(ends(w)[name]); out.Code != noun.Superseded || d.s.Task(2).State.Held() || d.agent("r/w").Task != 1 {
			t.Errorf("%s of another attempt: %+v", name, out)
		}
		w.Attempt = 1
		d.must(CancelTask{Task: 1}) // its holder holds nothing any more
		if out := d.do(ends(w)[name]); out.Code != noun.Superseded || d.s.Task(2).State.Held() || d.agent("r/w").Task != 0 {
			t.Errorf("%s of a task that was canceled: %+v", name, out)
		}
		d.must(Leave{Speaker: w.Speaker})
		d.hand("r/w")
		if out := d.do(ends(w)[name]); out.Code != noun.Superseded || d.s.Task(2).State.Held() {
			t.Errorf("%s of an older life: %+v", name, out)
		}
	}
}

// Where no task is to be had the agent waits from then on, as if it had joined, and a claim of its own finds
// what comes.
func TestNextWithoutATaskWaits(t *testing.T) {
	d := newDrive(t)
	w := d.queued(1)
	d.clock = d.clock.Add(30 * time.Second)
	out := d.must(CompleteTask{Work: w, Result: "done", Then: next})
	a := d.agent("r/w")
	if out.Why != noun.NoTask || out.Task != 0 || out.Detail == "" || a.Part != noun.PartWaiting || a.Task != 0 ||
		d.s.Lease(a.ID).Until != d.clock+noun.Time(out.TTL) || d.s.Task(1).Result != "done" {
		t.Errorf("%+v, the agent is %+v", out, a)
	}
	d.must(CreateTask{Room: "r", Role: "w", Title: "later"})
	if got := d.must(Claim{Speaker: w.Speaker}); got.Task != 2 || d.s.Task(2).State != noun.TaskAcknowledged {
		t.Errorf("%+v", got)
	}
}

// L9: who may take nothing ends its task all the same, and hears why it gets no other.
func TestL9NextTakesNothingAgainstAnIntent(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(d *drive)
		why    noun.Code
		says   string
	}{
		"paused agent":   {func(d *drive) { d.must(SetPause{Scope: "demo/w", Pause: true}) }, noun.NoTask, "paused"},
		"paused room":    {func(d *drive) { d.must(SetPause{Scope: "demo", Pause: true}) }, noun.NoTask, "paused"},
		"paused cluster": {func(d *drive) { d.must(SetPause{Pause: true}) }, noun.NoTask, "paused"},
		"drained host":   {func(d *drive) { d.must(DrainHost{Host: 1, By: "x"}) }, noun.Stopped, "drained"},
		"new declaration": {func(d *drive) {
			d.must(ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "v"}, {Name: "w", Runner: "worker", Replicas: 0,
				Desired: noun.DesiredStopped}}, By: "x"})
		}, noun.Stopped, "stopped"},
	} {
		d := newDrive(t)
		_, w := d.at(noun.TaskInProgress)
		d.must(CreateTask{Room: "demo", Role: "w"})
		tt.before(d)
		out := d.must(CompleteTask{Work: w, Then: next})
		if out.Why != tt.why || !strings.Contains(out.Detail, tt.says) || out.Task != 0 ||
			d.s.Task(1).State != noun.TaskCompleted || d.s.Task(2).State.Held() || d.agent("demo/w").Task != 0 {
			t.Errorf("%s: %+v; the next task is %s", name, out, d.s.Task(2).State)
		}
	}
}

// A result that comes after the lease has ended counts, and its sender has to join before it gets another task.
func TestNextAfterTheLeaseHasEnded(t *testing.T) {
	d := newDrive(t)
	w := d.queued(1)
	d.pass(61 * time.Second)
	out := d.must(CompleteTask{Work: w, Then: next})
	if out.Why != noun.Rejoin || out.Task != 0 || d.s.Task(1).State != noun.TaskCompleted ||
		d.agent("r/w").Part != noun.PartDisconnected {
		t.Errorf("%+v; the agent is %s", out, d.agent("r/w").Part)
	}
}

// L11: a role that is half-open offers single tasks, to Next as to any claim.
func TestL11NextOfAHalfOpenRole(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	d.set("circuit_failures", "3", "retry_first", "10m")
	w := d.queued(6)
	for n := 0; ; n++ {
		out := d.must(FailTask{Work: w, Retryable: true, Then: next})
		if out.Task == 0 {
			if out.Why != noun.NoTask || n != 2 || d.s.HalfOpenRoles() != 1 || d.s.Counts().Tasks[noun.TaskQueued] != 6 {
				t.Errorf("after %d failures: %+v, tasks %v", n+1, out, d.s.Counts().Tasks)
			}
			return
		}
		w.Task, w.Attempt = out.Task, out.Attempt
	}
}

// What Next adds waits for its feature level.
func TestL12NextNeedsItsLevel(t *testing.T) {
	for name, c := range ends(Work{}) {
		if Level(c) < core.LevelRetry {
			t.Errorf("%s needs level %d", name, Level(c))
		}
	}
	if Level(Claim{Start: true}) < core.LevelRetry || Level(Claim{}) != Baseline || Level(CompleteTask{}) != Baseline {
		t.Error("a claim that starts needs no level, or one that does not needs one")
	}
}
