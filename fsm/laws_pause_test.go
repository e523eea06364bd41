package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// A pause is idempotent and keeps who was first; a start does not end it, and says so.
func TestL9PauseIsEndedByResumeOnly(t *testing.T) {
	d := newDrive(t)
	d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(SetPause{Scope: "demo/b", Pause: true, By: "ann", Reason: "audit"})
	d.must(SetPause{Scope: "demo/b", Pause: true, By: "bob"})
	for _, c := range []Command{SetAgent{Agent: "demo/b", By: "bob"}, UnparkAgent{Agent: "demo/b", By: "bob"}} {
		if out := d.must(c); !strings.Contains(out.Detail, "paused by ann") || !strings.Contains(out.Detail, "audit") {
			t.Fatalf("%T: %q", c, out.Detail)
		}
	}
	d.want(noun.Stopped, RestartAgent{Agent: "demo/b"})
	d.must(SetPause{Scope: "demo", Pause: true, By: "cat"})
	d.must(SetPause{Pause: true, By: "dan"})
	if on, by, _, _ := d.s.Pause(); !on || by != "dan" {
		t.Fatal("everything is paused by nobody")
	}
	if out := d.must(SetPause{Scope: "demo/b", By: "ann"}); !strings.Contains(out.Detail,
		"paused with its room by cat") {
		t.Fatalf("%q", out.Detail)
	}
	d.must(SetPause{Scope: "demo", By: "cat"})
	if w := d.s.Why(1); w.Code != "all_paused" {
		t.Fatalf("%+v", w)
	}
	d.must(SetPause{By: "dan"})
	d.must(SetPause{By: "dan"})
	if w := d.s.Why(1); w.Code != "start_due" || d.s.Paused(d.s.Agent(1)) != "" {
		t.Fatalf("%+v", w)
	}
	d.want(noun.NotFound, SetPause{Scope: "nowhere", Pause: true})
	d.want(noun.NotFound, SetPause{Scope: "demo/x", Pause: true})
}

// A paused agent that waits is no help for its role: another slot is started.
func TestL3DemandLooksPastPausedAgents(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Start, r.Replicas = noun.StartOnDemand, 2 }))
	d.must(CreateTask{Room: "demo", Role: "b"})
	d.must(Join{Speaker: d.start("demo/b", h)})
	if d.s.Why(2).Code != "no_task" {
		t.Fatalf("%+v", d.s.Why(2))
	}
	d.must(SetPause{Scope: "demo/b", Pause: true})
	if d.s.Why(2).Code != "start_due" {
		t.Fatalf("%+v", d.s.Why(2))
	}
	d.must(SetPause{Scope: "demo/b"})
	if d.s.Why(2).Code != "no_task" {
		t.Fatalf("%+v", d.s.Why(2))
	}
	d.must(RestartAgent{Agent: "demo/b"}) // nor is one that is to end
	if d.s.Why(2).Code != "start_due" {
		t.Fatalf("%+v", d.s.Why(2))
	}
}

// I85: a deleted agent whose host was away at the deletion stays deleted; whoever
// asks is told who deleted it, and applying the room makes it anew.
func TestI85DeletedRoomLeavesATombstone(t *testing.T) {
	x := newScene(t, func(x *scene) { x.must(Join{Speaker: x.start(star, x.h)}) })
	x.must(DeleteRoom{Room: "demo", By: "ann"})
	x.cutOff(2 * time.Minute)
	if x.s.Room("demo") != nil {
		t.Fatal("its fence has ended and the room is still there")
	}
	x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"},
		Inventory: []Running{{Agent: 2, Inc: x.inc, PID: 7}}})
	e := x.entry()
	e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Packed: PackBeats(nil, []noun.AgentID{2},
		[]noun.Incarnation{x.inc}, []uint8{BeatFence})}}
	if ans := x.apply(e).Beats[0]; len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictUnknown {
		t.Fatalf("its host was answered %+v", ans)
	}
	x.s = reload(t, x.s)
	for _, c := range []Command{CreateTask{Room: "demo", Role: "b"}, DeleteRoom{Room: "demo"},
		SetPause{Scope: "demo", Pause: true},
		ApplyRoom{Room: "demo", IfRev: 3}, SetAgent{Agent: star}, Join{Speaker: Speaker{Agent: star}},
		Join{Speaker: Speaker{Agent: star, Inc: x.inc}}} {
		if out := x.want(noun.NotFound, c); !strings.Contains(out.Detail, "deleted by ann") {
			t.Fatalf("%T: %q", c, out.Detail)
		}
	}
	if ts := x.s.Tombstone("demo"); ts == nil || ts.By != "ann" || x.s.Tombstone("other") != nil {
		t.Fatalf("%+v", ts)
	}
	x.room("demo", sceneRoles()...)
	if x.s.Tombstone("demo") != nil || x.agent(star).Inc < x.inc {
		t.Fatalf("%+v", x.agent(star))
	}
}

func TestTombstonesAreBounded(t *testing.T) {
	d := newDrive(t)
	for i := range noun.MaxTombstones + 5 {
		name := fmt.Sprint("r", i)
		d.s.Apply(d.entry(Request{Cmd: ApplyRoom{Room: name}}, Request{Cmd: DeleteRoom{Room: name, By: "ann"}}))
	}
	if n := len(d.s.Meta.Tombstones); n != noun.MaxTombstones || d.s.Tombstone("r4") != nil ||
		d.s.Tombstone("r5") == nil {
		t.Fatalf("%d tombstones", n)
	}
}

// --fresh forgets the resume value, and what the life that is to end still says.
func TestL9FreshStartHasNoResumeValue(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	sp := d.start("demo/b", h)
	d.must(SetResume{Speaker: sp, Resume: "chat-1"})
	d.must(RestartAgent{Agent: "demo/b", By: "ann"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc})
	if d.agent("demo/b").Resume != "chat-1" {
		t.Fatal("a restart has lost the resume value")
	}
	sp = d.start("demo/b", h)
	d.must(RestartAgent{Agent: "demo/b", By: "ann", Fresh: true})
	if out := d.must(SetResume{Speaker: sp, Resume: "chat-1"}); out.Detail == "" { // on its way out
		t.Fatal("nothing was said")
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc})
	if d.agent("demo/b").Resume != "" {
		t.Fatal("the fresh life gets the old value")
	}
	sp = d.start("demo/b", h)
	d.must(SetResume{Speaker: sp, Resume: "chat-2"})
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann", Reason: "lunch"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc})
	d.must(SetAgent{Agent: "demo/b", Stop: true, By: "a script"}) // a repeat without a reason erases none
	if a := d.agent("demo/b"); a.IntentBy != "ann" || a.Resume != "chat-2" || a.Notes().IntentWhy != "lunch" ||
		!strings.Contains(d.s.Why(1).Text, "lunch") {
		t.Fatalf("%+v, %+v", a, d.s.Why(1))
	}
	d.must(SetAgent{Agent: "demo/b", By: "ann", Fresh: true})
	if a := d.agent("demo/b"); a.Resume != "" || a.Stopped {
		t.Fatalf("%+v", a)
	}
}

func TestRestartOfAnAgentStartedByHand(t *testing.T) {
	d := newDrive(t)
	d.host("h1", "worker")
	d.room("demo", managed("b"), noun.RoleSpec{Name: "w"})
	d.hand("demo/b")
	if out := d.want(noun.Conflict, RestartAgent{Agent: "demo/b"}); !strings.Contains(out.Detail, "by hand") {
		t.Fatalf("%q", out.Detail)
	}
	if out := d.want(noun.Conflict, RestartAgent{Agent: "demo/w"}); !strings.Contains(out.Detail, "names no runner") {
		t.Fatalf("%q", out.Detail)
	}
}

// One entry ends a room of the greatest size for good; later ones clear it away.
func TestL9DeleteOfTheGreatestRoomHoldsAtOnce(t *testing.T) {
	d := newDrive(t)
	var roles []noun.RoleSpec
	for i := range noun.MaxRoomAgents / noun.MaxReplicas {
		roles = append(roles, noun.RoleSpec{Name: fmt.Sprint("r", i), Replicas: noun.MaxReplicas})
	}
	d.must(PutSettings{Values: []noun.KV{{Key: "events_kept", Value: "1000"}}})
	d.whole(Request{Cmd: ApplyRoom{Room: "demo", Roles: roles}})
	if n := d.s.Counts().Agents; n != noun.MaxRoomAgents {
		t.Fatalf("%d agents", n)
	}
	for _, pause := range []bool{true, false} {
		d.s.Apply(d.entry(Request{Cmd: SetPause{Scope: "demo", Pause: pause}}))
	}
	if out := d.s.Apply(d.entry(Request{Cmd: DeleteRoom{Room: "demo",
		By: "ann"}})).Outcomes[0]; out.Code != noun.OK || out.Count != 1 {
		t.Fatalf("%+v", out)
	}
	first := d.s.Agent(1).Name
	for _, c := range []Command{Join{Speaker: Speaker{Agent: first}},
		CreateTask{Room: "demo", Role: "r1", Title: "t"}, SetPause{Scope: "demo"}} {
		if out := d.s.Apply(d.entry(Request{Cmd: c})).Outcomes[0]; out.Code != noun.Stopped {
			t.Fatalf("%T in a room that is being deleted: %+v", c, out)
		}
	}
	for entries := 0; d.s.Apply(d.entry()).Effects.More; entries++ {
		if entries > noun.MaxRoomAgents/noun.StepsPerEntry {
			t.Fatalf("%d agents are left after %d entries", d.s.Counts().Agents, entries)
		}
	}
	if n := d.s.Counts(); n.Agents != 0 || n.Rooms != 0 || d.s.Tombstone("demo") == nil {
		t.Fatalf("%+v", n)
	}
}

// A pause, or its end, may be the last word about an agent by hand that is no longer
// declared: it is removed with it.
func TestL9APauseMayRemoveAnAgentThatGoes(t *testing.T) {
	for _, pause := range []bool{true, false} {
		d := newDrive(t)
		d.room("r", noun.RoleSpec{Name: "a", Replicas: 2})
		d.must(Join{Speaker: Speaker{Agent: "r/a.2"}})
		me := Speaker{Agent: "r/a.2", Inc: d.agent("r/a.2").Inc}
		task := d.must(CreateTask{Room: "r", Role: "a"}).Task
		d.must(Claim{Speaker: me})
		d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
		if !pause {
			d.must(SetPause{Scope: "r/a.2", Pause: true, By: "ann"})
		}
		d.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a"}}, By: "ann", Gentle: true})
		d.must(CompleteTask{Work: Work{Speaker: me, Task: task, Attempt: 1}, Result: "done"})
		if a := d.agent("r/a.2"); a == nil || !a.Retired {
			t.Fatalf("it should be about to go: %+v", a)
		}
		d.must(SetPause{Scope: "r/a.2", Pause: pause, By: "ann"})
		if d.agent("r/a.2") != nil {
			t.Error("it is still there")
		}
	}
}

// L9: a pause is no part of the stretch that a deadline bounds. Whoever resumed a room saw all its tasks canceled a
// minute later. Other servers of a cluster that is being upgraded count the pause, so all of them do until the level.
func TestL9ADeadlineBeginsAnewAfterAPause(t *testing.T) {
	for name, span := range map[string]time.Duration{"by a word": 0, "by its end": 10 * time.Hour} {
		for _, level := range []uint32{Baseline, core.LevelRetry} {
			if span != 0 && level == Baseline { // ends came with the level
				continue
			}
			x := newSilentRoom(t, noun.RoomWatch{Deadline: 3 * time.Hour})
			if level != Baseline {
				x.must(RaiseLevel{Level: level})
			}
			x.must(SetPause{Scope: "r", Pause: true, By: "ann", For: span})
			x.jump(10 * time.Hour)
			if span == 0 {
				x.must(SetPause{Scope: "r", By: "ann"})
			}
			if level == Baseline {
				x.is(RoomStalled)
				continue
			}
			x.is(RoomActive)
			x.same()
			for resumed := x.clock; x.clock < resumed.Add(3*time.Hour); x.jump(5 * time.Minute) {
				x.must(ProgressTask{Work: x.work(), Note: "on"})
				x.is(RoomActive)
			}
			x.must(ProgressTask{Work: x.work(), Note: "on"})
			x.jump(time.Nanosecond)
			if q := x.is(RoomStalled); q.Reason != RoomDeadline {
				t.Errorf("%s: %+v", name, q)
			}
		}
	}
}

// A room whose cancellation has left only what is put off does not count as one that works again for being resumed.
func TestAPauseDoesNotMakeACanceledRoomWork(t *testing.T) {
	x := newSilentRoom(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.putOff(6 * time.Hour)
	x.cancel()
	x.must(SetPause{Scope: "r", Pause: true, By: "ann"})
	x.jump(time.Hour)
	x.must(SetPause{Scope: "r", By: "ann"})
	if x.room().ResumedWork() {
		t.Error("a room in which nobody has done anything counts as one that works")
	}
}
