package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// silentRoom is a room with one agent on a host that works on a task, and a second task
// that waits; the watchdog is on and the room was active just now.
type silentRoom struct {
	*drive
	host    noun.HostID
	me      Speaker
	held    noun.TaskID
	waiting noun.TaskID
}

func newSilentRoom(t *testing.T, watch ...noun.RoomWatch) *silentRoom {
	t.Helper()
	x := &silentRoom{drive: newDrive(t)}
	x.jump(time.Hour)
	// no lease ends in between
	x.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
	x.host = x.drive.host("h1", "w")
	x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Replicas: 1,
		AckLimit: 7 * 24 * time.Hour, PendingLimit: 7 * 24 * time.Hour}}, By: "ann", Watch: watch})
	x.me = x.start("r/a", x.host)
	x.must(Join{Speaker: x.me})
	x.held = x.must(CreateTask{Room: "r", Role: "a", Title: "secret title", Text: "secret text", By: "ann"}).Task
	x.waiting = x.must(CreateTask{Room: "r", Role: "a", Title: "secret title", By: "ann"}).Task
	x.must(Claim{Speaker: x.me})
	x.must(StartTask{Work: Work{Speaker: x.me, Task: x.held, Attempt: 1}})
	return x
}

func (x *silentRoom) work() Work       { return Work{Speaker: x.me, Task: x.held, Attempt: 1} }
func (x *silentRoom) room() *noun.Room { return x.s.Room("r") }
func (x *silentRoom) see() RoomQuiet   { return x.s.Quiet(x.room()) }

func (x *silentRoom) is(want RoomState) RoomQuiet {
	x.t.Helper()
	q := x.see()
	if q.State != want {
		x.t.Fatalf("at %s the room is %s (%s), want %s", time.Duration(x.clock), q.State, q.Why, want)
	}
	return q
}

func (x *silentRoom) warning() WarnRoom {
	return WarnRoom{Room: x.room().ID, Active: x.see().Active}
}

func (x *silentRoom) cancellation() CancelIdleRoom {
	return CancelIdleRoom{Room: x.room().ID, Active: x.see().Active, Warned: x.room().Warned}
}

// cancel lets the room be silent, be warned and be canceled.
func (x *silentRoom) cancel() noun.Outcome {
	x.t.Helper()
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	x.jump(time.Minute)
	return x.must(x.cancellation())
}

func (x *silentRoom) events(kinds ...string) (list []*noun.Event) {
	for _, e := range x.s.EventTable.From(0) {
		if slices.Contains(kinds, e.Kind) {
			list = append(list, e)
		}
	}
	return list
}

// Active, silent for more than 10 min, older than 2 min.
func TestWatchdogDetectionCriteria(t *testing.T) {
	x := newSilentRoom(t)
	x.is(RoomActive)
	x.jump(10 * time.Minute)
	x.is(RoomActive) // not for longer than the limit
	x.want(noun.Conflict, x.warning())
	x.jump(time.Nanosecond)
	x.is(RoomStalled)
	x.must(PutSettings{Values: []noun.KV{{Key: "watchdog_min_age", Value: "1h"}}})
	x.is(RoomActive) // too young
	x.jump(50 * time.Minute)
	x.is(RoomStalled)
	x.must(CompleteTask{Work: x.work(), Result: "done"})
	x.must(CancelTask{Task: x.waiting, By: "ann"})
	x.jump(24 * time.Hour)
	x.is(RoomIdle) // completed: there is nothing to cancel
	x.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	x.is(RoomActive)
}

// Each word of an agent and each command of a human begins the silence anew; nothing that
// supervision does by itself does.
func TestWatchdogWhatCountsAsActivity(t *testing.T) {
	yes := map[string]func(x *silentRoom){
		"task created":    func(x *silentRoom) { x.must(CreateTask{Room: "r", Role: "a", Title: "t"}) },
		"task progresses": func(x *silentRoom) { x.must(ProgressTask{Work: x.work(), Note: "note"}) },
		"task completed":  func(x *silentRoom) { x.must(CompleteTask{Work: x.work(), Result: "done"}) },
		"task failed":     func(x *silentRoom) { x.must(FailTask{Work: x.work(), Reason: "no"}) },
		"task given back": func(x *silentRoom) { x.must(FailTask{Work: x.work(), Reason: "no", Retryable: true}) },
		"task handed off": func(x *silentRoom) { x.must(Handoff{Work: x.work(), ToRole: "a", Title: "t"}) },
		"task canceled":   func(x *silentRoom) { x.must(CancelTask{Task: x.waiting, By: "ann"}) },
		"health report":   func(x *silentRoom) { x.must(Declare{Speaker: x.me}) },
		"room applied": func(x *silentRoom) {
			x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w"}}, By: "ann"})
		},
		"agent restarted": func(x *silentRoom) { x.must(RestartAgent{Agent: "r/a", By: "ann"}) },
		"agent paused":    func(x *silentRoom) { x.must(SetPause{Scope: "r/a", Pause: true, By: "ann"}) },
		"agent unparked":  func(x *silentRoom) { x.must(UnparkAgent{Agent: "r/a", By: "ann"}) },
		"room resumed": func(x *silentRoom) {
			x.must(SetPause{Scope: "r", Pause: true, By: "ann"})
			x.must(SetPause{Scope: "r", By: "ann"})
		},
	}
	no := map[string]func(x *silentRoom){
		"its agent dies and starts again": func(x *silentRoom) {
			x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Code: 1})
			me := x.start("r/a", x.host)
			x.must(Join{Speaker: me})
		},
		"a beat":           func(x *silentRoom) { x.beat(x.host, BeatFence|BeatVouch, x.agent("r/a").ID) },
		"the warning":      func(x *silentRoom) { x.must(x.warning()) },
		"another room":     func(x *silentRoom) { x.drive.room("other", noun.RoleSpec{Name: "a"}) },
		"a repeated claim": func(x *silentRoom) { x.must(Claim{Speaker: x.me}) },
		"an agent that leaves": func(x *silentRoom) {
			x.must(Leave{Speaker: x.me})
		},
		"a change of leader": func(x *silentRoom) {
			x.term++
			x.must(LeaderEstablished{Server: "b"})
		},
	}
	for name, do := range yes {
		t.Run(name, func(t *testing.T) {
			x := newSilentRoom(t)
			x.jump(11 * time.Minute)
			x.is(RoomStalled)
			do(x)
			if x.room().Active != x.clock {
				t.Errorf("the room was active last at %s, it is %s", time.Duration(x.room().Active),
					time.Duration(x.clock))
			}
			if q := x.see(); q.State == RoomStalled || q.State == RoomStalling {
				t.Errorf("the room is still %s", q.State)
			}
		})
	}
	for name, do := range no {
		t.Run(name, func(t *testing.T) {
			x := newSilentRoom(t)
			active := x.room().Active
			x.jump(11 * time.Minute)
			do(x)
			if q := x.see(); x.room().Active != active || q.State != RoomStalled && q.State != RoomStalling {
				t.Errorf("the room is %s, active last at %s", q.State, time.Duration(x.room().Active))
			}
		})
	}
}

// Agents stopped gracefully, one advisory event, one terminal event with author, outcome,
// reason and the time of the last activity; nothing of it twice.
func TestWatchdogCancelFlow(t *testing.T) {
	x := newSilentRoom(t)
	active := x.room().ActiveAt
	x.jump(10*time.Minute + time.Second)
	x.want(noun.Conflict, x.cancellation()) // not without a warning
	x.must(x.warning())
	x.want(noun.Conflict, x.warning())
	x.is(RoomStalling)
	x.jump(59 * time.Second)
	x.want(noun.Conflict, x.cancellation()) // in the grace
	x.jump(time.Second)
	plan := x.cancellation()
	if out := x.must(plan); out.Count != 2 {
		t.Fatalf("%d tasks were canceled, want 2", out.Count)
	}
	x.want(noun.Conflict, plan) // the next leader has the same plan
	x.want(noun.Conflict, x.warning())
	for kind, n := range map[string]int{"room.stalling": 1, "room.idle_timeout": 1, "room.canceled": 1,
		"task.canceled": 2, "order.stop": 1} {
		if got := len(x.events(kind)); got != n {
			t.Errorf("%d events %s, want %d", got, kind, n)
		}
	}
	last := x.events("room.canceled")[0]
	for _, part := range []string{"by watchdog", "outcome canceled", "reason idle_timeout",
		"last activity " + active.Text()} {
		if !strings.Contains(last.Text, part) {
			t.Errorf("the terminal event says %q, without %q", last.Text, part)
		}
	}
	for _, id := range []noun.TaskID{x.held, x.waiting} {
		if task := x.s.Task(id); task.State != noun.TaskCanceled ||
			!strings.HasPrefix(task.Result, "idle_timeout; last activity ") {
			t.Errorf("task %d is %s: %q", id, task.State, task.Result)
		}
	}
	if a := x.agent("r/a"); a.Order != noun.StopOrder || a.Task != 0 {
		t.Errorf("its agent has order %s and holds task %d", a.Order, a.Task)
	}
	if h := x.s.Watchdog().History; len(h) != 1 || h[0].Reason != IdleTimeout || h[0].Tasks != 2 ||
		!slices.Equal(h[0].Roles, []string{"a"}) || !slices.Equal(h[0].Hosts, []string{"h1"}) {
		t.Errorf("history %+v", h)
	}
	x.is(RoomIdle)
	x.want(noun.Superseded, ProgressTask{Work: x.work(), Note: "still here"}) // L6
}

// A stop that fails does not prevent the cancellation; one by hand cannot be stopped at all.
func TestWatchdogStopFails(t *testing.T) {
	x := newSilentRoom(t)
	x.must(ReportStuck{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Reason: "in uninterruptible sleep"})
	if out := x.cancel(); out.Count != 2 || x.s.Task(x.held).State != noun.TaskCanceled {
		t.Errorf("with a process that cannot be ended: %+v", out)
	}
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me, Task: task})
	d.jump(11 * time.Minute)
	rm := d.s.Room("r")
	d.must(WarnRoom{Room: rm.ID, Active: rm.Active})
	d.jump(time.Minute)
	d.must(CancelIdleRoom{Room: rm.ID, Active: rm.Active, Warned: d.s.Room("r").Warned})
	if d.s.Task(task).State != noun.TaskCanceled || d.agent("r/a").Task != 0 {
		t.Errorf("started by hand: task %s, agent holds %d", d.s.Task(task).State, d.agent("r/a").Task)
	}
}

// L4: what the planner saw is compared inside the log record: activity that came meanwhile
// wins over a warning and over a cancellation.
func TestL4ActivityBeatsAPlan(t *testing.T) {
	x := newSilentRoom(t)
	x.jump(11 * time.Minute)
	plan := x.warning()
	x.must(ProgressTask{Work: x.work(), Note: "back"})
	x.want(noun.Conflict, plan)
	x.jump(11 * time.Minute)
	x.must(x.warning())
	x.jump(time.Minute)
	cancel := x.cancellation()
	x.must(ProgressTask{Work: x.work(), Note: "back"})
	x.want(noun.Conflict, cancel)
	x.jump(11 * time.Minute)
	x.is(RoomStalled) // the old warning is void
	cancel.Active = x.see().Active
	x.want(noun.Conflict, cancel)
	x.must(x.warning())
	if n := len(x.events("room.stalling")); n != 2 {
		t.Errorf("%d warnings, want 2", n)
	}
	x.want(noun.NotFound, WarnRoom{Room: 99})
}

// L10: a declaration with an end exempts the room, and the silence is counted from its end.
func TestL10DeclarationsExemptARoom(t *testing.T) {
	for _, dec := range []Declare{
		{Status: noun.StatusBusy, For: time.Hour}, {Waiting: noun.WaitingInput, For: time.Hour},
		{Waiting: noun.WaitingUntil, For: time.Hour}, {Waiting: noun.WaitingTool, For: time.Hour},
	} {
		x := newSilentRoom(t)
		dec.Speaker = x.me
		x.must(dec)
		x.jump(time.Hour - time.Second)
		if q := x.is(RoomExempt); !strings.HasPrefix(q.Why, "r/a has declared ") {
			t.Errorf("exempt because %s", q.Why)
		}
		x.want(noun.Conflict, x.warning())
		x.jump(10*time.Minute + time.Second)
		x.is(RoomActive)
		x.jump(time.Nanosecond)
		x.is(RoomStalled)
	}
	x := newSilentRoom(t)
	x.must(Declare{Speaker: x.me, Status: noun.StatusBusy}) // without an end: only a word
	x.jump(10*time.Minute + time.Second)
	x.is(RoomStalled)

	// An agent that dies in its excuse leaves the room silent from there.
	x = newSilentRoom(t)
	x.must(Declare{Speaker: x.me, Waiting: noun.WaitingTool, For: time.Hour})
	x.jump(30 * time.Minute)
	x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Code: 1})
	x.jump(10 * time.Minute)
	x.is(RoomActive)
	x.jump(time.Nanosecond)
	x.is(RoomStalled)
}

// L10: an agent that prints or uses tools works, though it says no word: its room is silent from when that
// ends. What flows over a terminal for ever excuses for a week. Below the feature level words alone count.
func TestL10SignsOfWorkExemptARoom(t *testing.T) {
	shows := func(x *silentRoom, quiet bool) {
		x.must(ReportScreen{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.PromptNone, Quiet: quiet})
	}
	input := uint64(0)
	uses := func(x *silentRoom, shell uint64) {
		e := x.entry()
		input++
		e.Beats = []HostBeats{{Host: x.host, Boot: "boot1", Usage: []Used{{Agent: x.agent("r/a").ID, Inc: x.me.Inc,
			Run: 1, Input: input, Shell: shell}}}}
		x.apply(e)
	}
	counts := func(x *silentRoom) { // the silence begins now
		t.Helper()
		x.jump(10 * time.Minute)
		x.is(RoomActive)
		x.jump(time.Nanosecond)
		x.is(RoomStalled)
		x.must(x.warning())
	}
	x := newSilentRoom(t)
	shows(x, false)
	x.jump(11 * time.Minute)
	x.is(RoomStalled) // the level is to come
	x.must(RaiseLevel{Level: core.LevelRetry})
	if q := x.is(RoomExempt); q.Why != "r/a prints new text" {
		t.Errorf("exempt because %s", q.Why)
	}
	x.want(noun.Conflict, x.warning())
	x.jump(2 * time.Hour)
	shows(x, true)
	counts(x)

	shows(x, false)
	x.jump(noun.NeedsInputLimit)
	counts(x)

	x = newSilentRoom(t)
	uses(x, 0)
	x.jump(11 * time.Minute)
	x.is(RoomStalled)
	x.must(RaiseLevel{Level: core.LevelRetry})
	for n := range uint64(6) { // telemetry tells of a call at its end, of tokens before it
		uses(x, n/2)
		x.jump(29 * time.Minute)
		if q := x.is(RoomExempt); !strings.HasPrefix(q.Why, "r/a has told of tokens or tools in the last 30 minutes") {
			t.Errorf("exempt because %s", q.Why)
		}
	}
	x.jump(time.Minute)
	counts(x)
	x.jump(time.Minute)
	cancel := x.cancellation()
	uses(x, 8)
	x.want(noun.Conflict, cancel)
}

// The longest of several excuses counts; when it is taken back, the next one does.
func TestL10OtherExcusesRemain(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 3, TTL: 24 * time.Hour, AckLimit: 24 * time.Hour})
	var who []Speaker
	for _, name := range []string{"r/a", "r/a.2", "r/a.3"} {
		me := Speaker{Agent: name, Inc: d.must(Join{Speaker: Speaker{Agent: name}}).Inc}
		d.must(CreateTask{Room: "r", Role: "a", Title: "t"})
		d.must(Claim{Speaker: me})
		who = append(who, me)
	}
	d.must(Declare{Speaker: who[0], Waiting: noun.WaitingTool, For: time.Hour})
	d.must(Declare{Speaker: who[1], Waiting: noun.WaitingInput, For: 30 * time.Minute})
	d.must(Declare{Speaker: who[0]}) // the longest is over
	d.jump(29 * time.Minute)
	if q := d.s.Quiet(d.s.Room("r")); q.State != RoomExempt || q.Why != "r/a.2 has declared needs_input" {
		t.Errorf("%+v", q)
	}
	d.jump(2 * time.Minute)
	if q := d.s.Quiet(d.s.Room("r")); q.State != RoomActive {
		t.Errorf("just after the last excuse: %+v", q)
	}
	d.jump(10 * time.Minute)
	if q := d.s.Quiet(d.s.Room("r")); q.State != RoomStalled {
		t.Errorf("%+v", q)
	}
}

// L9: what humans hold back is not canceled: a pause of the room or of everything, a
// disabled watchdog, a role or all of its agents stopped or paused while tasks wait.
func TestL9WhatHumansHoldBackIsExempt(t *testing.T) {
	for name, do := range map[string]func(x *silentRoom){
		"room paused":       func(x *silentRoom) { x.must(SetPause{Scope: "r", Pause: true, By: "ann"}) },
		"everything paused": func(x *silentRoom) { x.must(SetPause{Pause: true, By: "ann"}) },
		"disabled": func(x *silentRoom) {
			x.must(SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{Disabled: true}})
		},
		"agent stopped": func(x *silentRoom) { x.must(SetAgent{Agent: "r/a", Stop: true, By: "ann"}) },
		"agent paused":  func(x *silentRoom) { x.must(SetPause{Scope: "r/a", Pause: true, By: "ann"}) },
		"role paused": func(x *silentRoom) {
			x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Desired: noun.DesiredPaused}}})
		},
	} {
		x := newSilentRoom(t)
		do(x)
		x.jump(23 * time.Hour)
		if q := x.see(); q.State != RoomExempt || q.Why == "" {
			t.Errorf("%s: the room is %s: %q", name, q.State, q.Why)
		}
		for rm := range x.s.StalledRooms() {
			t.Errorf("%s: %s is found as stalled", name, rm.Name)
		}
		x.want(noun.Conflict, x.warning())
	}
	// Resumed, it is silent from then on.
	x := newSilentRoom(t)
	x.must(SetPause{Pause: true, By: "ann"})
	x.jump(time.Hour)
	x.must(SetPause{By: "ann"})
	x.jump(10 * time.Minute)
	x.is(RoomActive)
	x.jump(time.Second)
	x.is(RoomStalled)
}

// A room whose agents wait for the end of a usage limit is not canceled for it, and has
// the whole limit when that is over.
func TestL10RoomsWhoseAgentsABreakerHoldsAreExempt(t *testing.T) {
	for level, want := range map[uint32]RoomState{0: RoomStalled, core.LevelRetry: RoomExempt} {
		x := newSilentRoom(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.must(PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "1"}}})
		x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitCrash, Code: 1})
		if !x.agent("r/a").Breaker() {
			t.Fatal("the breaker is not open")
		}
		x.jump(15 * time.Minute)
		x.is(want)
		over := x.agent("r/a").NotBefore
		x.jump(max(over.Sub(x.clock), 0) + 10*time.Minute)
		x.is(RoomStalled)
	}
}

func TestL10OutOfQuotaIsExempt(t *testing.T) {
	x := newSilentRoom(t)
	x.must(ReportExit{Host: x.host, Agent: x.agent("r/a").ID, Inc: x.me.Inc, Kind: noun.ExitUsageLimit,
		RetryAfter: 5 * time.Hour})
	x.jump(5 * time.Hour)
	if q := x.is(RoomExempt); !strings.Contains(q.Why, "out of quota") {
		t.Errorf("exempt because %q", q.Why)
	}
	x.want(noun.Conflict, x.warning())
	over := x.agent("r/a").NotBefore
	x.jump(over.Sub(x.clock) + 10*time.Minute - time.Second)
	x.is(RoomExempt)
	x.jump(time.Second)
	x.is(RoomStalled)
	x.must(x.warning())
}
