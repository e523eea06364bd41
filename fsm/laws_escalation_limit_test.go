package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// L11: at the limit what is over gives way, then what is less urgent than what comes, the oldest first;
// so what is urgent opens and is announced, and what is lost by that is counted.
func TestL11UrgentEscalationsOpenBesideAnyNumber(t *testing.T) {
	const most = noun.MaxOpenEscalations
	x := newAlarmed(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(PutSettings{Values: []noun.KV{{Key: "escalations_kept", Value: "3"}}})
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", Replicas: 12})
	for i := range 12 {
		x.start(noun.AgentName("r", "a", uint32(i+1)), x.host)
	}
	fill := func(first, end int, kind noun.EscalationKind, p noun.MailPriority) {
		t.Helper()
		for ; first < end; first += 2500 { // the whole state is checked after each
			x.must(happenMany{first, min(end, first+2500), kind, p})
		}
	}
	counts := func(dropped uint64) {
		t.Helper()
		if c := x.s.EscalationCounts(); c.Open != most || c.Dropped != dropped {
			t.Fatalf("%d are open and %d dropped, want %d and %d", c.Open, c.Dropped, most, dropped)
		}
	}
	fill(0, most, noun.EscRoomCanceled, noun.MailLow) // about rooms that are not there
	x.jump(24 * time.Hour)                            // nobody beats
	for x.pass(time.Second); x.apply(x.entry()).Effects.More; {
	}
	if x.s.Brake().Set == 0 {
		t.Fatal("the brake is not set")
	}
	last := x.s.Escalation(x.s.Meta.Escalations.Last)
	if last.Kind != noun.EscMassFailure || last.State != noun.EscalationOpen || !last.Notice.Pending ||
		x.s.Notices("hook")[0] != last {
		t.Fatalf("the brake is set, and what is told is %+v", last)
	}
	if e := x.s.Escalation(1); e.State != noun.EscalationClosed || e.CloseBy != noun.LaddersBy || e.Note != "it is over" {
		t.Fatalf("what gave way is %+v", e)
	}
	counts(0)
	x.must(happens{noun.Escalation{Kind: noun.EscRoomCanceled, Subject: "low", Priority: noun.MailLow}})
	if x.s.Escalation(2).State != noun.EscalationClosed {
		t.Error("what is over keeps something out that is as urgent")
	}
	counts(0)

	// Nothing is over: all are about agents that do not get on.
	x = newAlarmed(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(PutSettings{Values: []noun.KV{{Key: "escalations_kept", Value: "3"}}})
	x.s.Hooks.Lasts[noun.EscAgentStuck] = func(*noun.Escalation) bool { return true }
	fill(0, most-1, noun.EscAgentStuck, noun.MailHigh)
	fill(most, most+1, noun.EscAgentStuck, noun.MailNormal)
	counts(0)
	x.must(happens{noun.Escalation{Kind: noun.EscAgentStuck, Subject: "low", Priority: noun.MailLow}})
	if e := x.s.Escalation(x.s.Meta.Escalations.Last); e.Subject == "low" {
		t.Error("what is least urgent got in")
	}
	counts(1)
	x.must(setsBrake{})
	if e := x.s.Escalation(most); e.Priority != noun.MailNormal || e.State != noun.EscalationClosed ||
		!strings.Contains(e.Note, "more urgent") {
		t.Errorf("the least urgent one is %+v", e)
	}
	counts(2)
	x.must(happens{noun.Escalation{Kind: noun.EscServerDiverged, Subject: "c", Priority: noun.MailUrgent}})
	if e := x.s.Escalation(1); e.State != noun.EscalationClosed {
		t.Errorf("the oldest of the least urgent is %+v", e)
	}
	counts(3)
	// What comes back within the cool-down gives way and gets in as what is new does.
	x.must(happens{noun.Escalation{Kind: noun.EscAgentStuck, Subject: "room0", Priority: noun.MailHigh}})
	if x.s.Escalation(1).State != noun.EscalationClosed {
		t.Error("one came back above the limit")
	}
	counts(4)
	x.must(happens{noun.Escalation{Kind: noun.EscAgentStuck, Subject: "room0", Priority: noun.MailUrgent}})
	if e := x.s.Escalation(1); e.State != noun.EscalationOpen || e.Priority != noun.MailUrgent || e.Reopened != 1 ||
		x.s.Escalation(2).State != noun.EscalationClosed {
		t.Errorf("it came back more urgent, and is %+v", e)
	}
	counts(5)
	if reload(t, x.s).Hash() != x.s.Hash() {
		t.Error("a restored state differs")
	}
}

// setsBrake is a command that tells of the brake.
type setsBrake struct{}

func (setsBrake) Apply(s *core.State) noun.Outcome {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscMassFailure, Subject: "cluster", Priority: noun.MailUrgent})
	return noun.Outcome{}
}

// What is about an agent, a task or a room is over when that is deleted; from the level on, and what was
// left from before it then.
func TestEscalationsEndWithWhatTheyAreAbout(t *testing.T) {
	for _, before := range []bool{true, false} {
		x := newAlarmed(t)
		raise := func() { x.must(RaiseLevel{Level: core.LevelRetry}) }
		if !before {
			raise()
		}
		x.room("gone", noun.RoleSpec{Name: "w", Runner: "w", KillLimit: 1, AckLimit: time.Hour, StartLimit: time.Hour})
		x.must(CreateTask{Room: "gone", Role: "w", Title: "t"})
		me := x.start("gone/w", x.host)
		x.must(Join{Speaker: me})
		x.must(Claim{Speaker: me})
		a := x.agent("gone/w")
		x.must(ReportStuck{Host: x.host, Agent: a.ID, Inc: a.Inc, Reason: "in uninterruptible sleep"})
		x.must(ReportExit{Host: x.host, Agent: a.ID, Inc: a.Inc, Code: 3})
		x.must(happens{noun.Escalation{Kind: noun.EscRoomCanceled, Subject: "gone", Room: "gone", Priority: noun.MailLow}})
		x.must(happens{noun.Escalation{Kind: noun.EscRoomCanceled, Subject: "r", Room: "r", Priority: noun.MailLow}})
		if c := x.s.EscalationCounts(); c.Open != 4 {
			t.Fatalf("%d escalations: %+v", c.Open, x.all())
		}
		x.must(DeleteRoom{Room: "gone", By: "ann"})
		x.whole()
		if x.s.Room("gone") != nil {
			t.Fatal("the room is still there")
		}
		if before {
			if c := x.s.EscalationCounts(); c.Open != 4 {
				t.Errorf("before the level %d are open", c.Open)
			}
			raise()
		}
		for _, e := range x.all() {
			if open := e.Subject == "r"; (e.State == noun.EscalationOpen) != open {
				t.Errorf("%s about %s is %s", e.Kind, e.Subject, e.State)
			} else if !open && (e.CloseBy != noun.LaddersBy || e.Note != "it is over" || e.Notice.Pending) {
				t.Errorf("closed as %+v", e)
			}
		}
	}
}
