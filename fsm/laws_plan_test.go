package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/fsm/watch/ladder"
)

// plannedAgent is an agent that has begun a task with an expectation of
// its own, or that of its role; it has said nothing yet.
func plannedAgent(t *testing.T, expect time.Duration, change ...func(*noun.RoleSpec)) *hung {
	t.Helper()
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	spec := noun.RoleSpec{Name: "a", Runner: "w", Ladder: noun.LadderRestart}
	for _, f := range change {
		f(&spec)
	}
	x.room("r", spec)
	x.task = x.must(CreateTask{Room: "r", Role: "a", Title: "secret title", Text: "secret text", Expect: expect}).Task
	x.begin()
	return x
}

func (x *hung) plan() noun.Plan { return x.s.Task(x.task).Planned() }

// work names the present attempt.
func (x *hung) work() Work {
	return Work{Speaker: x.me, Task: x.task, Attempt: x.s.Task(x.task).Attempt}
}

// An expectation runs from the claim, each attempt anew, whatever the one before has said;
// what the creator of the task says wins over its role, and a hand-off takes that of the
// next role.
func TestExpectationRunsFromTheClaim(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour, Expect: 2 * time.Hour},
		noun.RoleSpec{Name: "b", TTL: 24 * time.Hour, Expect: time.Hour},
		noun.RoleSpec{Name: "c", TTL: 24 * time.Hour})
	own := d.must(CreateTask{Room: "r", Role: "a", Title: "t", Expect: 3 * time.Hour}).Task
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	d.jump(time.Hour)
	if p := d.s.Task(own).Planned(); p != (noun.Plan{Expect: 3 * time.Hour}) {
		t.Errorf("before its claim: %+v", p)
	}
	due := func(id noun.TaskID, want time.Duration) {
		t.Helper()
		if p := d.s.Task(id).Planned(); p.Due != d.clock.Add(want) || p.Percent != 0 || p.Extended != 0 {
			t.Errorf("task %d is expected in %s, want %s: %+v", id, p.Due.Sub(d.clock), want, p)
		}
	}
	d.must(Claim{Speaker: me, Task: own})
	due(own, 3*time.Hour)
	d.jump(time.Minute)
	d.must(Claim{Speaker: me, Task: own}) // a lost answer moves nothing
	due(own, 3*time.Hour-time.Minute)
	d.must(ProgressTask{Work: Work{Speaker: me, Task: own, Attempt: 1}, Percent: noun.PercentOf(60),
		Expect: 10 * time.Minute})
	d.jump(time.Hour)
	d.must(ProgressTask{Work: Work{Speaker: me, Task: own, Attempt: 1}, Expect: time.Hour})
	d.must(FailTask{Work: Work{Speaker: me, Task: own, Attempt: 1}, Reason: "r", Retryable: true})
	d.must(Join{Speaker: me})
	d.must(Claim{Speaker: me, Task: own})
	due(own, 3*time.Hour)
	d.must(CancelTask{Task: own, By: "ann"})
	d.must(RetryTask{Task: own, By: "ann"})
	if p := d.s.Task(own).Planned(); p != (noun.Plan{Expect: 3 * time.Hour}) {
		t.Errorf("put back into the queue: %+v", p)
	}
	d.must(Join{Speaker: me})
	d.must(Claim{Speaker: me, Task: own + 1})
	due(own+1, 2*time.Hour)
	next := d.must(Handoff{Work: Work{Speaker: me, Task: own + 1, Attempt: 1},
		Result: "r", ToRole: "b", Title: "t"}).Task
	you := Speaker{Agent: "r/b", Inc: d.must(Join{Speaker: Speaker{Agent: "r/b"}}).Inc}
	d.must(Claim{Speaker: you})
	due(next, time.Hour)
	last := d.must(Handoff{Work: Work{Speaker: you, Task: next, Attempt: 1}, Result: "r", ToRole: "c", Title: "t"}).Task
	d.must(Claim{Speaker: Speaker{Agent: "r/c", Inc: d.must(Join{Speaker: Speaker{Agent: "r/c"}}).Inc}})
	if d.s.Task(last).Plan != nil {
		t.Errorf("nothing is expected of task %d, and it has %+v", last, d.s.Task(last).Planned())
	}
}

// An agent moves its expectation as it likes; moved after it had passed it counts as an
// extension, and the event holds the times and nothing that anybody wrote.
func TestExpectationIsMovedByItsAgent(t *testing.T) {
	x := plannedAgent(t, time.Hour)
	x.must(ProgressTask{Work: x.work(), Note: "secret note", Percent: noun.PercentOf(0), Expect: 20 * time.Minute})
	if p := x.plan(); p.Due != x.clock.Add(20*time.Minute) || p.Percent != noun.PercentOf(0) || p.Extended != 0 ||
		x.events("task.extended") != 0 {
		t.Fatalf("%+v", p)
	}
	x.beating(20 * time.Minute)
	x.must(ProgressTask{Work: x.work(), Expect: 10 * time.Minute}) // it has not passed yet
	x.beating(10*time.Minute + time.Second)
	x.must(ProgressTask{Work: x.work(), Note: "secret note", Percent: noun.PercentOf(100)}) // says nothing of the time
	if p := x.plan(); p.Extended != 0 || p.Due >= x.clock || p.Percent != noun.PercentOf(100) {
		t.Errorf("%+v", p)
	}
	old := x.plan().Due
	x.must(ProgressTask{Work: x.work(), Note: "secret note", Expect: 40 * time.Minute})
	if p := x.plan(); p.Due != x.clock.Add(40*time.Minute) || p.Extended != 1 ||
		p.Percent != noun.PercentOf(100) || p.Expect != time.Hour {
		t.Errorf("%+v", p)
	}
	for e := range x.s.Events(0) {
		if strings.Contains(e.Text, "secret") {
			t.Errorf("%s tells what somebody wrote: %s", e.Kind, e.Text)
		}
		if e.Kind != "task.extended" {
			continue
		}
		for _, at := range []noun.Time{old, x.plan().Due} {
			if e.Task != x.task || e.Attempt != 1 || e.Agent != hungName ||
				!strings.Contains(e.Text, core.OnWall(at, e.At, e.Wall)) {
				t.Errorf("%+v", e)
			}
		}
	}
	if n := x.events("task.extended"); n != 1 || x.s.Figures().Extended != 1 {
		t.Errorf("%d events, %d counted", n, x.s.Figures().Extended)
	}
	if next := reload(t, x.s); next.Task(x.task).Planned() != x.plan() || next.Hash() != x.s.Hash() {
		t.Errorf("L12: %+v is loaded as %+v", x.plan(), next.Task(x.task).Planned())
	}
}

// Whatever answers a question of the ladder, on whichever rung, puts off an expectation
// that has passed, once; what is no answer does not.
func TestAnswersExtendWhatIsExpected(t *testing.T) {
	for name, word := range map[string]struct {
		say  func(x *hung)
		want time.Duration // 0: it extends nothing
	}{
		"progress": {func(x *hung) { x.must(ProgressTask{Work: x.work()}) }, 30 * time.Minute},
		"progress, 2 h": {func(x *hung) { x.must(ProgressTask{Work: x.work(), Expect: 2 * time.Hour}) },
			2 * time.Hour},
		"busy": {func(x *hung) {
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy,
				For: time.Hour})
		}, 30 * time.Minute},
		"degraded": {func(x *hung) { x.must(Declare{Speaker: x.me, Status: noun.StatusDegraded}) },
			30 * time.Minute},
		"mail sent": {func(x *hung) { x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "s"}) },
			30 * time.Minute},
		"mail acknowledged": {func(x *hung) { x.must(AckMail{Speaker: x.me, Mail: 1}) }, 30 * time.Minute},
		"the same report":   {func(x *hung) { x.must(Declare{Speaker: x.me}) }, 0},
		"mail read":         {func(x *hung) { x.must(ReadMail{Speaker: x.me}) }, 0},
		"mail of others":    {func(x *hung) { x.must(SendMail{From: "ann", To: "r/a", Subject: "s"}) }, 0},
		"beats":             {func(x *hung) { x.beating(time.Minute) }, 0},
	} {
		for _, rung := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
			t.Run(name+" after "+rung.String(), func(t *testing.T) {
				x := plannedAgent(t, time.Minute, func(r *noun.RoleSpec) { r.Ladder = noun.LadderEscalate })
				x.must(Declare{Speaker: x.me})
				x.beating(judge.StalledAfter + time.Second)
				for x.climb().Rung != rung {
					x.up(x.climb().Next)
				}
				old := x.plan()
				x.beating(time.Second)
				word.say(x)
				want := old
				if word.want != 0 {
					want.Due, want.Extended = x.clock.Add(word.want), 1
				}
				if got := x.plan(); got != want || x.events("task.extended") != int(want.Extended) {
					t.Fatalf("%+v, want %+v; %d events", got, want, x.events("task.extended"))
				}
				x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "s"})
				if got := x.plan().Extended; word.want != 0 && got != 1 {
					t.Errorf("extended %d times by one answer and one more word", got)
				}
			})
		}
	}
}

// Without a question, or before the expected completion, or without one, a word of the
// agent extends nothing; nor does that of a life that was not asked.
func TestOnlyAnswersExtend(t *testing.T) {
	say := func(x *hung) { x.must(Declare{Speaker: x.me, Status: noun.StatusDegraded}) }
	x := plannedAgent(t, time.Minute)
	x.beating(time.Hour)
	say(x) // nobody has asked
	if p := x.plan(); p.Extended != 0 {
		t.Errorf("nobody has asked: %+v", p)
	}
	x = plannedAgent(t, 3*time.Hour, func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = time.Minute, 3 })
	x.must(Declare{Speaker: x.me})
	x.beating(10 * time.Minute) // unresponsive, long before the task should be done
	x.up(noun.RungNudge)
	old := x.plan()
	say(x)
	if p := x.plan(); p != old {
		t.Errorf("before its time: %+v", p)
	}
	x = plannedAgent(t, 0)
	x.beating(judge.StalledAfter + time.Second)
	x.up(noun.RungNudge)
	say(x)
	if p := x.plan(); p != (noun.Plan{}) {
		t.Errorf("nothing is expected: %+v", p)
	}
	x = plannedAgent(t, time.Minute)
	x.beating(judge.StalledAfter + time.Second)
	x.up(noun.RungNudge)
	x.must(ProgressTask{Work: x.work()})
	x.beating(ladder.AnswerExtends + time.Second)
	say(x) // it has answered half an hour ago
	if p := x.plan(); p.Extended != 1 || p.Due >= x.clock {
		t.Errorf("it has answered before: %+v", p)
	}
	x = plannedAgent(t, time.Minute)
	x.beating(judge.StalledAfter + time.Second)
	x.up(noun.RungNudge)
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
	x.begin()
	x.beating(2 * time.Minute)
	say(x)
	if p := x.plan(); p.Extended != 0 || p.Due >= x.clock {
		t.Errorf("the life before was asked: %+v", p)
	}
}

func TestPlansAreRefusedWhenTheyMakeNoSense(t *testing.T) {
	x := plannedAgent(t, time.Hour)
	for _, d := range []time.Duration{-1, -time.Hour, time.Second - 1, noun.MaxExpect + 1} {
		for _, cmd := range []Command{CreateTask{Room: "r", Role: "a", Title: "t", Expect: d},
			ProgressTask{Work: x.work(), Expect: d},
			ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Expect: d}}}} {
			if out := x.want(noun.Invalid, cmd); !strings.Contains(out.Detail, "expect: ") ||
				!strings.Contains(out.Detail, "1s to 720h0m0s is allowed") {
				t.Errorf("%T with %s: %s", cmd, d, out.Detail)
			}
		}
	}
	x.want(noun.Invalid, ProgressTask{Work: x.work(), Percent: noun.PercentOf(101)})
	if p := x.plan(); p.Percent != 0 || p.Due != x.s.Task(x.task).ChangedAt.Add(time.Hour) {
		t.Errorf("what was refused has changed the plan: %+v", p)
	}
	for _, n := range []uint32{0, 1, 60, 100} {
		if got, ok := noun.PercentOf(n).Said(); !ok || got != n {
			t.Errorf("%d %% is %d, %v", n, got, ok)
		}
	}
}

// L3: the limits of a role that is applied anew hold for the tasks in work.
func TestL3NewLimitsHoldForTasksInWork(t *testing.T) {
	x := plannedAgent(t, 0)
	x.beating(10 * time.Minute)
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", ProgressLimit: 15 * time.Minute}}})
	x.beating(5*time.Minute + time.Second)
	if got := x.s.Task(x.task).State; got != noun.TaskPending {
		t.Errorf("the task is %s after its new progress limit", got)
	}
}

// L11: a completion that comes after its task was taken away ends the failures of a healthy
// life all the same.
func TestL11LateCompletionCountsForTheBudget(t *testing.T) {
	x := plannedAgent(t, 0)
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
	x.begin()
	work := x.work()
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", ProgressLimit: time.Minute}}})
	x.beating(61 * time.Second)
	x.must(CompleteTask{Work: work, Result: "done"})
	for end := x.clock.Add(x.s.Settings().HealthyAfter); x.clock < end; { // it lives, and does not wait again
		x.beating(20 * time.Second)
		x.beat(0, BeatLease, x.agent(hungName).ID)
	}
	if a := x.agent(hungName); a.Failures != 0 || x.s.Task(x.task).State != noun.TaskCompleted {
		t.Errorf("%d failures after a healthy life with a completed task", a.Failures)
	}
}

// Who was started by hand beats by itself, so by default a human is told instead of taking its
// task away.
func TestOwnBeatsAreNoFailure(t *testing.T) {
	d := newDrive(t)
	d.jump(time.Minute)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour})
	me := d.joinBy("r/a")
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.jump(time.Second)
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(time.Second)
	d.must(ProgressTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(judge.StalledAfter + time.Second)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		c := d.s.Climb(1)
		if c.Next != r {
			t.Fatalf("next is %s (%s), want %s", c.Next, c.Why, r)
		}
		d.jump(max(0, c.Due.Sub(d.clock)))
		d.must(StepLadder{Agent: 1, Inc: me.Inc, Rung: r, Seen: c.Seen})
	}
	if told := d.events("agent.needs_human"); told != 1 || d.s.Task(task).State != noun.TaskInProgress {
		t.Errorf("%d calls for a human, the task is %s", told, d.s.Task(task).State)
	}
}
