package fsm

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"
)

// levelLog is a log that uses nothing of feature level 2.
func levelLog(t *testing.T) (*drive, Speaker) {
	d := newDrive(t)
	h := d.host("h1", "w")
	d.room("r", RoleSpec{Name: "a", Runner: "w", Replicas: 2, ProgressLimit: time.Minute})
	me := d.start("r/a", h)
	d.must(Join{me})
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work{Speaker: me, Task: task, Attempt: 1}})
	d.pass(5 * time.Second)
	return d, me
}

// L12: servers of feature levels 1 and 2 have equal hashes of equal states, so an
// upgrade server by server makes nobody diverge.
func TestL12Level2IsInvisibleUntilItIsUsed(t *testing.T) {
	d, me := levelLog(t)
	const ofLevel1 = "1b7c6d389693388e425299993fac407d50ae6e583af397395a80d1bd2b123d1a" // by a build of level 1
	hash := d.s.Hash()
	if got := hex.EncodeToString(hash[:]); got != ofLevel1 {
		t.Fatalf("hash %s, a build of feature level 1 has %s", got, ofLevel1)
	}
	if got := reload(t, d.s); got.Hash() != hash || got.Settings().DeclareLimit != DefaultSettings().DeclareLimit {
		t.Errorf("loaded with hash %x and declare_limit %s", got.Hash(), got.Settings().DeclareLimit)
	}
	used := map[string]Command{
		"watchdog":    WatchRooms{},
		"escalations": BeginEscalations{},
		"cool-down":   PutSettings{Values: []KV{{"escalation_cooldown", "1h"}}},
		"ladder":      PutSettings{Values: []KV{{"ladder_nudge", "1h"}}},
		"ladder mode": ApplyRoom{Room: "r", Roles: []RoleSpec{{Name: "a", Ladder: LadderOff}}},
		"threshold":   PutSettings{Values: []KV{{"watchdog_threshold", "1h"}}},
		"limit":       SetRoomWatch{Room: "r", RoomWatch: RoomWatch{IdleLimit: time.Hour, Deadline: 2 * time.Hour}},
		"applied":     ApplyRoom{Room: "r", Roles: []RoleSpec{{Name: "a"}}, Watch: []RoomWatch{{Disabled: true}}},
		"declaration": Declare{Speaker: me, Waiting: WaitingTool, For: time.Hour, Text: "why", Seq: 3},
		"setting":     PutSettings{Values: []KV{{DeclareLimitName, "1h"}}},
		"mail limit":  PutSettings{Values: []KV{{"mail_high_limit", "1m"}}},
		"mail":        SendMail{Speaker: me, To: "r/a", Subject: "s", Body: "b", Priority: MailHigh, Kind: "note"},
		"role":        ApplyRoom{Room: "r", Roles: []RoleSpec{{Name: "a", HealthEvery: time.Minute, HealthMissed: 3}}},
	}
	for name, cmd := range used {
		d, _ := levelLog(t)
		if Level(cmd) != 2 {
			t.Errorf("%s needs level %d, want 2", name, Level(cmd))
		}
		d.must(cmd)
		next := reload(t, d.s)
		if next.Hash() != d.s.Hash() || !bytes.Equal(dump(t, next.Copy()), dump(t, d.s.Copy())) {
			t.Errorf("%s: a loaded state differs", name)
		}
		if a, b := next.AgentByName("r/a").Declared, d.agent("r/a").Declared; (a == nil) != (b == nil) || a != nil && *a != *b {
			t.Errorf("%s: %+v is loaded as %+v", name, b, a)
		}
		if a, b := next.Mail(1), d.s.Mail(1); (a == nil) != (b == nil) || a != nil && *a != *b {
			t.Errorf("%s: %+v is loaded as %+v", name, b, a)
		}
		if a, b := *next.Room("r"), *d.s.Room("r"); a.Watch != b.Watch || next.Watchdog().On != d.s.Watchdog().On {
			t.Errorf("%s: %+v is loaded as %+v", name, b, a)
		}
		if *next.Settings() != *d.s.Settings() || next.RoleByName("r", "a").Spec.HealthEvery != d.s.RoleByName("r", "a").Spec.HealthEvery ||
			next.RoleByName("r", "a").Spec.Ladder != d.s.RoleByName("r", "a").Spec.Ladder {
			t.Errorf("%s: settings or role are not loaded", name)
		}
	}
	for _, cmd := range []Command{ReadMail{}, AckMail{}, NoteNudge{}, StepLadder{}, NoteRung{}, WarnRoom{}, CancelIdleRoom{}, ReopenRoom{}, AckEscalation{}, CloseEscalation{}, NoteNotice{}} {
		if Level(cmd) != 2 {
			t.Errorf("%T needs level %d, want 2", cmd, Level(cmd))
		}
	}
	for _, cmd := range []Command{CreateTask{Expect: time.Hour}, ProgressTask{Percent: PercentOf(0)}, ProgressTask{Expect: time.Hour},
		ApplyRoom{Roles: []RoleSpec{{Name: "a"}, {Name: "b", Expect: time.Hour, HealthEvery: time.Minute, HealthMissed: 3}}}} {
		if Level(cmd) != 3 {
			t.Errorf("%T%+v needs level %d, want 3", cmd, cmd, Level(cmd))
		}
	}
	for _, cmd := range []Command{CreateTask{}, ProgressTask{}, Join{}, ApplyRoom{Roles: []RoleSpec{{Name: "a"}}}, PutSettings{Values: []KV{{"ttl", "1m"}}}} {
		if Level(cmd) != 0 {
			t.Errorf("%T needs level %d, want 0", cmd, Level(cmd))
		}
	}
}

// level2Log is a log that uses feature level 2 and nothing above it.
func level2Log(t *testing.T) *drive {
	d, me := levelLog(t)
	d.must(WatchRooms{})
	d.must(SendMail{From: "ann", To: "r/a", Subject: "s", Body: "b", Priority: MailHigh, Kind: "note"})
	d.must(Declare{Speaker: me, Status: StatusBusy, For: time.Minute, Text: "why", Seq: 3})
	d.must(CreateTask{Room: "r", Role: "a", Title: "waits", By: "x"})
	d.must(CancelTask{Task: 1, By: "ann", Reason: "enough"}) // taken from its holder
	d.pass(time.Hour)
	return d
}

// L12: the same for levels 2 and 3, until RaiseLevel begins the higher one.
func TestL12Level3IsInvisibleUntilItBegins(t *testing.T) {
	d := level2Log(t)
	const ofLevel2 = "50d4a1353bf660486191be378a2ef27bff461fe46b2bca951ef900c2ef38dc87" // by a build of level 2
	hash := d.s.Hash()
	if got := hex.EncodeToString(hash[:]); got != ofLevel2 {
		t.Fatalf("hash %s, a build of feature level 2 has %s", got, ofLevel2)
	}
	for _, level := range []uint32{0, 2, MaxLevel + 1} {
		d.want(Invalid, RaiseLevel{Level: level})
	}
	if d.s.Level() != 0 || d.events("cluster.level_raised") != 0 {
		t.Error("a refused RaiseLevel has changed the state")
	}
	if Level(RaiseLevel{Level: 3}) != 3 {
		t.Error("RaiseLevel does not need the level that it begins")
	}
	d.must(RaiseLevel{Level: 3})
	d.want(Conflict, RaiseLevel{Level: 3})
	if d.s.Hash() == hash {
		t.Error("the level is in no hash")
	}
	for _, cmd := range []Command{ReportScreen{}, ReportTerminals{}, PutSettings{Values: []KV{{"prompt_limit", "1m"}}}, PutSettings{Values: []KV{{"idle_prompt_limit", "1m"}}}} {
		if Level(cmd) != 3 {
			t.Errorf("%T needs level %d, want 3", cmd, Level(cmd))
		}
	}
	host := d.host("h1", "w")
	inc := d.start("r/a.2", host).Inc
	d.must(ReportTerminals{Host: host, Boot: "boot1", Tool: "tmux 3.3a", Runners: []string{"w"}})
	d.must(PutSettings{Values: []KV{{"prompt_limit", "1m"}}})
	d.must(ReportScreen{Host: host, Agent: d.agent("r/a.2").ID, Inc: inc, Kind: PromptIdle, Quiet: true})
	if got := reload(t, d.s); got.Hash() != d.s.Hash() || got.Level() != 3 {
		t.Errorf("loaded at level %d with hash %x, dumped at %d with %x", got.Level(), got.Hash(), d.s.Level(), d.s.Hash())
	}
}

// Whoever loses a task gets the whole pending limit for the next one, although that has
// waited for longer (feature level 3: the time of the loss is kept).
func TestTaskTakenAwayMakesNobodyDeafAtOnce(t *testing.T) {
	const limit = 5 * time.Minute
	for _, level := range []uint32{2, 3} {
		d := newDrive(t)
		d.room("r", RoleSpec{Name: "a", TTL: 4 * time.Hour, PendingLimit: limit})
		if level == 3 {
			d.must(RaiseLevel{Level: 3})
		}
		me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker{Agent: "r/a"}}).Inc}
		task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
		d.must(CreateTask{Room: "r", Role: "a", Title: "waits", By: "x"})
		d.must(Claim{Speaker: me})
		d.must(StartTask{Work{Speaker: me, Task: task, Attempt: 1}})
		d.jump(limit + time.Minute)
		d.must(CancelTask{Task: task, By: "ann"})
		g := d.s.Signals(d.agent("r/a").ID, true)
		if deaf := g.unheeding(); deaf != (level == 2) {
			t.Errorf("level %d: a task has waited for %s, deaf: %v", level, g.Waiting, deaf)
		}
		d.jump(limit + time.Second)
		if g = d.s.Signals(d.agent("r/a").ID, true); !g.unheeding() {
			t.Errorf("level %d: after the limit a task has waited for %s, and the agent is not deaf", level, g.Waiting)
		}
	}
}

// What belongs to overseers is of level 3, and survives a dump.
func TestL12OverseersAreOfLevel3(t *testing.T) {
	role := ApplyRoom{Room: "r", Roles: []RoleSpec{{Name: "a", Overseer: []OverseerSpec{{Triage: "boot", HandoffAfter: 20, Fresh: time.Minute, Stale: time.Hour}}}}}
	for _, cmd := range []Command{role, ReportPatrol{}, LookAtOverseer{}, HandOver{}, ProdOverseer{}, NoteProd{},
		PutSettings{Values: []KV{{"overseer_fresh", "1m"}}}, PutSettings{Values: []KV{{DeclareLimitName, "1h"}, {"chain_enabled", "false"}}}} {
		if Level(cmd) != 3 {
			t.Errorf("%T needs level %d, want 3", cmd, Level(cmd))
		}
	}
	x := overseerRoom(t, true)
	x.patrol()
	x.ask()
	if got := reload(t, x.s); got.Hash() != x.s.Hash() || *got.AgentByName(watchName).Notes().Chain != x.chain() || got.Check() != nil ||
		got.RoleByName("r", "deacon").Spec.Overseer[0] != x.s.RoleByName("r", "deacon").Spec.Overseer[0] || got.looks[x.chain().Task] != x.agent(watchName).ID {
		t.Errorf("%+v is loaded as %+v: %v", x.chain(), *got.AgentByName(watchName).Notes().Chain, got.Check())
	}
}
