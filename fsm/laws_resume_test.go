package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// resuming is an agent that has said what its next life goes on with, and has crashed since.
type resuming struct {
	*drive
	h  noun.HostID
	me Speaker
}

func newResuming(t *testing.T, level uint32) *resuming {
	t.Helper()
	x := &resuming{drive: newDrive(t)}
	if level > Baseline {
		x.must(RaiseLevel{Level: level})
	}
	x.h = x.host("h1", "worker")
	x.room("demo", managed("b"))
	x.begin()
	x.must(SetResume{Speaker: x.me, Resume: "chat-1"})
	x.crash()
	return x
}

// begin starts the next life when its back-off is over.
func (x *resuming) begin() {
	x.t.Helper()
	for range 8 {
		x.pass(15 * time.Second)
		x.beat(x.h, 0)
	}
	x.me = x.start("demo/b", x.h)
}

func (x *resuming) crash() {
	x.t.Helper()
	x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Code: 1})
}

// fail is a life that ends at once, with nothing done.
func (x *resuming) fail() {
	x.t.Helper()
	x.begin()
	x.crash()
}

// work is a life that takes a task and begins with it.
func (x *resuming) work() Work {
	x.t.Helper()
	x.begin()
	x.must(Join{Speaker: x.me})
	id := x.must(CreateTask{Room: "demo", Role: "b"}).Task
	w := Work{Speaker: x.me, Task: id, Attempt: x.must(Claim{Speaker: x.me}).Attempt}
	x.must(StartTask{Work: w})
	x.pass(time.Second)
	return w
}

// A resume value may name what went with a host that is lost. Two lives in a row that begin with it and
// fail with nothing done end that: the next one begins afresh, and what that one says is kept. Before the
// feature level begins it waits for a human, as it did.
func TestResumeValueWithWhichNobodyGetsOn(t *testing.T) {
	x := newResuming(t, core.LevelRetry)
	x.fail()
	if got := x.agent("demo/b").Resume; got != "chat-1" {
		t.Fatalf("%q after one failure", got)
	}
	x.s = reload(t, x.s) // L12
	x.fail()
	if got := x.agent("demo/b").Resume; got != "" {
		t.Fatalf("%q after two failures", got)
	}
	if texts := x.eventTexts("agent.resume_forgotten"); len(texts) != 1 ||
		!strings.Contains(texts[0], "2 starts in a row") ||
		strings.Contains(texts[0], "chat-1") {
		t.Errorf("%q", texts)
	}
	if a := x.agent("demo/b"); a.Failures != 3 { // the life that said it has failed, too
		t.Errorf("%d failures", a.Failures)
	}
	x.begin()
	x.must(SetResume{Speaker: x.me, Resume: "chat-2"})
	x.crash()
	x.fail()
	if got := x.agent("demo/b").Resume; got != "chat-2" {
		t.Errorf("%q after one failure with another value", got)
	}

	old := newResuming(t, Baseline)
	old.fail()
	old.fail()
	if a := old.agent("demo/b"); a.Resume != "chat-1" || a.Unresumed != 0 || a.Resumed != 0 {
		t.Errorf("before the level: %+v", a)
	}
}

// A life that does not come as far as its room has failed with the value, too.
func TestResumeValueWithWhichNobodyJoins(t *testing.T) {
	x := newResuming(t, core.LevelRetry)
	for range 2 {
		x.begin()
		for x.agent("demo/b").Order != noun.StopOrder {
			x.pass(5 * time.Second)
			x.beat(x.h, BeatFence|BeatVouch, 1)
		}
		x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Signal: "terminated"})
	}
	if a := x.agent("demo/b"); a.LastExit.Kind != noun.ExitTimedOut || a.Resume != "" {
		t.Errorf("%+v, resume %q", a.LastExit, a.Resume)
	}
}

// What ends a life between two failures: what shows that the value is good begins the count anew, and what
// is no fault of the life, or nothing that ever ran, counts for neither.
func TestResumeValueIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		between func(x *resuming)
		anew    bool
	}{
		"a task was done": {func(x *resuming) {
			x.must(CompleteTask{Work: x.work(), Result: "done"})
			x.crash()
		}, true},
		"there was progress": {func(x *resuming) {
			x.must(ProgressTask{Work: x.work(), Note: "half"})
			x.crash()
		}, true},
		"it was restarted": {func(x *resuming) {
			x.begin()
			x.must(RestartAgent{Agent: "demo/b", By: "ann"})
			x.crash()
		}, false},
		"its host came back without it": {func(x *resuming) {
			x.begin()
			x.host("h1", "worker")
		}, false},
		"its host was lost": {func(x *resuming) {
			x.begin()
			x.jump(10 * time.Minute)
			x.host("h1", "worker")
		}, false},
		"out of quota": {func(x *resuming) {
			x.begin()
			x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Code: 1, Kind: noun.ExitUsageLimit,
				RetryAfter: time.Second})
		}, false},
		"nothing ever ran": {func(x *resuming) {
			x.begin()
			x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Kind: noun.ExitStartFailed, Reason: "no such program"})
		}, false},
		"it went by itself": {func(x *resuming) {
			x.begin()
			x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newResuming(t, core.LevelRetry)
			x.fail()
			tt.between(x)
			if a := x.agent("demo/b"); a.Resume != "chat-1" || a.Proc.Fenced() {
				t.Fatalf("resume %q, %s", a.Resume, a.Proc)
			}
			x.fail()
			if got := x.agent("demo/b").Resume; (got != "") != tt.anew {
				t.Errorf("%q after the next failure", got)
			}
		})
	}
}

// Tools say their value again at the start of each life: that shows nothing, and a conversation that nothing can
// go on with ("Prompt is too long") is forgotten all the same. Nor does a task die of it, until a fresh one has seen
// it; and then as ever, since the task may be the cause.
func TestResumeValueThatToolsSayAgain(t *testing.T) {
	for _, level := range []uint32{Baseline, core.LevelRetry} {
		x := &resuming{drive: newDrive(t)}
		if level > Baseline {
			x.must(RaiseLevel{Level: level})
		}
		x.h = x.host("h1", "worker")
		x.room("demo", managed("b"))
		id := x.must(CreateTask{Room: "demo", Role: "b"}).Task
		chat := "chat-1"
		life := func(kills uint32, resume string) {
			t.Helper()
			x.begin()
			x.must(SetResume{Speaker: x.me, Resume: chat})
			x.must(Join{Speaker: x.me})
			out := x.must(Claim{Speaker: x.me})
			x.must(StartTask{Work: Work{Speaker: x.me, Task: out.Task, Attempt: out.Attempt}})
			x.crash()
			if k := x.s.Task(id); k.Kills != kills || x.agent("demo/b").Resume != resume {
				t.Fatalf("level %d: %d deaths, want %d, resume value %q, want %q", level, k.Kills, kills,
					x.agent("demo/b").Resume, resume)
			}
			x.s = reload(t, x.s) // L12
		}
		life(1, chat)
		if level == Baseline {
			life(2, chat)
			life(3, chat)
			continue
		}
		life(1, chat)
		life(1, "")
		chat = "chat-2"
		life(2, chat)
		if k := x.s.Task(id); k.State != noun.TaskPending || x.events("agent.resume_forgotten") != 1 {
			t.Fatalf("%+v", k)
		}
		life(3, chat)
		if k := x.s.Task(id); k.State != noun.TaskQuarantined {
			t.Errorf("%+v", k)
		}
	}
}

// Nor is an attempt charged for such a death: with an attempt limit of 1 a fresh conversation would never see the task.
// For the role the attempt has failed all the same.
func TestResumeValueCostsNoAttempt(t *testing.T) {
	x := newResuming(t, core.LevelRetry)
	x.drive.room("demo", managed("b", func(r *noun.RoleSpec) { r.AttemptLimit = 1 }))
	id := x.must(CreateTask{Room: "demo", Role: "b"}).Task
	for n := range 3 {
		x.begin()
		x.must(Join{Speaker: x.me})
		x.must(Claim{Speaker: x.me, Start: true})
		x.crash()
		if k, r := x.s.Task(id), x.s.Role(x.agent("demo/b").Role); (k.State == noun.TaskPending) != (n < 2) ||
			k.Charged != k.Kills || len(r.Endings) != n+1 || !r.Endings[n].Failed {
			t.Fatalf("after %d: %+v, %+v", n+1, k, r.Endings)
		}
	}
	if x.agent("demo/b").Resume != "" || x.s.Task(id).State != noun.TaskFailed {
		t.Errorf("%+v", x.s.Task(id))
	}
}

// A conversation with which lives hang costs their task nothing either, neither when the ladder ends them nor when
// their end comes, however that is.
func TestResumeValueWithWhichLivesHang(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprint("they leave: ", leaves), func(t *testing.T) {
			x := hungAgent(t, func(r *noun.RoleSpec) { r.AttemptLimit, r.KillLimit = 9, 9 })
			x.must(RaiseLevel{Level: core.LevelRetry})
			x.must(PutSettings{Values: []noun.KV{{Key: "ladder_cooldown", Value: "0s"}}})
			x.must(SetResume{Speaker: x.me, Resume: "chat-1"})
			for n := range 3 { // the first life has begun without it
				if n > 0 {
					x.begin()
					x.stall()
				}
				for x.agent(hungName).Order != noun.StopOrder {
					x.up(x.climb().Next)
				}
				if k := x.s.Task(x.task); k.Kills != 1 {
					t.Fatalf("life %d: the ladder has ended it: %+v", n, k)
				}
				if leaves {
					x.must(Leave{Speaker: x.me})
				}
				x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Signal: "killed"})
				k := x.s.Task(x.task)
				if k.Kills != 1 || k.Charged > 1 || k.Retried().Spared != uint32(n) {
					t.Fatalf("life %d: %+v, %+v", n, k, k.Retried())
				}
				for x.agent(hungName).NotBefore > x.clock {
					x.jump(30 * time.Second)
					x.beat(x.h, 0)
				}
				x.s = reload(t, x.s) // L12
			}
			if got := x.agent(hungName).Resume; got != "" {
				t.Errorf("resume value %q", got)
			}
		})
	}
}

// A conversation with which a life lets the progress limit pass costs its task nothing either, and the end of that life
// is one of its failures, though its program ends by itself.
func TestResumeValueWithWhichALimitPasses(t *testing.T) {
	x := newResuming(t, core.LevelRetry)
	x.drive.room("demo", managed("b", func(r *noun.RoleSpec) { r.ProgressLimit, r.StartLimit = time.Minute, time.Hour }))
	id := x.must(CreateTask{Room: "demo", Role: "b"}).Task
	for n := range uint32(2) {
		x.begin()
		x.must(Join{Speaker: x.me})
		x.must(Claim{Speaker: x.me, Start: true})
		for range 5 {
			x.pass(15 * time.Second)
			x.beat(x.h, BeatFence|BeatVouch|BeatLease, 1)
		}
		if k := x.s.Task(id); k.State != noun.TaskPending || k.Charged != 0 || k.Retried().Spared != n+1 {
			t.Fatalf("life %d: %+v, %+v", n, k, k.Retried())
		}
		failures := x.agent("demo/b").Failures
		x.crash()
		if a := x.agent("demo/b"); a.LastExit.Kind != noun.ExitTimedOut || a.Failures != failures+1 {
			t.Fatalf("life %d: %+v after %d failures", n, a.LastExit, a.Failures)
		}
	}
	if got := x.agent("demo/b").Resume; got != "" {
		t.Errorf("%q", got)
	}
}

// Failures with a value that an agent has withdrawn say nothing of the next one: two lives have to fail with that.
func TestResumeValueAfterAnother(t *testing.T) {
	x := newResuming(t, core.LevelRetry)
	x.must(PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "20"}}})
	x.fail()
	x.begin()
	x.must(SetResume{Speaker: x.me})
	x.crash()
	x.begin()
	x.must(SetResume{Speaker: x.me, Resume: "chat-2"})
	x.crash()
	x.fail()
	if got := x.agent("demo/b").Resume; got != "chat-2" || x.events("agent.resume_forgotten") != 0 {
		t.Fatalf("%q after one failure", got)
	}
	x.s = reload(t, x.s) // L12
	x.fail()
	if got := x.agent("demo/b").Resume; got != "" || x.events("agent.resume_forgotten") != 1 {
		t.Errorf("%q after two failures", got)
	}
}
