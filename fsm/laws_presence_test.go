package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Incident I33: a detector without a producer is told, and is no death: the task of an
// agent that never reports, ten times as long as its limits, is completed.
func TestI33ReportsThatNobodySends(t *testing.T) {
	d, me, task := declaring(t, noun.RoleSpec{HealthEvery: 30 * time.Second, HealthMissed: 2})
	for range 20 { // it shows progress, and reports nothing
		d.jump(30 * time.Second)
		d.must(ProgressTask{Work: Work{Speaker: me, Task: task, Attempt: 1}, Note: "on"})
	}
	v := d.s.Verdict(d.agent("r/a").ID, true)
	if v.Kind != judge.AgentHealthy || v.Fine ||
		!strings.Contains(v.Reasons[0].Text, "never reported its health") || v.Reasons[0].Evidence != "health" {
		t.Errorf("%s, fine %v: %+v", v.Kind, v.Fine, v.Reasons)
	}
	d.must(CompleteTask{Work: Work{Speaker: me, Task: task, Attempt: 1}, Result: "done"})
}

// Every status, from a state.
func TestDetectionStatuses(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "w")
	d.room("r", noun.RoleSpec{Name: "a", Runner: "w"})
	id := d.agent("r/a").ID
	check := func(what, status string, kind judge.Kind) Presence {
		t.Helper()
		v := d.s.Verdict(id, true)
		p := d.s.Presence(id, &v)
		if p.Status != status || v.Kind != kind {
			t.Errorf("%s: status %s, verdict %s; want %s, %s: %+v", what, p.Status, v.Kind, status, kind, v.Reasons)
		}
		return p
	}
	if p := check("never started", "offline", judge.AgentOffline); p.Registered != 0 {
		t.Errorf("registered at %d before its first life", p.Registered)
	}
	d.jump(10 * time.Second)
	me := d.start("r/a", h)
	born := d.s.Clock()
	check("started", "online", judge.AgentHealthy)
	d.must(Join{Speaker: me})
	check("joined", "idle", judge.AgentIdle)
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	check("works", "busy", judge.AgentHealthy)
	d.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: time.Hour})
	check("waits for a human", "online", judge.AgentNeedsInput)
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: time.Hour})
	check("declared busy", "busy", judge.AgentBusy)
	d.jump(10 * time.Second)
	d.must(ReportExit{Host: h, Agent: id, Inc: me.Inc, Code: 1})
	p := check("exited", "offline", judge.AgentOffline)
	if p.Offline != d.s.Clock() || p.Registered != born || p.LastSeen < born {
		t.Errorf("%+v, the clock is at %d, it was born at %d", p, d.s.Clock(), born)
	}
	id = 0
	check("no such agent", "not_found", judge.AgentNotFound)
}

// A deaf agent from a state: its lease goes on, and a task waits longer than it may.
func TestDeafAgentIsSeen(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: time.Hour, PendingLimit: time.Minute})
	d.must(Join{Speaker: Speaker{Agent: "r/a"}})
	id := d.agent("r/a").ID
	d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"})
	d.jump(time.Minute)
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentIdle {
		t.Errorf("%s within the pending limit", v.Kind)
	}
	d.jump(time.Second)
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentDeaf {
		t.Errorf("%s beyond the pending limit: %+v", v.Kind, v.Reasons)
	}
}
