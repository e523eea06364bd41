package fsm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// exhausted is a role of agents whose lives end at a limit of their tool at once.
type exhausted struct {
	*drive
	h noun.HostID
}

func newExhausted(t *testing.T, level, agents uint32) *exhausted {
	t.Helper()
	x := &exhausted{drive: newDrive(t)}
	x.jump(time.Minute)
	if level > core.Baseline {
		x.must(RaiseLevel{Level: level})
	}
	x.h = x.host("h1", "worker")
	x.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = agents }))
	return x
}

// ends starts an agent as soon as it may be, and has that life end at the limit; it tells for how long it is parked.
func (x *exhausted) ends(name string, retry time.Duration) time.Duration {
	x.t.Helper()
	x.wait(name, x.h)
	sp := x.start(name, x.h)
	x.must(ReportExit{Host: x.h, Agent: x.agent(name).ID, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit,
		RetryAfter: retry})
	x.s = reload(x.t, x.s)
	return x.agent(name).NotBefore.Sub(x.clock)
}

// works has the next life of an agent do a task and end.
func (x *exhausted) works(name string) {
	x.t.Helper()
	x.wait(name, x.h)
	sp := x.start(name, x.h)
	x.must(Join{Speaker: sp})
	x.must(CreateTask{Room: "demo", Role: "b"})
	out := x.must(Claim{Speaker: sp})
	x.must(CompleteTask{Work: Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}})
	x.must(ReportExit{Host: x.h, Agent: x.agent(name).ID, Inc: sp.Inc})
}

// called gives the last escalation about the limit, nil where there is none, and how many there are.
func (x *exhausted) called() (last *noun.Escalation, n int) {
	for e := range x.s.Escalations(0) {
		if e.Kind == noun.EscLimitLasts {
			last, n = e, n+1
		}
	}
	return last, n
}

// L11: where waiting does not help a human is called within the hour, once for all agents of a role, and is not
// called again as long as it goes on; who waits waits for no longer than the breaker's pause, or than the tool says.
// Once one of them works the escalation is over by itself.
func TestL11WhoWaitsInVainCallsAHuman(t *testing.T) {
	login := []time.Duration{15 * time.Minute, 30 * time.Minute}
	for name, c := range map[string]struct {
		retry  time.Duration
		called int             // at the end of which life of the first agent
		pauses []time.Duration // the last one again and again
	}{
		"an expired login": {15 * time.Minute, 2, login},
		"no time is named": {0, 2, login},
		"an outage": {2 * time.Minute, 5, []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
			16 * time.Minute, 30 * time.Minute}},
		"a time is named that is not true": {4 * time.Hour, 3, []time.Duration{4 * time.Hour}},
	} {
		x := newExhausted(t, core.LevelRetry, 3)
		began := x.clock
		for n := range 12 {
			got := x.ends("demo/b", c.retry)
			if want := c.pauses[min(n, len(c.pauses)-1)]; got < want || got > want+time.Minute {
				t.Errorf("%s: after life %d it is parked for %s, want %s", name, n+1, got, want)
			}
			for i := range uint32(2) {
				x.ends(noun.AgentName("demo", "b", i+2), c.retry)
			}
			e, all := x.called()
			if (all > 0) != (n+1 >= c.called) {
				t.Fatalf("%s: after life %d there are %d escalations", name, n+1, all)
			}
			if all > 0 && (all != 1 || e.Count != 1 || e.Subject != "demo/b" || e.State != noun.EscalationOpen ||
				!x.s.Lasts(e)) {
				t.Fatalf("%s: after life %d: %d escalations, %+v", name, n+1, all, e)
			}
			if all == 0 && c.retry < time.Hour && x.clock.Sub(began) > time.Hour {
				t.Errorf("%s: nobody was called for %s", name, x.clock.Sub(began))
			}
		}
		x.works("demo/b.2")
		if e, _ := x.called(); e.State != noun.EscalationClosed || x.s.Lasts(e) {
			t.Errorf("%s: it works, and %+v", name, e)
		}
		if got := x.ends("demo/b.2", c.retry); got > c.pauses[0]+time.Minute {
			t.Errorf("%s: parked for %s after work", name, got)
		}
		if _, n := x.called(); n != 1 || x.s.Role(x.agent("demo/b").Role).Vain != 0 {
			t.Errorf("%s: one limit after work calls a human", name)
		}
	}
}

// L11: whoever closes the escalation while the limit lasts hears of it again, once; so it is where it was pushed out, or
// never let in, by others. Who acknowledges it looks after it, and a role that goes leaves nothing behind that says
// that somebody was called.
func TestL11TheCallAboutALimitIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		between func(*exhausted)
		counts  []uint64 // of each escalation
	}{
		"closed": {func(x *exhausted) {
			x.must(CloseEscalation{Escalation: 1, By: "ann", Note: "I have logged in"})
		}, []uint64{1, 1}},
		"acknowledged": {func(x *exhausted) { x.must(AckEscalation{Escalation: 1, By: "ann"}) }, []uint64{1}},
		"nothing":      {func(x *exhausted) {}, []uint64{1}},
	} {
		x := newExhausted(t, core.LevelRetry, 2)
		for range 3 {
			x.ends("demo/b", 0)
			x.ends("demo/b.2", 0)
		}
		c.between(x)
		for range 3 {
			x.ends("demo/b", 0)
			x.ends("demo/b.2", 0)
		}
		var counts []uint64
		for e := range x.s.Escalations(0) {
			if e.Kind == noun.EscLimitLasts {
				counts = append(counts, e.Count)
			}
		}
		if e, _ := x.called(); !slices.Equal(counts, c.counts) || e.State == noun.EscalationClosed || !x.s.Lasts(e) {
			t.Errorf("%s: they count %d, and the last one is %+v", name, counts, e)
		}
	}

	x := newExhausted(t, core.LevelRetry, 1) // others fill the list
	x.ends("demo/b", 0)
	x.s.Hooks.Lasts[noun.EscServerDiverged] = func(*noun.Escalation) bool { return true }
	x.wait("demo/b", x.h)
	second := x.start("demo/b", x.h)
	x.must(happenMany{0, noun.MaxOpenEscalations, noun.EscServerDiverged, noun.MailUrgent})
	x.must(ReportExit{Host: x.h, Agent: 1, Inc: second.Inc, Code: 1, Kind: noun.ExitUsageLimit})
	if _, all := x.called(); all != 0 {
		t.Fatalf("%d escalations with no free place", all)
	}
	x.must(CloseEscalation{Escalation: 1, By: "ann"})
	x.ends("demo/b", 0)
	if _, all := x.called(); all != 1 {
		t.Errorf("%d escalations with a free place", all)
	}

	x = newExhausted(t, core.LevelRetry, 2) // a life that is over another limit ends after its role has gone
	for range 3 {
		x.ends("demo/b", 0)
	}
	x.wait("demo/b", x.h)
	x.start("demo/b.2", x.h)
	sp := x.start("demo/b", x.h)
	for n := 0; !x.agent("demo/b").Overdue; n++ {
		if n == 100 {
			t.Fatal("it has no start limit")
		}
		x.jump(20 * time.Second)
		x.beat(x.h, BeatFence, 1, 2)
	}
	x.must(ApplyRoom{Room: "demo"})
	x.must(ReportExit{Host: x.h, Agent: 1, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit})
	if r := x.s.Role(x.agent("demo/b.2").Role); !r.Retired || r.Vain != 0 {
		t.Errorf("what is no longer declared waits in vain: %+v", r)
	}
}

// L9: a human's start is another try, and so is a role that is declared no more; an agent that has never been at the
// limit says nothing about those that are, which may have another login, until nothing is heard of these. L12: before
// the feature level nobody is called.
func TestL9WhatEndsTheCallAboutALimit(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*exhausted)
		open bool
	}{
		"nothing":       {func(*exhausted) {}, true},
		"a start":       {func(x *exhausted) { x.must(SetAgent{Agent: "demo/b", By: "ann"}) }, false},
		"an unpark":     {func(x *exhausted) { x.must(UnparkAgent{Agent: "demo/b", By: "ann"}) }, false},
		"its role goes": {func(x *exhausted) { x.must(ApplyRoom{Room: "demo"}) }, false},
		"its room goes": {func(x *exhausted) { x.must(DeleteRoom{Room: "demo"}) }, false},
		"another works": {func(x *exhausted) { x.works("demo/b.2") }, true},
		"another works for long": {func(x *exhausted) {
			for range 8 {
				x.works("demo/b.2")
				x.jump(10 * time.Minute)
				x.host("h1", "worker")
			}
		}, false},
	} {
		x := newExhausted(t, core.LevelRetry, 2)
		for range 3 {
			x.ends("demo/b", 0)
		}
		c.end(x)
		x.s = reload(t, x.s)
		e, n := x.called()
		if n != 1 || (e.State == noun.EscalationOpen) != c.open || x.s.Lasts(e) != c.open {
			t.Errorf("%s: %d escalations, %+v", name, n, e)
		}
	}
	x := newExhausted(t, core.Baseline, 1)
	for i := range 5 {
		x.ends("demo/b", 0)
		if _, n := x.called(); n != 0 {
			t.Fatal(fmt.Sprint("called before the level, after life ", i+1))
		}
	}
}

// L11: a task with which each life uses tokens and ends at a limit, so that nothing is charged, ends all the same: so
// many such ends count as an attempt. Progress begins anew, and an outage, in which nothing is used, costs nothing.
func TestL11TaskThatAlwaysEndsAtALimitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		uses, progress bool
		ends           bool // within 60 lives
	}{
		"it uses tokens":                {true, false, true},
		"it uses tokens and gets on":    {true, true, false},
		"nothing answers, no token":     {false, false, false},
		"a word, although none is used": {false, true, false},
	} {
		x := newExhausted(t, core.LevelRetry, 1)
		task := x.must(CreateTask{Room: "demo", Role: "b"}).Task
		lives := 0
		for ; lives < 60 && !x.s.Task(task).State.Terminal(); lives++ {
			x.wait("demo/b", x.h)
			sp := x.start("demo/b", x.h)
			x.must(Join{Speaker: sp})
			out := x.must(Claim{Speaker: sp})
			w := Work{Speaker: sp, Task: out.Task, Attempt: out.Attempt}
			x.must(StartTask{Work: w})
			x.jump(time.Second)
			if c.progress && lives%10 == 9 {
				x.must(ProgressTask{Work: w, Note: "on"})
			}
			if c.uses {
				e := x.entry()
				e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Usage: []Used{{Agent: x.agent("demo/b").ID, Inc: sp.Inc,
					Run: 1, Output: uint64(lives + 1)}}}}
				x.apply(e)
			}
			x.must(ReportExit{Host: x.h, Agent: x.agent("demo/b").ID, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit})
		}
		k := x.s.Task(task)
		if ended := k.State == noun.TaskFailed; ended != c.ends || ended && lives != 60 || !ended && k.Charged != 0 {
			t.Errorf("%s: after %d lives it is %s with %d charged: %s", name, lives, k.State, k.Charged, k.Result)
		}
		if !c.ends {
			continue
		}
		x.must(RetryTask{Task: task, By: "ann"})
		if k := x.s.Task(task); k.Charged != 0 || k.Retried().Limits != 0 {
			t.Errorf("%s: forgiven, it has %+v", name, k)
		}
	}
}
