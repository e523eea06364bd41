package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Incident I111: an agent without any channel goes up in the same time as one with all.
func TestI111NoNudgeChannel(t *testing.T) {
	climb := func(dumb bool) (took []time.Duration) {
		x := hungAgent(t)
		began := x.clock
		for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart,
			noun.RungEscalate} {
			x.up(r)
			if dumb && r < noun.RungRestart {
				x.must(NoteRung{Agent: x.agent(hungName).ID, Inc: x.me.Inc, Rung: r, Reason: "no terminal"})
			}
			took = append(took, x.clock.Sub(began))
		}
		if n := x.events("agent.rung_failed"); dumb && n != 3 {
			t.Errorf("%d events of rungs that reached nobody, want 3", n)
		}
		return took
	}
	if with, without := climb(false), climb(true); !slices.Equal(with, without) {
		t.Errorf("rungs after %v with a terminal, %v without one", with, without)
	}
}

// A full mailbox takes no question; the ladder goes on all the same.
func TestLadderGoesOnWithAFullMailbox(t *testing.T) {
	x := hungAgent(t)
	for range noun.MaxMailbox {
		x.must(SendMail{From: "ann", To: "r/a", Subject: "s"})
	}
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart} {
		x.up(r)
	}
	if l := x.climb().Ladder; l.Nudge != 0 || l.Inquiry != 0 || l.Rung != noun.RungRestart {
		t.Errorf("%+v", l)
	}
}

// L11: within a look no more rungs are taken in the cluster than the setting says, whoever
// leads; the others follow in the next.
func TestL11RungsWithinALookAreBounded(t *testing.T) {
	d := newDrive(t)
	d.jump(time.Minute)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 25, TTL: 24 * time.Hour})
	var list []*noun.Agent
	for a := range d.s.Agents("") {
		inc := d.must(Join{Speaker: Speaker{Agent: a.Name}}).Inc
		me := Speaker{Agent: a.Name, Inc: inc}
		task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
		d.must(Claim{Speaker: me, Task: task})
		d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
		list = append(list, a)
	}
	d.jump(judge.StalledAfter + time.Second)
	taken := func() (n int) {
		for _, a := range list {
			c := d.s.Climb(a.ID)
			if c.Next == noun.RungNudge &&
				d.do(StepLadder{Agent: a.ID, Inc: d.s.Agent(a.ID).Inc, Rung: c.Next, Seen: c.Seen}).Code == noun.OK {
				n++
			}
		}
		return n
	}
	for _, want := range []int{10, 0} {
		if n := taken(); n != want {
			t.Errorf("%d rungs are taken, want %d", n, want)
		}
	}
	d.jump(d.s.Settings().Ladder.Interval)
	if n := taken(); n != 10 {
		t.Errorf("%d rungs in the next look, want 10", n)
	}
}

// Incident I110: whatever an agent does or does not do, an hour sees few nudges, and one
// that ignores them all gets one nudge, one inquiry, one restart, and then a human.
func TestI110NudgesAreBounded(t *testing.T) {
	t.Run("ignores everything", func(t *testing.T) {
		x := hungAgent(t)
		for range 12 * 60 { // a leader that proposes something every second minute
			x.beating(2 * time.Minute)
			x.do(x.step())
		}
		for _, kind := range []string{"agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck",
			"agent.needs_human"} {
			if n := x.events(kind); n != 1 {
				t.Errorf("%d events %s in 24 h, want 1", n, kind)
			}
		}
		if n := x.events("mail.sent"); n != 2 {
			t.Errorf("%d mails, want 2", n)
		}
	})
	t.Run("answers and hangs again", func(t *testing.T) {
		x := hungAgent(t)
		began, last := x.clock, noun.Time(0)
		for x.clock.Sub(began) < 12*time.Hour {
			x.beating(30 * time.Second)
			step := x.step()
			if x.do(step).Code == noun.OK && step.Rung == noun.RungNudge {
				if last != 0 && x.clock.Sub(last) < x.s.Settings().Ladder.Cooldown {
					t.Fatalf("nudged again after %s", x.clock.Sub(last))
				}
				last = x.clock
				x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "I go on"})
			}
		}
		if n := x.events("agent.nudged"); n < 10 || n > 24 || x.events("agent.woken") != 0 {
			t.Errorf("%d nudges in 12 h of an agent that answers each, %d inquiries", n, x.events("agent.woken"))
		}
	})
	for _, kind := range []string{"stalled", "deaf"} {
		t.Run(kind+", answers and hangs again, and a human is told", func(t *testing.T) {
			x := hungAgent(t)
			x.must(RaiseLevel{Level: core.LevelRetry})
			if kind == "deaf" {
				x.must(CompleteTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Result: "done"})
				x.must(Join{Speaker: x.me})
				x.task = x.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
			}
			hours := func(n int) {
				for end := x.clock.Add(time.Duration(n) * time.Hour); x.clock < end; {
					for range 2 {
						x.clock = x.clock.Add(15 * time.Second)
						x.beat(x.h, BeatFence|BeatVouch|BeatLease, x.agent(hungName).ID)
					}
					step := x.step()
					if x.do(step).Code == noun.OK && step.Rung < noun.RungEscalate {
						x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "I go on"})
					}
				}
			}
			told := func(nudges, humans int) {
				t.Helper()
				if n, m := x.events("agent.nudged"), x.events("agent.needs_human"); n != nudges || m != humans {
					t.Fatalf("%d nudges and %d calls for a human in 12 h, want %d and %d", n, m, nudges, humans)
				}
			}
			hours(12)
			told(2, 1)
			text := x.told("agent.needs_human")
			if !strings.Contains(text, "it has answered 2 nudges in a row and not got on") {
				t.Errorf("a human is told %q", text)
			}
			x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "Once more"}) // a mere word drops nothing
			hours(12)
			told(2, 1)
			for e := range x.s.Escalations(0) {
				if e.Kind != noun.EscAgentStuck || !x.s.Lasts(e) || e.Count != 1 {
					t.Errorf("the escalation is %+v, it lasts: %v", e, x.s.Lasts(e))
				}
			}
			if got := reload(t, x.s); got.Hash() != x.s.Hash() || got.Climb(x.agent(hungName).ID) != x.climb() {
				t.Error("a dump forgets it")
			}
			if kind == "deaf" {
				out := x.must(Claim{Speaker: x.me})
				x.must(StartTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: out.Attempt}})
			}
			x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Note: "a half"})
			hours(12) // it has got on: the next episode is a first one
			told(4, 2)
		})
	}
}

// told is what the last event of a kind says.
func (x *hung) told(kind string) (text string) {
	for e := range x.s.Events(0) {
		if e.Kind == kind {
			text = e.Text
		}
	}
	return text
}

// L9: what a human or a budget holds back works on with its task, and may hang with it: it is nudged and asked
// as ever, then a human is told. Nobody would start it again, so it is neither interrupted nor restarted.
func TestL9WhatHangsUnderAPauseIsToldToAHuman(t *testing.T) {
	for name, pause := range map[string]SetPause{
		"agent": {Scope: hungName, Pause: true, By: "ann"}, "room": {Scope: "r", Pause: true, By: "ann"},
		"all": {Pause: true, By: "ann"},
	} {
		x := hungAgent(t)
		x.must(pause)
		if c := x.climb(); c.Next != noun.NoRung || c.Why == "" {
			t.Fatalf("%s, before the level: %+v", name, c)
		}
		x.must(RaiseLevel{Level: core.LevelRetry})
		for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
			x.up(r)
		}
		if c := x.climb(); c.Next != noun.NoRung || x.agent(hungName).Order != noun.NoOrder {
			t.Errorf("%s: after a human was told: %+v", name, c)
		}
		if text := x.told("agent.needs_human"); !strings.Contains(text, "not restarted, since it is paused") &&
			!strings.Contains(text, "paused by ann") {
			t.Errorf("%s: a human is told %q", name, text)
		}
		pause.Pause = false
		x.must(pause)
		for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart} {
			x.up(r) // it hangs still, and may be restarted now
		}
	}
	x := hungAgent(t) // paused between the inquiry and the interrupt
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.up(noun.RungNudge)
	x.up(noun.RungWake)
	x.must(SetPause{Scope: hungName, Pause: true, By: "ann"})
	x.up(noun.RungEscalate)
}

// A restart that does not help is not repeated for ever: after three without any work a
// human is asked instead.
func TestL11RestartsThatDoNotHelpEnd(t *testing.T) {
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	x.must(PutSettings{Values: []noun.KV{{Key: "attempt_limit", Value: "0"}, {Key: "kill_limit", Value: "0"},
		{Key: "ladder_cooldown", Value: "0s"}}})
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", Ladder: noun.LadderRestart})
	for range 5 {
		x.begin()
		x.stall()
		for x.climb().Next != noun.NoRung && x.agent(hungName).Order != noun.StopOrder {
			x.up(x.climb().Next)
		}
		if x.agent(hungName).Order != noun.StopOrder {
			break
		}
		x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Signal: "killed"})
		for x.agent(hungName).NotBefore > x.clock {
			x.jump(30 * time.Second)
			x.beat(x.h, 0)
		}
	}
	if n := x.events("agent.restarted_stuck"); n != noun.MaxLadderRestarts || x.events("agent.needs_human") != 1 {
		t.Errorf("%d restarts and %d calls for a human, want %d and 1", n, x.events("agent.needs_human"),
			noun.MaxLadderRestarts)
	}
}

// L10: by default only an agent that has spoken before it fell silent is restarted: one that
// never says a word while it works may be working.
func TestL10WhoNeverSpeaksIsNotRestarted(t *testing.T) {
	careful := func(r *noun.RoleSpec) { r.Ladder = noun.LadderCareful }
	mute := hungAgent(t, careful)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		mute.up(r)
	}
	if a := mute.agent(hungName); a.Order == noun.StopOrder || mute.s.Task(mute.task).State != noun.TaskInProgress {
		t.Errorf("order %s, its task is %s", a.Order, mute.s.Task(mute.task).State)
	}
	for name, speak := range map[string]func(x *hung){
		"progress": func(x *hung) {
			x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Note: "on it"})
		},
		"declaration": func(x *hung) { x.must(Declare{Speaker: x.me}) },
		"mail": func(x *hung) {
			x.room("other", noun.RoleSpec{Name: "b"})
			x.must(SendMail{Speaker: x.me, To: "other", Subject: "hello"})
		},
	} {
		x := hungAgent(t, careful)
		x.jump(time.Second)
		speak(x)
		x.stall()
		for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart} {
			if next := x.climb().Next; next != r {
				t.Fatalf("after %s: next is %s, want %s", name, next, r)
			}
			x.up(r)
		}
	}
}

// The role's word: escalate skips interrupt and restart.
func TestLadderOfARoleThatEscalates(t *testing.T) {
	x := hungAgent(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderEscalate })
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		x.up(r)
	}
	if x.agent(hungName).Order == noun.StopOrder || x.climb().Next != noun.NoRung {
		t.Errorf("order %s, next %s", x.agent(hungName).Order, x.climb().Next)
	}
	x.want(noun.Invalid, ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Ladder: noun.LadderRestart + 1}}})
	x = hungAgent(t)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt} {
		x.up(r)
	}
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Ladder: noun.LadderEscalate}}})
	x.up(noun.RungEscalate) // a human has changed that in the middle
}

// An agent started by hand has no process to end: its task is taken from it. A deaf one
// holds none: a human is told.
func TestLadderOfAgentsStartedByHand(t *testing.T) {
	d := newDrive(t)
	d.jump(time.Minute)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour, Ladder: noun.LadderRestart},
		noun.RoleSpec{Name: "b", TTL: 24 * time.Hour})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.must(Join{Speaker: Speaker{Agent: "r/b"}})
	d.must(CreateTask{Room: "r", Role: "b", Title: "t"})
	d.jump(judge.StalledAfter + time.Second)
	for name, want := range map[string][]noun.Rung{
		"r/a": {noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart},
		"r/b": {noun.RungNudge, noun.RungWake, noun.RungEscalate},
	} {
		for _, r := range want {
			c, a := d.s.Climb(d.agent(name).ID), d.agent(name)
			if c.Next != r {
				t.Fatalf("%s: next is %s (%s), want %s", name, c.Next, c.Why, r)
			}
			d.jump(max(0, c.Due.Sub(d.clock)))
			d.must(StepLadder{Agent: a.ID, Inc: a.Inc, Rung: r, Seen: c.Seen})
		}
	}
	if got := d.s.Task(task); got.State != noun.TaskPending || got.Charged != 1 {
		t.Errorf("the task is %s, charged %d", got.State, got.Charged)
	}
}

// L12: where an agent stands is in the state and outlives a snapshot.
func TestL12LadderIsRestored(t *testing.T) {
	x := hungAgent(t)
	x.up(noun.RungNudge)
	x.up(noun.RungWake)
	next := reload(t, x.s)
	if got, want := next.Climb(1), x.climb(); got != want {
		t.Errorf("loaded as %+v, want %+v", got, want)
	}
	if next.Meta.Ladder != x.s.Meta.Ladder || next.Hash() != x.s.Hash() {
		t.Error("a loaded state differs")
	}
}

// The indexes give whoever may be stuck, and nobody else.
func TestLadderVisitsOnlyWhoMayBeStuck(t *testing.T) {
	d := newDrive(t)
	d.jump(time.Minute)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 50, TTL: 24 * time.Hour},
		noun.RoleSpec{Name: "idle", Replicas: 1000, TTL: 24 * time.Hour})
	for a := range d.s.Agents("") {
		d.must(Join{Speaker: Speaker{Agent: a.Name}})
	}
	me := Speaker{Agent: "r/a", Inc: d.agent("r/a").Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	count := func() (busy, deaf int) {
		for range d.s.MayBeStuck(0) {
			busy++
		}
		for range d.s.MayBeDeaf(DeafPlace{}) {
			deaf++
		}
		return busy, deaf
	}
	if busy, deaf := count(); busy != 1 || deaf != 0 {
		t.Errorf("%d at work, %d deaf, want 1 and 0", busy, deaf)
	}
	d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(6 * time.Minute)
	if busy, deaf := count(); busy != 1 || deaf != 49 {
		t.Errorf("%d at work, %d deaf, want 1 and 49", busy, deaf)
	}
	d.must(CompleteTask{Work: Work{Speaker: me, Task: task, Attempt: 1}, Result: "r"})
	for range d.s.MayBeStuck(0) {
		t.Error("somebody is at work who is not")
	}
}
