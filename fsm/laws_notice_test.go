package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// due lists the notices that a notifier has to deliver now.
func (x *alarmed) due(notifier string) (list []uint64) {
	for _, e := range x.s.Notices(notifier) {
		list = append(list, e.Notice.Number)
	}
	return list
}

func (x *alarmed) fails(notice uint64, notifier, why string, all ...string) {
	x.t.Helper()
	x.must(NoteNotice{Escalation: noun.EscalationID(1), Notice: notice, Notifier: notifier, Failure: why,
		Notifiers: all})
}

// A notice is pending until each notifier has delivered it: what one could not is tried
// again by it alone, at distances that double up to an hour, and given up in the end.
func TestL11NoticesAreTriedAgainAndGivenUp(t *testing.T) {
	x := newAlarmed(t)
	x.must(PutSettings{Values: []noun.KV{{Key: "escalation_tries", Value: "12"}}})
	x.start("r/a", x.host)
	x.stick()
	all := []string{"hook", "mail"}
	x.fails(1, "mail", "", all...)
	if d := x.due("mail"); len(d) != 0 || len(x.due("hook")) != 1 {
		t.Fatalf("delivered by mail: %v, %v", d, x.due("hook"))
	}
	pauses := []time.Duration{}
	for try := 1; try <= 12; try++ {
		if d := x.due("hook"); len(d) != 1 {
			t.Fatalf("before try %d: %v", try, d)
		}
		x.fails(1, "hook", "status 500", all...)
		pause := time.Duration(0)
		for try < 12 && len(x.due("hook")) == 0 {
			at, ok := x.s.NextTimer()
			if !ok {
				t.Fatal("no timer brings the next try")
			}
			pause += at.Sub(x.clock)
			x.clock = at
			if res := x.apply(x.entry()); len(x.due("hook")) == 1 && !res.Effects.Notice {
				t.Fatal("nobody is told that a try is due")
			}
		}
		pauses = append(pauses, pause)
	}
	want := "[10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 42m40s 1h0m0s 1h0m0s 0s]"
	if fmt.Sprint(pauses) != want {
		t.Errorf("pauses %v, want %s", pauses, want)
	}
	e := x.only(noun.EscStuckProcess)
	if e.Notice.Pending || len(x.due("hook")) != 0 || !e.Notice.Deliveries[1].GaveUp ||
		e.Notice.Deliveries[1].Failure != "status 500" || !e.Notice.Deliveries[0].Done {
		t.Errorf("given up: %+v", e.Notice)
	}
	if x.events("escalation.notified") != 1 || x.events("escalation.undelivered") != 1 {
		t.Errorf("events: %d notified, %d undelivered", x.events("escalation.notified"),
			x.events("escalation.undelivered"))
	}
}

// What a late or repeated word says of a notice changes nothing; a leader with other
// notifiers goes on with its own.
func TestL6LateWordsAboutNotices(t *testing.T) {
	x := newAlarmed(t)
	x.start("r/a", x.host)
	x.stick()
	x.want(noun.Conflict, NoteNotice{Escalation: 1, Notice: 2, Notifier: "hook", Notifiers: []string{"hook"}})
	x.want(noun.Conflict, NoteNotice{Escalation: 1, Notifier: "hook"})
	x.want(noun.NotFound, NoteNotice{Escalation: 7, Notice: 1, Notifier: "hook"})
	x.want(noun.Invalid, NoteNotice{Escalation: 1, Notice: 1})
	x.want(noun.Invalid, NoteNotice{Escalation: 1, Notice: 1, Notifier: strings.Repeat("x", 65)})
	x.fails(1, "hook", "", "hook", "page")
	if out := x.must(NoteNotice{Escalation: 1, Notice: 1, Notifier: "hook", Failure: "timeout",
		Notifiers: []string{"hook", "page"}}); out.Count != 1 ||
		x.only(noun.EscStuckProcess).Notice.Deliveries[0].Tries != 1 {
		t.Errorf("said again: %+v", out)
	}
	x.term++ // the next leader knows no "page"
	x.must(LeaderEstablished{Server: "b"})
	if e := x.only(noun.EscStuckProcess); !e.Notice.Pending || len(x.due("other")) != 1 {
		t.Fatalf("%+v", e.Notice)
	}
	x.fails(1, "other", "", "hook", "other")
	if e := x.only(noun.EscStuckProcess); e.Notice.Pending {
		t.Errorf("all have delivered: %+v", e.Notice)
	}
	x.jump(time.Hour)
	x.stick()
	x.fails(2, "hook", "timeout", "hook")
	x.must(AckEscalation{Escalation: 1, By: "ann"})
	if _, ok := x.s.NextTimer(); len(x.due("hook")) != 0 || x.only(noun.EscStuckProcess).Armed != 0 {
		t.Errorf("acknowledged, and to be tried again (%v): %+v", ok, x.only(noun.EscStuckProcess))
	}
	x.fails(2, "hook", "", "hook") // it was on its way
	if e := x.only(noun.EscStuckProcess); e.Notice.Pending || !e.Notice.Deliveries[0].Done {
		t.Errorf("%+v", e.Notice)
	}
}

// The most urgent notice goes first, then the oldest.
func TestUrgentNoticesGoFirst(t *testing.T) {
	x := newAlarmed(t)
	for i, p := range []noun.MailPriority{noun.MailLow, noun.MailHigh, noun.MailUrgent, noun.MailHigh} {
		x.must(happens{noun.Escalation{Kind: noun.EscBreaker, Subject: fmt.Sprint("r/x", i), Priority: p}})
	}
	if got := x.due("hook"); fmt.Sprint(got) != "[3 2 4 1]" {
		t.Errorf("notices in the order %v", got)
	}
}

// A restored backup hands out no number of an escalation or a notice a second time.
func TestL6RestoredEscalationsGetNewNumbers(t *testing.T) {
	x := newAlarmed(t)
	x.start("r/a", x.host)
	x.stick()
	backup := reload(t, x.s)
	x.must(CloseEscalation{Escalation: 1, By: "ann"})
	x.jump(time.Hour)
	x.stick()
	backup.Outnumber(&x.s.View)
	if c, was := backup.EscalationCounts(), x.s.EscalationCounts(); c.Last < was.Last ||
		c.LastNotice < was.LastNotice || c.Open != 1 || c.Pending != 1 {
		t.Errorf("restored %+v over %+v", c, was)
	}
}

// What still lasts and nobody looks after is announced again each escalation_remind;
// a human's word ends it (law L9), and so does the end of the trouble.
func TestEscalationsAreRemindedOf(t *testing.T) {
	open := func(t *testing.T) *alarmed {
		x := newAlarmed(t)
		x.start("r/a", x.host)
		x.must(ReportStuck{Host: x.host, Agent: 1, Inc: x.agent("r/a").Inc, Reason: "in uninterruptible sleep"})
		x.fails(1, "hook", "", "hook")
		return x
	}
	for name, c := range map[string]struct {
		do   func(x *alarmed)
		want uint64 // notices after 13 h
	}{
		"nobody looks": {func(*alarmed) {}, 4},
		"acknowledged": {func(x *alarmed) { x.must(AckEscalation{Escalation: 1, By: "ann"}) }, 1},
		"closed":       {func(x *alarmed) { x.must(CloseEscalation{Escalation: 1, By: "ann"}) }, 1},
		"it is over":   {func(x *alarmed) { x.must(ReportExit{Host: x.host, Agent: 1, Inc: x.agent("r/a").Inc}) }, 1},
		"switched off": {func(x *alarmed) {
			x.must(PutSettings{Values: []noun.KV{{Key: "escalation_remind", Value: "0s"}}})
		}, 1},
		"every hour": {func(x *alarmed) {
			x.must(PutSettings{Values: []noun.KV{{Key: "escalation_remind", Value: "1h"}}})
		}, 14},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t)
			c.do(x)
			for range 13 {
				x.jump(time.Hour)
				for _, n := range x.due("hook") {
					x.fails(n, "hook", "", "hook")
				}
			}
			if got := x.s.Meta.Escalations.LastNotice; got != c.want {
				t.Errorf("%d notices in 13 h, want %d", got, c.want)
			}
			if err := x.s.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
