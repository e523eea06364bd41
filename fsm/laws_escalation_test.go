package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// alarmed is a cluster with escalations, one host and one agent of a runner.
type alarmed struct {
	*drive
	host noun.HostID
}

func newAlarmed(t *testing.T) *alarmed {
	t.Helper()
	x := &alarmed{drive: newDrive(t)}
	x.jump(time.Hour)
	x.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
	x.host = x.drive.host("h1", "w")
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", KillLimit: 1, AckLimit: 24 * time.Hour,
		StartLimit: 24 * time.Hour})
	return x
}

// stick reports that the agent's process cannot be ended, then that it can.
func (x *alarmed) stick() {
	x.t.Helper()
	a := x.agent("r/a")
	x.must(ReportStuck{Host: x.host, Agent: a.ID, Inc: a.Inc, Reason: "in uninterruptible sleep"})
	x.must(ReportStuck{Host: x.host, Agent: a.ID, Inc: a.Inc})
}

// all lists the escalations, oldest first.
func (x *alarmed) all() (list []*noun.Escalation) { return slices.Collect(x.s.Escalations(0)) }

// only is the one escalation that there is.
func (x *alarmed) only(kind noun.EscalationKind) *noun.Escalation {
	x.t.Helper()
	list := x.all()
	if len(list) != 1 || list[0].Kind != kind {
		x.t.Fatalf("escalated is %+v, want one %s", list, kind)
	}
	return list[0]
}

func (x *alarmed) crash() {
	x.t.Helper()
	a := x.agent("r/a")
	x.must(ReportExit{Host: x.host, Agent: a.ID, Inc: a.Inc, Code: 3})
}

// Each thing that needs a human opens one escalation, with the figures that a decision
// needs, commands that name what they are about, and no content of any task or mail.
func TestEscalationsOfEachKind(t *testing.T) {
	for _, tc := range []struct {
		kind      noun.EscalationKind
		subject   string
		priority  noun.MailPriority
		facts     string // of them
		commands  string // one of them
		do, undo  func(x *alarmed)
		undoneToo bool // it lasts whatever is done
	}{
		{kind: noun.EscStuckProcess, subject: "r/a", priority: noun.MailUrgent, facts: "{pid 4711}",
			commands: "vigil host explain h1",
			do: func(x *alarmed) {
				x.start("r/a", x.host)
				x.must(ReportStuck{Host: x.host, Agent: 1, Inc: x.agent("r/a").Inc, Reason: "in uninterruptible sleep"})
			},
			undo: func(x *alarmed) { x.must(ReportStuck{Host: x.host, Agent: 1, Inc: x.agent("r/a").Inc}) }},
		{kind: noun.EscBreaker, subject: "r/a", priority: noun.MailHigh,
			facts:    "{failures 5} {paused_for 30m0s} {last_exit crash} {exit_code 3}",
			commands: "vigil agent unpark r/a",
			do: func(x *alarmed) {
				for range 5 {
					x.wait("r/a", x.host)
					x.start("r/a", x.host)
					x.crash()
				}
			},
			undo: func(x *alarmed) { x.must(UnparkAgent{Agent: "r/a", By: "ann"}) }},
		{kind: noun.EscBrokenStart, subject: "r/a", priority: noun.MailHigh,
			facts: "{failed_starts 3} {runner w}", commands: "vigil agent explain r/a",
			do: func(x *alarmed) {
				for range 3 {
					x.wait("r/a", x.host)
					x.failStart("r/a", x.host, "no such program")
				}
			},
			undo: func(x *alarmed) { x.wait("r/a", x.host); x.must(Join{Speaker: x.start("r/a", x.host)}) }},
		{kind: noun.EscTaskQuarantined, subject: "task 1", priority: noun.MailHigh,
			facts: "{role a} {deaths 1} {attempts 1}", commands: "vigil task unquarantine 1",
			do: func(x *alarmed) {
				x.must(CreateTask{Room: "r", Role: "a", Title: "secret title", Text: "secret text"})
				me := x.start("r/a", x.host)
				x.must(Join{Speaker: me})
				x.must(Claim{Speaker: me})
				x.crash()
			},
			undo: func(x *alarmed) { x.must(UnquarantineTask{Task: 1, By: "ann"}) }},
		{kind: noun.EscMailUnanswered, subject: "r/a", priority: noun.MailUrgent,
			facts: "{mail 1} {mail_from ann} {mail_state queued} {waits_for 2m0s}", commands: "vigil nudge r/a TEXT",
			do: func(x *alarmed) {
				x.must(SendMail{From: "ann", To: "r/a", Subject: "secret subject", Body: "secret body",
					Priority: noun.MailUrgent})
				x.jump(2 * time.Minute)
			},
			undo: func(x *alarmed) {
				me := x.start("r/a", x.host)
				x.must(Join{Speaker: me})
				x.must(AckMail{Speaker: me, Mail: 1})
			}},
		{kind: noun.EscMassFailure, subject: "cluster", priority: noun.MailUrgent,
			facts: "{no_starts_for 24h0m0s}", commands: "vigil brake release",
			do: func(x *alarmed) {
				x.room("r", noun.RoleSpec{Name: "a", Runner: "w", Replicas: 12})
				for i := range 12 {
					x.start(noun.AgentName("r", "a", uint32(i+1)), x.host)
				}
				x.jump(24 * time.Hour) // nobody beats
				x.pass(time.Second)
			},
			undo: func(x *alarmed) { x.must(ReleaseBrake{By: "ann"}) }},
		{kind: noun.EscRoomCanceled, subject: "r", priority: noun.MailLow,
			facts: "{reason idle_timeout} {tasks 1} {silent_for 11m1s}", commands: "vigil room reopen r",
			do: func(x *alarmed) {
				x.must(CreateTask{Room: "r", Role: "a", Title: "secret title"})
				rm := x.s.Room("r")
				x.jump(10*time.Minute + time.Second)
				x.must(WarnRoom{Room: rm.ID, Active: rm.Active})
				x.jump(time.Minute)
				x.must(CancelIdleRoom{Room: rm.ID, Active: rm.Active, Warned: x.s.Room("r").Warned})
			},
			undo: func(x *alarmed) { x.must(ReopenRoom{Room: "r", By: "ann"}) }},
		{kind: noun.EscServerDiverged, subject: "c", priority: noun.MailUrgent, facts: "{diverged_servers 1}",
			commands: "vigil server remove c",
			do: func(x *alarmed) {
				x.must(PutServer{ID: "c"})
				x.must(Mark{Voters: []string{"a", "b", "c"}})
				at := x.s.LastIndex()
				for _, h := range []noun.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}, {Key: "c", Value: "2"}} {
					x.must(ReportHash{Server: h.Key, Index: at, Hash: []byte(h.Value)})
				}
			},
			undo: func(x *alarmed) { x.must(DropServer{ID: "c"}) }},
		{kind: noun.EscStatesDiffer, subject: "cluster", priority: noun.MailUrgent,
			facts: "{hashes a=31 b=32} {voters 3}", commands: "vigil server list",
			do: func(x *alarmed) {
				x.must(Mark{Voters: []string{"a", "b", "c"}})
				at := x.s.LastIndex()
				for _, h := range []noun.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}} {
					x.must(ReportHash{Server: h.Key, Index: at, Hash: []byte(h.Value)})
				}
			},
			undo: func(x *alarmed) {
				for range core.MarksKept { // later comparisons say nothing of it
					x.must(Mark{Voters: []string{"a", "b", "c"}})
				}
			}},
		{kind: noun.EscAgentStuck, subject: "r/a", priority: noun.MailHigh,
			facts: "{verdict stalled} {asked_for 7m0s} {restarts 0}", commands: "vigil agent restart r/a",
			do: func(x *alarmed) {
				x.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
				me := x.start("r/a", x.host)
				x.must(Join{Speaker: me})
				task := x.must(CreateTask{Room: "r", Role: "a", Title: "secret title"}).Task
				x.must(Claim{Speaker: me})
				x.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
				x.jump(judge.StalledAfter + time.Second)
				for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
					c := x.s.Climb(1)
					x.jump(max(0, c.Due.Sub(x.clock)))
					x.must(StepLadder{Agent: 1, Inc: me.Inc, Rung: r, Seen: c.Seen})
				}
			},
			undo: func(x *alarmed) {
				x.must(ProgressTask{Work: Work{Speaker: Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc},
					Task: 1, Attempt: 1}, Note: "on it"})
			}},
		{kind: noun.EscPrompt, subject: "r/a", priority: noun.MailHigh, facts: "{shown_for 5m0s} {runner w}",
			commands: "vigil agent screen r/a",
			do: func(x *alarmed) {
				x.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
				me := x.start("r/a", x.host)
				x.must(Join{Speaker: me})
				x.must(ReportScreen{Host: x.host, Agent: 1, Inc: me.Inc, Kind: noun.PromptPermission})
				x.jump(5 * time.Minute)
			},
			undo: func(x *alarmed) {
				x.must(ReportScreen{Host: x.host, Agent: 1, Inc: x.agent("r/a").Inc, Kind: noun.PromptNone})
			}},
		{kind: noun.EscNeedsInput, subject: "r/a", priority: noun.MailHigh, facts: "{declared_for 5m0s} {runner w}",
			commands: "vigil nudge r/a --answer TEXT",
			do: func(x *alarmed) {
				if x.s.Level() < core.LevelRetry {
					x.must(RaiseLevel{Level: core.LevelRetry})
				}
				x.must(PutSettings{Values: []noun.KV{{Key: "ttl", Value: "24h"}, {Key: "host_ttl", Value: "24h"}}})
				me := x.start("r/a", x.host)
				x.must(Join{Speaker: me})
				x.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: time.Hour, Text: "secret question"})
				x.jump(5 * time.Minute)
			},
			undo: func(x *alarmed) {
				x.must(Declare{Speaker: Speaker{Agent: "r/a", Inc: x.agent("r/a").Inc}})
			}},
	} {
		t.Run(tc.kind.String(), func(t *testing.T) {
			x := newAlarmed(t)
			tc.do(x)
			e := x.only(tc.kind)
			if e.Subject != tc.subject || e.Priority != tc.priority || e.Count != 1 ||
				e.State != noun.EscalationOpen || !e.Notice.Pending {
				t.Errorf("%+v", e)
			}
			if got := fmt.Sprint(e.Facts); !strings.Contains(got, tc.facts) {
				t.Errorf("facts %s, want %s", got, tc.facts)
			}
			if !slices.Contains(e.Commands(), tc.commands) ||
				!slices.Contains(e.Commands(), "vigil escalation ack 1") ||
				strings.Contains(fmt.Sprint(e.Commands()), "{") {
				t.Errorf("commands %q", e.Commands())
			}
			if e.Reason() == "" || e.Done() == "" ||
				strings.Contains(fmt.Sprintf("%+v %s %s", e, e.Reason(), e.Done()), "secret") {
				t.Errorf("reason %q, done %q in %+v", e.Reason(), e.Done(), e)
			}
			if !x.s.Lasts(e) {
				t.Error("it is said to be over")
			}
			tc.undo(x)
			if x.s.Lasts(e) {
				t.Error("it is undone and said to last")
			}
			if e = x.s.Escalation(1); e.State != noun.EscalationOpen {
				t.Errorf("it is %s without a human's word", e.State)
			}
			if n := x.events("escalation.opened"); n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// L11: an inquiry of the ladder that stays without an answer is no second call for a human,
// and none at all when the agent goes on with its work; mail of others is.
func TestL11InquiriesOfTheLadderAreNotEscalatedTwice(t *testing.T) {
	x := newAlarmed(t)
	for _, from := range []string{noun.LaddersBy, "ann"} {
		x.must(SendMail{From: from, To: "r/a", Subject: "s", Priority: noun.MailHigh})
		x.jump(time.Hour)
		if n := x.events("mail.escalated"); n == 0 {
			t.Fatal("no mail was escalated")
		}
		if got := len(x.all()); from == noun.LaddersBy && got != 0 {
			t.Errorf("%d escalations about mail of the ladder", got)
		}
	}
	if e := x.only(noun.EscMailUnanswered); e.Count != 1 {
		t.Errorf("%+v", e)
	}
}

// One thing is one escalation, however often it happens; it is announced again after the
// cool-down, and not while the last notice is on its way.
func TestL11EscalationsAreDeduplicatedAndCooledDown(t *testing.T) {
	x := newAlarmed(t)
	x.start("r/a", x.host)
	x.stick()
	first := *x.only(noun.EscStuckProcess)
	for range 20 {
		x.jump(time.Minute)
		x.stick()
	}
	e := x.only(noun.EscStuckProcess)
	if e.Count != 21 || e.First != first.First || e.Last != x.clock || e.Notice.Number != 1 {
		t.Fatalf("while the notice is pending: %+v", e)
	}
	x.must(NoteNotice{Escalation: 1, Notice: 1, Notifier: "hook", Notifiers: []string{"hook"}})
	x.jump(time.Second)
	x.stick()
	if e = x.only(noun.EscStuckProcess); e.Notice.Number != 2 || !e.Notice.Pending || e.Notice.At != x.clock {
		t.Fatalf("after the cool-down: %+v", e)
	}
	x.must(NoteNotice{Escalation: 1, Notice: 2, Notifier: "hook", Notifiers: []string{"hook"}})
	x.jump(15*time.Minute - time.Second)
	x.stick()
	if e = x.only(noun.EscStuckProcess); e.Notice.Number != 2 || e.Notice.Pending {
		t.Fatalf("in the cool-down: %+v", e.Notice)
	}
	x.jump(time.Second)
	x.stick()
	if e = x.only(noun.EscStuckProcess); e.Notice.Number != 3 {
		t.Fatalf("after the cool-down: %+v", e.Notice)
	}
	if n := x.events("escalation.opened"); n != 1 {
		t.Errorf("opened %d times", n)
	}
}

// What was acknowledged and happens again when nothing had been seen of it for escalation_remind is another episode:
// whoever looked after the first is done with it, and somebody must hear of the second.
func TestAcknowledgedLongAgoIsAnnouncedAgain(t *testing.T) {
	for level, again := range map[uint32]bool{0: false, core.LevelRetry: true} {
		x := newAlarmed(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.start("r/a", x.host)
		x.stick()
		x.must(AckEscalation{Escalation: 1, By: "ann"})
		for range 5 { // it goes on
			x.jump(3 * time.Hour)
			x.stick()
		}
		if e := x.only(noun.EscStuckProcess); e.State != noun.EscalationAcknowledged || e.Notice.Number != 1 {
			t.Fatalf("level %d: while somebody looks after it: %s, notice %+v", level, e.State, e.Notice)
		}
		x.jump(4 * time.Hour)
		x.stick()
		e := x.only(noun.EscStuckProcess)
		if (e.State == noun.EscalationOpen) != again || e.Notice.Pending != again || (e.AckBy == "") != again {
			t.Errorf("level %d: the next day: %s by %q, notice %+v", level, e.State, e.AckBy, e.Notice)
		}
	}
	x := newAlarmed(t) // of what happened over night a human hears in the morning, and takes it then
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.start("r/a", x.host)
	x.stick()
	x.jump(9 * time.Hour)
	x.must(AckEscalation{Escalation: 1, By: "ann"})
	x.jump(time.Minute)
	x.stick()
	if e := x.only(noun.EscStuckProcess); e.State != noun.EscalationAcknowledged || e.AckBy != "ann" {
		t.Errorf("a minute after the acknowledgement: %s by %q", e.State, e.AckBy)
	}
	x.jump(4 * time.Hour)
	x.stick()
	if e := x.only(noun.EscStuckProcess); e.State != noun.EscalationOpen || !e.Notice.Pending {
		t.Errorf("the next episode: %s", e.State)
	}
}

// L9: a human's word wins: what is acknowledged is announced no more while it goes on or until it is closed,
// and what is closed and comes back within the cool-down is open again without a notice.
func TestL9AHumansWordAboutAnEscalationWins(t *testing.T) {
	x := newAlarmed(t)
	x.start("r/a", x.host)
	x.stick()
	x.must(AckEscalation{Escalation: 1, By: "ann"})
	if e := x.only(noun.EscStuckProcess); e.State != noun.EscalationAcknowledged || e.AckBy != "ann" ||
		e.Notice.Pending {
		t.Fatalf("acknowledged: %+v", e)
	}
	if out := x.must(AckEscalation{Escalation: 1, By: "bob"}); out.Count != 1 || x.s.Escalation(1).AckBy != "ann" {
		t.Errorf("said again: %+v", out)
	}
	x.jump(time.Hour)
	x.stick()
	if e := x.only(noun.EscStuckProcess); e.Count != 2 || e.Notice.Number != 1 || e.Notice.Pending {
		t.Fatalf("acknowledged and announced: %+v", e)
	}
	x.must(CloseEscalation{Escalation: 1, By: "ann", Note: "rebooted"})
	x.want(noun.Conflict, AckEscalation{Escalation: 1, By: "bob"})
	if out := x.must(CloseEscalation{Escalation: 1, By: "bob"}); out.Count != 1 ||
		x.s.Escalation(1).CloseBy != "ann" || x.s.Escalation(1).Note != "rebooted" {
		t.Errorf("closed again: %+v", out)
	}
	x.jump(time.Second)
	x.stick() // long after the last notice: a new one
	if list := x.all(); len(list) != 2 || list[1].Count != 1 || !list[1].Notice.Pending || list[1].Notice.Number != 2 {
		t.Fatalf("%+v", list)
	}
	x.must(CloseEscalation{Escalation: 2, By: "ann"})
	x.jump(15*time.Minute - time.Second)
	x.stick()
	if e := x.s.Escalation(2); len(x.all()) != 2 || e.State != noun.EscalationOpen || e.Reopened != 1 ||
		e.Notice.Pending || e.CloseBy != "" || e.Count != 2 {
		t.Fatalf("came back in the cool-down: %+v", e)
	}
	x.jump(time.Second)
	x.stick()
	if e := x.s.Escalation(2); !e.Notice.Pending || e.Notice.Number != 3 {
		t.Fatalf("still there after the cool-down: %+v", e)
	}
	x.want(noun.NotFound, AckEscalation{Escalation: 9})
	x.want(noun.NotFound, CloseEscalation{Escalation: 9})
	x.want(noun.Invalid, CloseEscalation{Escalation: 2, Note: strings.Repeat("x", noun.MaxEscalationNote+1)})
}

// What comes back within the cool-down of its notice is announced when that ends, if it still lasts; what is
// urgent also if it does not, since it can happen a third time. Once, and not before the level, nor when a
// human has said a word.
func TestL3WhatComesBackInTheCooldownIsAnnounced(t *testing.T) {
	told := func(x *alarmed) {
		x.must(NoteNotice{Escalation: 1, Notice: x.s.Escalation(1).Notice.Number, Notifier: "hook",
			Notifiers: []string{"hook"}})
	}
	opens := func(x *alarmed) { // the breaker
		x.wait("r/a", x.host)
		x.start("r/a", x.host)
		x.crash()
	}
	back := func(t *testing.T, level uint32) *alarmed {
		x := newAlarmed(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.must(PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "1"}}})
		opens(x)
		told(x)
		x.must(CloseEscalation{Escalation: 1, By: "ann"})
		x.must(UnparkAgent{Agent: "r/a", By: "ann"})
		x.jump(70 * time.Second)
		opens(x)
		if e := x.only(noun.EscBreaker); e.Reopened != 1 || e.Notice.Pending {
			t.Fatalf("it has come back: %+v", e)
		}
		return x
	}
	ends := func(x *alarmed) { x.jump(x.s.Escalation(1).Notice.At.Add(15 * time.Minute).Sub(x.clock)) }

	x := back(t, core.LevelRetry)
	x.jump(x.s.Escalation(1).Notice.At.Add(15*time.Minute - 1).Sub(x.clock))
	if x.s.Escalation(1).Notice.Pending {
		t.Fatal("it is announced in the cool-down")
	}
	x.jump(1)
	if e := x.only(noun.EscBreaker); !e.Notice.Pending || e.Notice.Number != 2 || e.Notice.At != x.clock {
		t.Fatalf("after the cool-down: %+v", e.Notice)
	}
	told(x)
	x.jump(3 * time.Hour)
	if e := x.only(noun.EscBreaker); e.Notice.Number != 2 {
		t.Fatalf("it has not happened again: %+v", e.Notice)
	}

	for name, c := range map[string]struct {
		level uint32
		do    func(x *alarmed)
	}{
		"before the level": {0, func(*alarmed) {}},
		"it is over":       {core.LevelRetry, func(x *alarmed) { x.must(UnparkAgent{Agent: "r/a", By: "ann"}) }},
		"acknowledged":     {core.LevelRetry, func(x *alarmed) { x.must(AckEscalation{Escalation: 1, By: "ann"}) }},
		"closed":           {core.LevelRetry, func(x *alarmed) { x.must(CloseEscalation{Escalation: 1, By: "ann"}) }},
	} {
		x := back(t, c.level)
		c.do(x)
		ends(x)
		if e := x.only(noun.EscBreaker); e.Notice.Number != 1 || e.Notice.Pending {
			t.Errorf("%s: it is announced: %+v", name, e.Notice)
		}
	}

	x = back(t, 0) // the level begins in the cool-down, and the reminders are off
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(PutSettings{Values: []noun.KV{{Key: "escalation_remind", Value: "0s"}}})
	ends(x)
	if !x.s.Escalation(1).Notice.Pending {
		t.Error("what came back before the level is not announced")
	}

	x = newAlarmed(t) // urgent, and over each time
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.start("r/a", x.host)
	x.stick()
	told(x)
	x.jump(10 * time.Minute)
	x.stick()
	ends(x)
	if e := x.only(noun.EscStuckProcess); x.s.Lasts(e) || !e.Notice.Pending || e.Count != 2 || e.Notice.Number != 2 {
		t.Errorf("urgent, and over: %+v", e)
	}
}

// L11: closed ones are kept up to a number, those that were closed last; open ones are
// bounded too, and what is left out is counted.
func TestL11EscalationsAreBounded(t *testing.T) {
	x := newAlarmed(t)
	x.must(PutSettings{Values: []noun.KV{{Key: "escalations_kept", Value: "2"}}})
	many := func(n int) { // in a few entries, since the whole state is checked after each
		for first := 0; first < n; first += 1000 {
			x.must(happenMany{first, min(n, first+1000), noun.EscRoomCanceled, noun.MailNormal})
		}
	}
	many(4)
	for _, id := range []noun.EscalationID{3, 1, 4, 2} {
		x.jump(time.Second)
		x.must(CloseEscalation{Escalation: id, By: "ann"})
	}
	if list := x.all(); len(list) != 2 || list[0].ID != 2 || list[1].ID != 4 {
		t.Fatalf("kept are %+v, want those that were closed last", list)
	}
	many(noun.MaxOpenEscalations + 7)
	if c := x.s.EscalationCounts(); c.Open != noun.MaxOpenEscalations || c.Dropped != 7 ||
		c.Opened != noun.MaxOpenEscalations+2 {
		t.Errorf("%+v", c)
	}
}

// happenMany is a command that calls a human for rooms from First to before End.
type happenMany struct {
	First, End int
	kind       noun.EscalationKind
	priority   noun.MailPriority
}

func (h happenMany) Apply(s *core.State) noun.Outcome {
	for i := h.First; i < h.End; i++ {
		s.Hooks.Human.Call(noun.Escalation{Kind: h.kind, Subject: fmt.Sprint("room", i), Priority: h.priority})
	}
	return noun.Outcome{}
}

// happens is a command that calls a human for something.
type happens struct{ what noun.Escalation }

func (h happens) Apply(s *core.State) noun.Outcome {
	s.Hooks.Human.Call(h.what)
	return noun.Outcome{}
}
