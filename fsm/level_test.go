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
	for _, cmd := range []Command{Join{}, ApplyRoom{Roles: []RoleSpec{{Name: "a"}}}, PutSettings{Values: []KV{{"ttl", "1m"}}}} {
		if Level(cmd) != 0 {
			t.Errorf("%T needs level %d, want 0", cmd, Level(cmd))
		}
	}
}
