package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// timed is something that a human may set with an end, of agent demo/b on host h1.
type timed struct {
	name string
	set  func(span time.Duration, by string) Command
	undo Command
	on   func(d *drive) bool // it is set
	end  func(d *drive) noun.End
	// events of setting it and of its end, and the kind of its row
	begins, ends, row string
}

var timedIntents = []timed{
	{"stop", func(span time.Duration, by string) Command {
		return SetAgent{Agent: "demo/b", Stop: true, By: by, Reason: "lunch", For: span}
	}, SetAgent{Agent: "demo/b", By: "eve"},
		func(d *drive) bool { return d.agent("demo/b").Stopped },
		func(d *drive) noun.End { return d.agent("demo/b").Ends().Stop },
		"agent.stopped", "agent.wanted", "end of the stop"},
	{"pause", func(span time.Duration, by string) Command {
		return SetPause{Scope: "demo/b", Pause: true, By: by, Reason: "lunch", For: span}
	}, SetPause{Scope: "demo/b", By: "eve"},
		func(d *drive) bool { return d.agent("demo/b").Paused },
		func(d *drive) noun.End { return d.agent("demo/b").Ends().Pause },
		"agent.paused", "agent.resumed", "end of the pause"},
	{"pause of the room", func(span time.Duration, by string) Command {
		return SetPause{Scope: "demo", Pause: true, By: by, Reason: "lunch", For: span}
	}, SetPause{Scope: "demo", By: "eve"},
		func(d *drive) bool { return d.s.Room("demo").Paused },
		func(d *drive) noun.End { return d.s.Room("demo").PauseEnd },
		"room.paused", "room.resumed", "end of the pause"},
	{"pause of everything", func(span time.Duration, by string) Command {
		return SetPause{Pause: true, By: by, Reason: "lunch", For: span}
	}, SetPause{By: "eve"},
		func(d *drive) bool { return d.s.Meta.Paused },
		func(d *drive) noun.End { return d.s.Meta.PauseEnd },
		"cluster.paused", "cluster.resumed", "end of the pause"},
	{"drain", func(span time.Duration, by string) Command { return DrainHost{Host: 1, By: by, For: span} },
		DrainHost{Host: 1, Off: true, By: "eve"},
		func(d *drive) bool { return d.s.Host(1).Drain },
		func(d *drive) noun.End { return d.s.Host(1).DrainEnd },
		"host.drained", "host.undrained", "end of the drain"},
}

// timedScene is one agent that may run on one host, in a cluster at the level at which ends exist.
func timedScene(t *testing.T) *drive {
	d := newDrive(t)
	d.must(RaiseLevel{Level: NewestLevel})
	d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
	d.host("h1", "worker")
	d.room("demo", managed("b"))
	return d
}

// rowOf finds what the table of deadlines says of the end.
func (x *timed) rowOf(d *drive) due.Row {
	rows, _ := d.s.AgentDeadlines(d.agent("demo/b").ID)
	if x.name == "drain" {
		return due.Row{} // it is shown of the agents that live there
	}
	return kindsOf(rows)[x.row]
}

// L9: what a human sets for a time ends then, not before, as if a human had ended it; an event says
// whose word it was and for how long. A restart of all servers on the way changes nothing.
func TestN34WhatAHumanSetsEndsByItself(t *testing.T) {
	for _, x := range timedIntents {
		t.Run(x.name, func(t *testing.T) {
			d := timedScene(t)
			if why := d.s.Why(1); why.Code != "start_due" {
				t.Fatalf("%+v", why)
			}
			d.must(x.set(2*time.Hour, "ann"))
			if !x.on(d) || x.end(d) != noun.EndIn(d.clock, 2*time.Hour) {
				t.Fatalf("set: %v, it ends %+v", x.on(d), x.end(d))
			}
			why, row := d.s.Why(1), x.rowOf(d)
			if !strings.Contains(why.Text, "for another 2h0m0s by ann") || x.name != "drain" && why.Left != 2*time.Hour {
				t.Errorf("explained as %+v", why)
			}
			if x.name != "drain" && (row.Kind == nil || row.Span != 2*time.Hour || row.At() != d.clock.Add(2*time.Hour)) {
				t.Errorf("the row of its end is %+v", row)
			}
			if text := d.said(x.begins); !strings.Contains(text, "for 2h0m0s by ann") {
				t.Errorf("its event says %q", text)
			}
			d.jump(2*time.Hour - 1)
			d.s = reload(t, d.s)
			if !x.on(d) || d.s.Wants(d.agent("demo/b")) && x.name != "drain" {
				t.Fatal("over before its time")
			}
			d.jump(1)
			if x.on(d) || x.end(d) != (noun.End{}) || x.rowOf(d).Kind != nil {
				t.Fatalf("it goes on after its end: %v until %+v, %+v", x.on(d), x.end(d), x.rowOf(d))
			}
			if why := d.s.Why(1); why.Code != "start_due" || !d.s.Wants(d.agent("demo/b")) {
				t.Fatalf("nothing is started after its end: %+v", why)
			}
			if text := d.said(x.ends); !strings.Contains(text, x.word()+" for 2h0m0s by ann") ||
				!strings.Contains(text, "is over") {
				t.Errorf("the event of its end says %q", text)
			}
			d.start("demo/b", 1)
			d.must(x.undo) // is idempotent
			if d.happened(x.ends) > 1 && x.name != "stop" {
				t.Errorf("%d events of its end", d.happened(x.ends))
			}
		})
	}
}

// word is what texts call it.
func (x *timed) word() string {
	word, _, _ := strings.Cut(x.name, " ")
	return "the " + word
}

// said is the text of the last event of a kind.
func (d *drive) said(kind string) string {
	texts := d.eventTexts(kind)
	return texts[len(texts)-1]
}

// L9: a later word beats an end that was set before: with another end, with none, by ending it, and by
// setting it anew without an end.
func TestN34ALaterWordBeatsTheEnd(t *testing.T) {
	for _, x := range timedIntents {
		t.Run(x.name, func(t *testing.T) {
			d := timedScene(t)
			d.must(x.set(time.Hour, "ann"))
			d.jump(30 * time.Minute)
			d.must(x.set(2*time.Hour, "bob")) // later
			d.jump(time.Hour)
			if !x.on(d) || x.end(d).At.Sub(d.clock) != time.Hour {
				t.Fatalf("after the first end: %v until %+v", x.on(d), x.end(d))
			}
			if why := d.s.Why(1); x.name != "drain" && !strings.Contains(why.Text, "by bob") {
				t.Errorf("bob has said when it ends: %+v", why)
			}
			d.must(x.set(10*time.Minute, "cat")) // earlier
			d.jump(10 * time.Minute)
			if x.on(d) {
				t.Fatal("it goes on after the earlier end")
			}
			d.must(x.set(time.Hour, "ann"))
			d.must(x.set(0, "bob")) // for good
			d.jump(24 * time.Hour)
			if !x.on(d) || x.end(d) != (noun.End{}) {
				t.Fatalf("set for good, and it is %v until %+v", x.on(d), x.end(d))
			}
			d.must(x.undo)
			d.must(x.set(time.Hour, "ann"))
			d.must(x.undo)
			d.must(x.set(0, "dan"))
			d.jump(24 * time.Hour)
			if !x.on(d) {
				t.Fatal("the end of what a human has ended before has ended the next")
			}
		})
	}
}

// Only what is set may have an end, from a second to a year from now; a refusal changes nothing.
func TestN34EndsOutOfRangeAreRefused(t *testing.T) {
	for _, x := range timedIntents {
		d := timedScene(t)
		for _, span := range []time.Duration{-1, time.Second - 1, 365*24*time.Hour + 1} {
			if out := d.want(noun.Invalid, x.set(span, "ann")); !strings.Contains(out.Detail, "365 days") || x.on(d) {
				t.Errorf("%s for %s: %q, set: %v", x.name, span, out.Detail, x.on(d))
			}
		}
		for _, span := range []time.Duration{time.Second, 365 * 24 * time.Hour} {
			d.must(x.set(span, "ann"))
		}
		undo := x.undo
		switch c := undo.(type) {
		case SetAgent:
			c.For = time.Hour
			undo = c
		case SetPause:
			c.For = time.Hour
			undo = c
		case DrainHost:
			c.For = time.Hour
			undo = c
		}
		if d.want(noun.Invalid, undo); !x.on(d) {
			t.Errorf("%s: a refused word has ended it", x.name)
		}
	}
	d := timedScene(t)
	out := d.want(noun.Invalid, DrainHost{Host: 1, Deadline: time.Hour, For: time.Hour})
	if !strings.Contains(out.Detail, "before the end") {
		t.Errorf("a deadline that never comes: %q", out.Detail)
	}
	d.must(DrainHost{Host: 1, Deadline: time.Hour - 1, For: time.Hour})
}

// L11: a start that follows from the end of a stop is not charged, and forgives, as one that a human
// asks for.
func TestN34EndOfAStopForgives(t *testing.T) {
	d := timedScene(t)
	for range 3 {
		d.jump(10 * time.Second)
		sp := d.start("demo/b", 1)
		d.must(ReportExit{Host: 1, Agent: 1, Inc: sp.Inc, Code: 1})
	}
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann", For: time.Second})
	if a := d.agent("demo/b"); a.Failures == 0 || a.NotBefore.Sub(d.clock) < 2*time.Second {
		t.Fatalf("nothing is to be forgiven: %+v", a)
	}
	d.jump(time.Second)
	if a := d.agent("demo/b"); a.Failures != 0 || !d.s.Wants(a) {
		t.Fatalf("%+v", d.s.Why(1))
	}
}

// L9: the deletion of a room beats the end of its pause; a room of the same name knows nothing of it.
func TestN34DeletedRoomIsNotResumed(t *testing.T) {
	d := timedScene(t)
	sp := d.start("demo/b", 1)
	d.must(SetPause{Scope: "demo", Pause: true, By: "ann", For: time.Hour})
	d.must(DeleteRoom{Room: "demo", By: "bob"})
	if d.s.Room("demo") == nil {
		t.Fatal("gone while its agent runs")
	}
	beat := func() {
		d.jump(30 * time.Second)
		d.beat(1, BeatFence, 1)
	}
	for end := d.clock.Add(2 * time.Hour); d.clock < end; {
		beat()
	}
	if d.happened("room.resumed") != 0 || !d.s.Room("demo").Deleting {
		t.Fatal("it was resumed")
	}
	d.must(ReportExit{Host: 1, Agent: 1, Inc: sp.Inc, Signal: "terminated"})
	if d.s.Room("demo") != nil {
		t.Fatal("it is still there")
	}
	d.room("demo", managed("b"))
	d.must(SetPause{Scope: "demo", Pause: true, By: "ann", For: time.Hour})
	d.must(DeleteRoom{Room: "demo", By: "bob"}) // goes at once
	d.room("demo", managed("b"))
	d.must(SetPause{Scope: "demo", Pause: true, By: "ann"})
	if d.jump(3 * time.Hour); !d.s.Room("demo").Paused {
		t.Fatal("the end of a deleted room's pause has ended another's")
	}
}

// The pauses of an agent, its room and everything are told apart: each ends at its own time.
func TestN34PausesEndOneByOne(t *testing.T) {
	d := timedScene(t)
	d.must(SetPause{Pause: true, By: "ann", For: 3 * time.Hour})
	d.must(SetPause{Scope: "demo", Pause: true, By: "ann", For: 2 * time.Hour})
	d.must(SetPause{Scope: "demo/b", Pause: true, By: "ann", For: time.Hour})
	for _, code := range []string{"paused", "room_paused", "all_paused"} {
		if why := d.s.Why(1); why.Code != code || why.Left != time.Hour {
			t.Fatalf("%+v, want %s", why, code)
		}
		d.jump(time.Hour)
	}
	if why := d.s.Why(1); why.Code != "start_due" {
		t.Fatalf("%+v", why)
	}
}

// Whoever waits for a task of what was paused is told when the pause ends.
func TestN34EndOfAPauseOffersTasks(t *testing.T) {
	for _, x := range timedIntents {
		if !strings.HasPrefix(x.name, "pause") {
			continue
		}
		d := timedScene(t)
		sp := d.start("demo/b", 1)
		d.must(Join{Speaker: sp})
		d.must(x.set(10*time.Second, "ann"))
		d.must(CreateTask{Room: "demo", Role: "b"})
		d.want(noun.NoTask, Claim{Speaker: sp})
		d.clock = d.clock.Add(10 * time.Second)
		if res := d.apply(d.entry()); len(res.Effects.Claimable) == 0 {
			t.Errorf("%s: nobody is woken", x.name)
		}
		d.must(Claim{Speaker: sp})
	}
}

// A daemon that shuts down neither ends a human's drain nor moves its end, and its own deadline
// counts only before that.
func TestN34DrainOfADaemonKeepsAHumansEnd(t *testing.T) {
	d := timedScene(t)
	d.must(DrainHost{Host: 1, By: "ann", For: time.Hour, Deadline: 30 * time.Minute})
	h := *d.s.Host(1)
	d.must(DrainHost{Host: 1, By: DrainBySelf, Deadline: 2 * time.Hour})
	if got := d.s.Host(1); got.DrainEnd != h.DrainEnd || got.DrainUntil != h.DrainUntil || got.DrainBy != "ann" {
		t.Fatalf("%+v", got)
	}
	d.must(DrainHost{Host: 1, By: DrainBySelf, Deadline: time.Minute})
	if got := d.s.Host(1); got.DrainEnd != h.DrainEnd || got.DrainUntil != d.clock.Add(time.Minute) {
		t.Fatalf("%+v", got)
	}
	d.must(DrainHost{Host: 1, By: "ann"})
	d.must(DrainHost{Host: 1, Off: true, By: "ann"})
	d.must(DrainHost{Host: 1, By: DrainBySelf, Deadline: time.Minute})
	d.must(DrainHost{Host: 1, By: "ann", For: time.Hour}) // a human takes it over
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	if got := d.s.Host(1); !got.Drain || got.DrainEnd.At.Sub(d.clock) != time.Hour {
		t.Fatalf("%+v", got)
	}
	if d.jump(time.Hour); d.s.Host(1).Drain {
		t.Fatal("a host that has left stays drained")
	}
}

// What is idle on a drained host is stopped; after the end starts are ordered there again. Its
// deadline comes first, also when both are over in one entry.
func TestN34DrainStopsAtItsDeadlineAndEndsAfterIt(t *testing.T) {
	for _, steps := range []time.Duration{time.Second, time.Minute} {
		d, h1, _, w := drained(t)
		d.must(RaiseLevel{Level: NewestLevel})
		d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
		d.beat(h1, 0)
		d.must(DrainHost{Host: h1, By: "ann", Deadline: 20 * time.Second, For: 40 * time.Second})
		d.beat(h1, BeatFence|BeatVouch, 1, 2)
		if rows, _ := d.s.AgentDeadlines(1); kindsOf(rows)["end of the drain"].Span != 40*time.Second {
			t.Fatalf("%+v", rows)
		}
		for range 50 * time.Second / steps {
			d.jump(steps)
		}
		if steps == time.Minute {
			d.clock = d.clock.Add(50 * time.Second)
			d.apply(d.entry())
		}
		if d.s.Host(h1).Drain || d.agent("demo/busy").Order != noun.StopOrder {
			t.Fatalf("in steps of %s: drained %v, the order of what works is %s", steps, d.s.Host(h1).Drain,
				d.agent("demo/busy").Order)
		}
		d.must(ReportExit{Host: h1, Agent: 1, Inc: w.Inc, Signal: "terminated"})
		d.start("demo/busy", h1)
	}
}

// After a restore an end comes in cluster time as everything does, and the hold still keeps starts.
func TestN34EndsComeInTheHoldAfterARestore(t *testing.T) {
	d := timedScene(t)
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann", For: time.Minute})
	d.s = reload(t, d.s)
	d.must(RaiseEpoch{Hold: 10 * time.Minute})
	d.jump(time.Minute)
	if a := d.agent("demo/b"); a.Stopped || d.s.WhyNot(a) != "hold" || d.s.Wants(a) {
		t.Fatalf("stopped %v, %q", a.Stopped, d.s.WhyNot(a))
	}
	if d.jump(9 * time.Minute); !d.s.Wants(d.agent("demo/b")) {
		t.Fatalf("%+v", d.s.Why(1))
	}
}

// The silence of a room counts from the end of its pause; nothing was done or said in it then.
func TestN34SilenceCountsFromTheEndOfAPause(t *testing.T) {
	d := timedScene(t)
	d.must(CreateTask{Room: "demo", Role: "b"})
	began := d.clock
	for _, x := range timedIntents[:3] {
		d.must(x.set(time.Hour, "ann"))
		active := d.clock
		d.jump(time.Hour)
		if rm := d.s.Room("demo"); rm.Quiet != d.clock || rm.Active != active || active < began {
			t.Errorf("%s: silent since %d, active at %d; its end was at %d, it was set at %d", x.name, rm.Quiet,
				rm.Active, d.clock, active)
		}
	}
}

// L12: many ends at one time are worked off in entries of bounded weight.
func TestN34ManyEndsAreBounded(t *testing.T) {
	d := newDrive(t)
	d.whole(Request{Cmd: RaiseLevel{Level: NewestLevel}},
		Request{Cmd: ApplyRoom{Room: "r0", Roles: []noun.RoleSpec{{Name: "a", Replicas: noun.MaxReplicas}}}},
		Request{Cmd: ApplyRoom{Room: "r1", Roles: []noun.RoleSpec{{Name: "a", Replicas: noun.MaxReplicas}}}})
	n := 0
	for _, room := range []string{"r0", "r1"} {
		for _, id := range d.s.RoleByName(room, "a").Agents {
			name := d.s.Agent(id).Name
			d.s.Apply(d.entry(Request{Cmd: SetAgent{Agent: name, Stop: true, For: time.Hour}},
				Request{Cmd: SetPause{Scope: name, Pause: true, For: time.Hour}}))
			n++
		}
	}
	d.clock = d.clock.Add(time.Hour)
	entries, left := 0, n
	for more := true; more; entries++ {
		more = d.s.Apply(d.entry()).Effects.More
		if w := d.s.Weight(); w > noun.FirePerEntry+100 {
			t.Fatalf("an entry weighs %d", w)
		}
		was := left
		left = 0
		for a := range d.s.Agents("") {
			if a.Stopped || a.Paused {
				left++
			}
		}
		if left >= was {
			t.Fatalf("entry %d: %d of %d are left, before it %d were", entries, left, n, was)
		}
	}
	if left != 0 || entries < 2 {
		t.Fatalf("%d of %d are left after %d entries", left, n, entries)
	}
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
}
