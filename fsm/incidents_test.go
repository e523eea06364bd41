package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Incident I03: an agent that was resumed and then works on one step ten times as long as
// its limits, while its harness goes on saying that it is busy, is not started again.
func TestI03ResumedAndBusy(t *testing.T) {
	const limit = time.Minute
	d, h, w := fleet(t, func(r *noun.RoleSpec) {
		r.ProgressLimit, r.HealthEvery, r.HealthMissed = limit, limit/2, 2
	})
	d.must(SetResume{Speaker: w.Speaker, Resume: "conversation-7"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Code: 1})
	for range 4 { // more than the first back-off
		d.pass(15 * time.Second)
		d.beat(h, BeatFence)
	}
	sp := d.start("demo/builder", h)
	if got := d.agent("demo/builder").Resume; got != "conversation-7" {
		t.Fatalf("resumed with %q", got)
	}
	d.must(Join{Speaker: sp})
	w = Work{Speaker: sp, Task: d.must(Claim{Speaker: sp}).Task, Attempt: 2}
	d.must(StartTask{Work: w})
	for range 40 {
		d.must(Declare{Speaker: sp, Status: noun.StatusBusy, For: limit / 2})
		d.pass(limit / 4)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	a := d.agent("demo/builder")
	if a.Inc != sp.Inc || a.Order != noun.NoOrder || a.Proc != noun.ProcRunning ||
		d.s.Task(w.Task).State != noun.TaskInProgress {
		t.Fatalf("after ten limits: life %d, order %s, task %s", a.Inc, a.Order, d.s.Task(w.Task).State)
	}
	if v := d.s.Verdict(a.ID, true); v.Kind != judge.AgentBusy || !v.Fine {
		t.Errorf("it is %s, fine %v: %+v", v.Kind, v.Fine, v.Reasons)
	}
	d.must(CompleteTask{Work: w, Result: "done"})
}

// Incident I08: one probe that says "dead", and the next ones "alive", make an idle agent
// suspect at most.
func TestI08OneProbeIsNoDeath(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("builder"))
	sp := d.start("demo/builder", h)
	d.must(Join{Speaker: sp})
	for range 10 { // idle for longer than the incident's 60 s
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatLease, 1)
	}
	for _, probe := range []struct{ gossip, stream noun.Hearing }{{noun.HearSilent, noun.HearAlive},
		{noun.HearAlive, noun.HearSilent}} {
		d.beat(h, BeatFence|BeatLease, 1)
		d.view("a", h, probe.gossip, probe.stream)
		d.doubted(h)
		d.state(h, noun.HostSuspect)
		v := d.s.Verdict(1, true)
		if v.Kind != judge.AgentSuspect || v.Kind.Grave() || strings.Count(v.Because(), ", ") != 1 ||
			!slices.ContainsFunc(v.Reasons, func(r judge.Reason) bool { return r.Bad && r.Evidence == "host" }) {
			t.Errorf("%s after one bad probe: %+v", v.Kind, v.Reasons)
		}
		d.view("a", h, noun.HearAlive, noun.HearAlive)
		d.doubted(h)
		d.beat(h, BeatFence|BeatLease, 1)
		d.state(h, noun.HostReady)
		if v := d.s.Verdict(1, true); v.Kind != judge.AgentIdle || !v.Fine {
			t.Errorf("%s, fine %v, after good ones: %+v", v.Kind, v.Fine, v.Reasons)
		}
	}
	if a := d.agent("demo/builder"); a.Inc != sp.Inc || a.Order != noun.NoOrder || a.Part != noun.PartWaiting {
		t.Errorf("life %d, order %s, %s", a.Inc, a.Order, a.Part)
	}
}

// Incident I32: a tool with a bound of its own may be silent for so long, and for the
// limit after it; then the task goes to somebody else. What is shown says until when.
func TestI32ToolWithABound(t *testing.T) {
	const bound = 10 * time.Minute // the progress limit is one
	d, me, task := declaring(t, noun.RoleSpec{})
	d.must(Declare{Speaker: me, Waiting: noun.WaitingTool, For: bound, Text: "go test ./..."})
	d.pass(bound * 9 / 10)
	if got := d.s.Task(task).State; got != noun.TaskInProgress {
		t.Fatalf("the task is %s while the tool may run", got)
	}
	v := d.s.Verdict(d.agent("r/a").ID, true)
	if v.Kind != judge.AgentBusy ||
		!slices.ContainsFunc(v.Reasons,
			func(r judge.Reason) bool { return strings.Contains(r.Text, "in_tool for 1m0s more") }) {
		t.Errorf("%s: %+v", v.Kind, v.Reasons)
	}
	d.pass(bound/10 + time.Minute - time.Second)
	if got := d.s.Task(task).State; got != noun.TaskInProgress {
		t.Fatalf("the task is %s before the bound and the limit are over", got)
	}
	d.pass(time.Second)
	if got := d.s.Task(task); got.State != noun.TaskPending || got.Charged != 1 {
		t.Errorf("the task is %s, charged %d, after both", got.State, got.Charged)
	}
}

// Incident I36: who waits for a human loses nothing however late the answer comes, is
// shown so, and says it once.
func TestI36WaitsForAHuman(t *testing.T) {
	d, me, task := declaring(t, noun.RoleSpec{HealthEvery: time.Minute, HealthMissed: 2})
	d.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: noun.NeedsInputLimit, Text: "may I delete it?"})
	d.pass(100 * time.Minute) // a hundred limits
	id := d.agent("r/a").ID
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentNeedsInput || v.Kind.Grave() {
		t.Errorf("%s: %+v", v.Kind, v.Reasons)
	}
	if got := d.s.Task(task).State; got != noun.TaskInProgress {
		t.Fatalf("the task is %s", got)
	}
	if n := d.happened("agent.declared"); n != 1 {
		t.Errorf("said %d times", n)
	}
	d.must(Declare{Speaker: me}) // the answer has come
	work := Work{Speaker: me, Task: task, Attempt: 1}
	d.must(ProgressTask{Work: work, Note: "on"})
	d.must(CompleteTask{Work: work, Result: "done"})
}

// Incident I46: an agent that beats and does not start what it took loses it, is called
// deaf when it lets the next task wait too, and gets work again only by asking for it.
func TestI46DeafWorker(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour, AckLimit: time.Minute, PendingLimit: time.Minute})
	me := d.hand("r/a")
	id := d.agent("r/a").ID
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.pass(time.Minute)
	if got := d.s.Task(task); got.State != noun.TaskPending || d.agent("r/a").Task != 0 {
		t.Fatalf("a task that was not started is %s", got.State)
	}
	for range 10 {
		d.pass(30 * time.Second)
		d.beat(0, BeatLease, id)
	}
	if a, v := d.agent("r/a"), d.s.Verdict(id, true); v.Kind != judge.AgentDeaf || v.Fine || a.Task != 0 {
		t.Errorf("it is %s, fine %v, and holds task %d: %+v", v.Kind, v.Fine, a.Task, v.Reasons)
	}
	d.want(noun.Superseded, StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.must(Join{Speaker: me})
	if got := d.must(Claim{Speaker: me}); got.Task != task {
		t.Fatalf("it asked, and got %d", got.Task)
	}
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 2}})
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentHealthy {
		t.Errorf("it works, and is %s: %+v", v.Kind, v.Reasons)
	}
}

// Incident I139: an agent that polls every 5 min with the same command, and says the same
// each time, was called stuck after four repetitions. Twenty are no stall here, with equal
// notes and without any: each is a word. When the words end, a nudge is the first that it
// hears, half an hour after the last of them. (What its commands answer vigil does not see, so
// whether the polling is of any use a human must judge, or a turn limit.)
func TestI139RepetitionIsNoStall(t *testing.T) {
	for _, note := range []string{"waiting for the build", ""} {
		d := newDrive(t)
		d.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
		h := d.host("h1", "w")
		d.room("r", noun.RoleSpec{Name: "a", Runner: "w"})
		me := d.start("r/a", h)
		d.must(Join{Speaker: me})
		w := Work{Speaker: me, Task: d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task, Attempt: 1}
		d.must(Claim{Speaker: me})
		d.must(StartTask{Work: w})
		id := d.agent("r/a").ID
		for i := range 20 {
			d.jump(5 * time.Minute)
			d.must(ProgressTask{Work: w, Note: note})
			d.jump(judge.StalledAfter / 10)
			if c := d.s.Climb(id); c.Next != noun.NoRung || d.s.Verdict(id, true).Kind != judge.AgentHealthy {
				t.Fatalf("after %d repetitions of %q it is %s, next is %s", i+1, note,
					d.s.Verdict(id, true).Kind, c.Next)
			}
		}
		d.jump(judge.StalledAfter)
		if c := d.s.Climb(id); c.Next != noun.RungNudge {
			t.Errorf("after its last word the next rung is %s (%s), want a nudge", c.Next, c.Why)
		}
		d.must(StepLadder{Agent: id, Inc: me.Inc, Rung: noun.RungNudge})
		for _, e := range d.s.EventTable.From(0) {
			if note != "" && strings.Contains(e.Text, note) {
				t.Errorf("the note is in the event %s", e.Kind)
			}
		}
	}
}
