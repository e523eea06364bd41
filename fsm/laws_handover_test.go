package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
	"vigil/fsm/watch/chain"
)

// inbox reads all mail of the overseer's present life, as kinds and subjects.
func (x *watch) inbox() (list []string) {
	x.t.Helper()
	out := x.must(ReadMail{Speaker: x.me})
	for _, m := range x.s.MailDelivery(x.agent(watchName).ID, out.Rev) {
		list = append(list, strings.TrimSpace(m.Kind+" "+m.Subject))
	}
	return list
}

// Patrols, the summary, a fresh life without the old context, the mail that it gets before any
// other, and it goes on.
func TestOverseerHandoffFlow(t *testing.T) {
	x := overseerRoom(t, false)
	me := x.me
	x.must(SetResume{Speaker: me, Resume: "old context"})
	for n := uint32(1); n <= 3; n++ { // after N cycles
		x.beating(time.Minute + 20*time.Second)
		if out := x.patrol(); out.Count != n || x.s.HandoverDue(x.agent(watchName)) != (n == 3) {
			t.Fatalf("patrol %d is counted as %d, hand-over due: %v", n, out.Count, x.s.HandoverDue(x.agent(watchName)))
		}
	}
	x.must(SendMail{From: "ann", To: watchName, Subject: "at once", Priority: noun.MailUrgent})
	out := x.must(HandOver{Speaker: me, Subject: "Routine cycle", Body: "Details"})
	a := x.agent(watchName)
	if m := x.s.Mail(out.Mail); m.Kind != noun.HandOverKind || m.Body != "Details" || m.FromInc != me.Inc ||
		m.State != noun.MailQueued {
		t.Errorf("the summary is %+v", m)
	}
	if a.Order != noun.StopOrder || a.Overdue || a.Resume != "" || x.events("agent.handed_over") != 1 ||
		strings.Contains(x.lastEvent("agent.handed_over"), "Routine") {
		t.Errorf("the life is not being ended: %+v", a)
	}
	x.want(noun.Conflict, HandOver{Speaker: me, Subject: "again"}) // it is being stopped
	if got := x.inbox(); !slices.Equal(got, []string{"at once"}) {
		t.Errorf("the ending life reads %q: the summary is not for itself", got)
	}
	x.must(SetResume{Speaker: me, Resume: "a late word"})
	x.must(ReportExit{Host: x.h, Agent: a.ID, Inc: me.Inc, Kind: noun.ExitOrdered})
	if a = x.agent(watchName); a.Failures != 0 || a.NotBefore != 0 || a.Resume != "" {
		t.Errorf("the restart is charged, or not fresh: %+v", a)
	}
	if wanted := x.s.Wants(a); !wanted {
		t.Fatalf("no next life is wanted: %+v", x.s.Why(a.ID))
	}
	x.begin()
	if got := x.inbox(); !slices.Equal(got, []string{noun.HandOverKind + " Routine cycle", "at once"}) {
		t.Errorf("the next life reads %q", got)
	}
	if x.s.HandoverDue(x.agent(watchName)) || x.agent(watchName).Patrols() != 0 {
		t.Error("the patrols of the last life count for the next one")
	}
	if out := x.patrol(); out.Count != 1 || x.chain().Cycle != 4 {
		t.Errorf("patrol %d of the new life, cycle %d; want 1 and 4", out.Count, x.chain().Cycle)
	}
}

// Both the mail and the next life, or neither; and no life that has done nothing yet.
func TestHandoverIsBothOrNeither(t *testing.T) {
	x := overseerRoom(t, false)
	hand := HandOver{Speaker: x.me, Subject: "s"}
	nothing := func(code noun.Code, words string) {
		t.Helper()
		out := x.want(code, hand)
		if a := x.agent(watchName); !strings.Contains(out.Detail, words) || a.Order == noun.StopOrder &&
			code != noun.Stopped || x.s.Unread(a.ID) != 0 || x.events("agent.handed_over") != 0 {
			t.Errorf("%q, want %q; order %s, %d mails", out.Detail, words, a.Order, x.s.Unread(a.ID))
		}
	}
	nothing(noun.Conflict, "it may hand over after 3m0s")
	x.beating(3 * time.Minute)
	x.must(SetPause{Scope: watchName, Pause: true, By: "ann"})
	nothing(noun.Stopped, "ann")
	x.must(SetPause{Scope: watchName, By: "ann"})
	hand.Body = strings.Repeat("x", noun.MaxMailBody+1)
	nothing(noun.Invalid, "body")
	hand.Body = ""
	x.must(SetAgent{Agent: watchName, Stop: true, By: "ann"})
	nothing(noun.Stopped, "stopped")
	x.want(noun.Superseded, HandOver{Speaker: Speaker{Agent: watchName}, Subject: "s"})
	x.want(noun.Conflict, HandOver{Speaker: x.boot(), Subject: "s"}) // no overseer
}

// boot starts an agent of the triage role.
func (x *watch) boot() Speaker {
	x.t.Helper()
	x.must(CreateTask{Room: "r", Role: "boot", Title: "t"})
	x.triage = x.start(triageName, x.h)
	x.must(Join{Speaker: x.triage})
	return x.triage
}

// A mail that only calls itself a hand-over is read in its turn.
func TestHandoverCannotBeForged(t *testing.T) {
	x := overseerRoom(t, false)
	x.must(SendMail{From: watchName, To: watchName, Subject: "forged", Kind: noun.HandOverKind, Priority: noun.MailLow})
	x.must(SendMail{Speaker: x.boot(), To: watchName, Subject: "of another", Kind: noun.HandOverKind})
	x.must(SendMail{From: "ann", To: watchName, Subject: "high", Priority: noun.MailHigh})
	if got := x.inbox(); !slices.Equal(got, []string{"high", noun.HandOverKind + " of another",
		noun.HandOverKind + " forged"}) {
		t.Errorf("read in the order %q", got)
	}
}

// What was reported is what is shown.
func TestOverseerPatrolReport(t *testing.T) {
	x := overseerRoom(t, false)
	x.want(noun.Invalid, ReportPatrol{Speaker: x.me, Action: "Health Scan"})
	x.want(noun.Conflict, ReportPatrol{Speaker: x.boot()})
	x.must(ReportPatrol{Speaker: x.me, Cycle: 42, Action: "health-scan", Healthy: 3})
	at := x.clock
	if c := x.chain(); c.PatrolAt != at || c.Cycle != 42 || c.Action != "health-scan" || c.Healthy != 3 ||
		c.Unhealthy != 0 || c.Inc != x.me.Inc || c.Patrols != 1 {
		t.Errorf("%+v", c)
	}
	x.beating(time.Minute)
	if out := x.must(ReportPatrol{Speaker: x.me, Cycle: 42, Action: "other"}); out.Count != 1 ||
		x.chain().PatrolAt != at || x.chain().Action != "health-scan" {
		t.Errorf("the same cycle again is taken for a patrol: %+v", x.chain())
	}
	x.must(ReportPatrol{Speaker: x.me})
	if c := x.chain(); c.Cycle != 43 || c.Patrols != 2 || c.PatrolAt != x.clock {
		t.Errorf("%+v", c)
	}
	old := x.me
	x.exit(old)
	x.begin()
	x.want(noun.Superseded, ReportPatrol{Speaker: old, Cycle: 44}) // law L6
	if f := x.s.OverseerFacts(x.agent(watchName)); f.Patrolled || f.Age != 0 {
		t.Errorf("the patrols of the last life are those of the next one: %+v", f)
	}
}

// Work of an overseer is its patrols: one that has made some ends healthy and is not charged
// for a clean end.
func TestPatrolsCountAsWork(t *testing.T) {
	for _, patrols := range []int{0, 1} {
		x := overseerRoom(t, false)
		for range patrols {
			x.patrol()
		}
		x.must(ReportExit{Host: x.h, Agent: x.agent(watchName).ID, Inc: x.me.Inc, Kind: noun.ExitClean})
		if failures := x.agent(watchName).Failures; failures != uint32(1-patrols) {
			t.Errorf("after %d patrols a clean end costs %d failures", patrols, failures)
		}
	}
}

// A decision is typed once, whoever leads, and not when it is old.
func TestDecisionIsTypedOnce(t *testing.T) {
	x := overseerRoom(t, false)
	x.patrol()
	x.beating(15*time.Minute + time.Second)
	x.decided(noun.DecideWake, noun.ByRule)
	id := x.agent(watchName).ID
	prod := ProdOverseer{Agent: id, Inc: x.me.Inc, At: x.chain().Prod}
	x.want(noun.Conflict, ProdOverseer{Agent: id, Inc: x.me.Inc, At: prod.At - 1})
	x.want(noun.Superseded, ProdOverseer{Agent: id, Inc: x.me.Inc + 1, At: prod.At})
	if out := x.must(prod); out.Count != 0 {
		t.Error("it is not to be typed")
	}
	x.want(noun.Conflict, prod)
	x.must(NoteProd{Agent: id, Inc: x.me.Inc, Reason: "it has no terminal"})
	if text := x.lastEvent("agent.prod_failed"); !strings.Contains(text, "it has no terminal") {
		t.Errorf("%q", text)
	}
	x = overseerRoom(t, false)
	x.patrol()
	x.beating(15*time.Minute + time.Second)
	prod.At = x.chain().Prod
	x.beating(chain.ProdWithin + time.Second)
	if out := x.must(prod); out.Count != 1 {
		t.Error("what was decided long ago is typed")
	}
}

// A role that ceases to be one of overseers, or goes, leaves nothing behind.
func TestOverseerNoMore(t *testing.T) {
	x := overseerRoom(t, true)
	task := x.ask()
	x.room("r", noun.RoleSpec{Name: "deacon", Runner: "w"},
		noun.RoleSpec{Name: "boot", Runner: "w", Start: noun.StartOnDemand})
	if a := x.agent(watchName); a.Notes().Chain != nil || x.s.Task(task).State != noun.TaskCanceled {
		t.Errorf("%+v", a.Notes())
	}
	x = overseerRoom(t, true)
	x.ask()
	x.must(DeleteRoom{Room: "r", By: "ann"})
	x.must(ReportExit{Host: x.h, Agent: x.agent(watchName).ID, Inc: x.me.Inc, Kind: noun.ExitOrdered})
	if x.s.Room("r") != nil {
		t.Error("the room is still there")
	}
	x = overseerRoom(t, true)
	for _, bad := range []noun.RoleSpec{{Name: "a", Start: noun.StartOnDemand, Overseer: []noun.OverseerSpec{{}}},
		{Name: "a", Overseer: []noun.OverseerSpec{{Triage: "a"}}},
		{Name: "a", Overseer: []noun.OverseerSpec{{}, {}}},
		{Name: "a", Overseer: []noun.OverseerSpec{{Fresh: -1}}},
		{Name: "a", Overseer: []noun.OverseerSpec{{Triage: "B"}}}} {
		x.want(noun.Invalid, ApplyRoom{Room: "bad", Roles: []noun.RoleSpec{bad}})
	}
}
