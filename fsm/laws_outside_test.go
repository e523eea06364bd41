package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// outside starts an agent that joins its room and leaves it again, as when a human has given it something to do.
func newOutside(t *testing.T, level uint32) *hung {
	t.Helper()
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	if level > core.Baseline {
		x.must(RaiseLevel{Level: level})
	}
	x.h = x.host("h1", "w")
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", StartLimit: 2 * time.Minute})
	x.me = x.start(hungName, x.h)
	x.must(Join{Speaker: x.me})
	x.beating(20 * time.Second)
	x.must(Leave{Speaker: x.me, Reason: "interrupted"})
	return x
}

func (x *hung) stopped() bool { return x.agent(hungName).Order == noun.StopOrder }

// uses tells of one more use of a tool.
func (x *hung) uses(n uint64) {
	x.t.Helper()
	e := x.entry()
	e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Usage: []Used{{Agent: x.agent(hungName).ID, Inc: x.me.Inc,
		Run: 1, Shell: n}}}}
	x.apply(e)
}

// L11: a life that works between two tasks has not failed to join: the start limit of one that has left its room
// runs from the end of what it has declared, from its last use of a tool and from the end of what it prints. Signs
// without a word put it off for four hours in all.
func TestL11WorkBetweenTwoTasks(t *testing.T) {
	screen := func(kind noun.PromptKind, quiet bool) func(*hung) {
		return func(x *hung) {
			x.must(ReportScreen{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Kind: kind, Quiet: quiet})
		}
	}
	for _, c := range []struct {
		name       string
		begin, end func(*hung)
	}{
		{"a declaration", func(x *hung) {
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
		}, func(x *hung) { x.must(Declare{Speaker: x.me}) }},
		{"a terminal that falls silent", screen(noun.PromptNone, false), screen(noun.PromptNone, true)},
		{"a terminal back at its prompt", screen(noun.PromptNone, false), screen(noun.PromptIdle, false)},
		{"tools", func(x *hung) {}, func(x *hung) {}},
	} {
		x := newOutside(t, core.LevelRetry)
		c.begin(x)
		for n := range uint64(20) {
			x.beating(time.Minute)
			if c.name == "tools" {
				x.uses(n + 1)
			}
		}
		if x.stopped() {
			t.Errorf("%s: it was stopped at work", c.name)
		}
		c.end(x)
		x.s = reload(t, x.s)
		x.beating(100 * time.Second)
		if x.stopped() {
			t.Errorf("%s: its start limit did not run from the last sign", c.name)
		}
		x.beating(40 * time.Second)
		if !x.stopped() || x.events("agent.start_limit") != 1 {
			t.Errorf("%s: it was never replaced", c.name)
		}
	}
}

// L3: what flows over a terminal for ever, and tools that are used for ever, are no work.
func TestL3SignsWithoutAWordHaveABound(t *testing.T) {
	x := newOutside(t, core.LevelRetry)
	x.must(ReportScreen{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Kind: noun.PromptNone})
	for n := range uint64(4 * 60) {
		x.uses(n + 1)
		x.beating(time.Minute)
	}
	if x.stopped() {
		t.Error("it was stopped at work")
	}
	x.beating(4 * time.Minute)
	if !x.stopped() {
		t.Error("a spinner keeps a life for ever")
	}
}

// L3: a life that has never been in its room is not excused by what it prints or uses, only by its word. L12: before
// the feature level nothing of it counts.
func TestL3LivesThatNeverJoinAreReplacedAtWork(t *testing.T) {
	for name, c := range map[string]struct {
		level    uint32
		join     bool
		declare  bool
		replaced bool
	}{
		"never joined":           {core.LevelRetry, false, false, true},
		"never joined, declared": {core.LevelRetry, false, true, false},
		"before the level":       {core.Baseline, true, true, true},
	} {
		x := newOutside(t, c.level)
		if !c.join {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc})
			x.jump(time.Minute)
			x.beat(x.h, 0)
			x.me = x.start(hungName, x.h)
		}
		if c.declare {
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
		}
		x.must(ReportScreen{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Kind: noun.PromptNone})
		x.uses(1)
		x.beating(2*time.Minute + 20*time.Second)
		if x.stopped() != c.replaced {
			t.Errorf("%s: it is stopped: %v", name, x.stopped())
		}
	}
}

// L3: a life that worked outside its room when its host fell silent does so when it is back: another one is started for
// what waits, and the hours for which signs of work excuse it are not counted anew. One that was there until then is
// expected in its room.
func TestL3LivesOutsideTheirRoomComeBackOutside(t *testing.T) {
	for name, c := range map[string]struct {
		leaves, lapses bool // before the silence
		wanting        int
	}{"it has left": {true, false, 1}, "its lease had ended": {false, true, 1}, "it was there": {false, false, 0}} {
		d := newRetryDrive(t)
		h := d.host("h1", "worker")
		d.room("demo", managed("b", func(r *noun.RoleSpec) {
			r.Start, r.Replicas, r.TTL, r.Proof = noun.StartOnDemand, 2, time.Minute, noun.ProofAgent
		}))
		d.must(CreateTask{Room: "demo", Role: "b"})
		sp := d.start("demo/b", h)
		d.must(Join{Speaker: sp})
		d.jump(time.Second)
		if c.leaves {
			d.must(Leave{Speaker: sp, Reason: "interrupted"})
		}
		if c.lapses {
			for range 8 {
				d.jump(10 * time.Second)
				d.beat(h, BeatFence, 1)
			}
		}
		d.jump(5 * time.Second)
		d.beat(h, BeatFence, 1)
		d.jump(10 * time.Minute)
		if a := d.agent("demo/b"); !a.Proc.GivenUp() {
			t.Fatalf("%s: it is %s", name, a.Proc)
		}
		d.s = reload(t, d.s)
		d.beat(h, BeatFence, 1)
		n := 0
		for range d.s.Wanting() {
			n++
		}
		if a := d.agent("demo/b"); a.Proc != noun.ProcRunning || n != c.wanting {
			t.Errorf("%s: it is %s, and %d are to be started, want %d", name, a.Proc, n, c.wanting)
		}
	}

	x := newOutside(t, core.LevelRetry)
	prints := ReportScreen{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Kind: noun.PromptNone}
	x.must(prints)
	x.beating(3 * time.Hour)
	x.jump(10 * time.Minute)
	if a := x.agent(hungName); !a.Proc.GivenUp() {
		t.Fatalf("it is %s", a.Proc)
	}
	x.beat(x.h, BeatFence, x.agent(hungName).ID)
	x.must(prints)
	if x.beating(40 * time.Minute); x.stopped() {
		t.Error("it was stopped at work")
	}
	if x.beating(20 * time.Minute); !x.stopped() {
		t.Error("each silence of its host gives it four hours more")
	}
}
