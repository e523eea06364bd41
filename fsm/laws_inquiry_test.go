package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// askedRoom is a silent room that has just been warned.
func askedRoom(t *testing.T) *silentRoom {
	t.Helper()
	x := newSilentRoom(t)
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	return x
}

// asked gives the only inquiry of the room.
func (x *silentRoom) asked() *noun.Mail {
	x.t.Helper()
	if len(x.room().Asked) != 1 {
		x.t.Fatalf("%d inquiries, want one", len(x.room().Asked))
	}
	return x.s.Mail(x.room().Asked[0])
}

// Whoever works in a silent room is asked before it is canceled, and any answer keeps the
// room.
func TestWatchdogInquiryBeforeTheCancellation(t *testing.T) {
	answers := map[string]struct {
		do    func(x *silentRoom)
		state noun.MailState // of the inquiry afterwards
	}{
		"acknowledged": {func(x *silentRoom) { x.must(AckMail{Speaker: x.me, Mail: x.asked().ID}) },
			noun.MailAcknowledged},
		"replied to": {func(x *silentRoom) {
			x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "s", Body: "b", Priority: noun.MailNormal, Kind: "note"})
		}, noun.MailExpired},
		"progress": {func(x *silentRoom) { x.must(ProgressTask{Work: x.work()}) }, noun.MailExpired},
		"declaration": {func(x *silentRoom) {
			x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput,
				For: time.Hour})
		}, noun.MailExpired},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			x := askedRoom(t)
			m := x.asked()
			if m.To != x.agent("r/a").ID || m.From != noun.WatchedBy || m.Kind != "room-inquiry" ||
				m.Priority != noun.MailHigh {
				t.Fatalf("asked: %+v", m)
			}
			plan := x.cancellation()
			answer.do(x)
			if got := x.s.Mail(m.ID).State; got != answer.state {
				t.Errorf("the inquiry is %s, want %s", got, answer.state)
			}
			if len(x.room().Asked) != 0 {
				t.Error("the room still waits for an answer")
			}
			x.jump(2 * time.Minute)
			x.want(noun.Conflict, plan)
			if q := x.see(); q.State != RoomActive && q.State != RoomExempt {
				t.Errorf("the room is %s", q.State)
			}
		})
	}
}

// Without an answer the room is canceled, and nobody is reminded of the inquiry or told of it.
func TestInquiryIsWithdrawnWithTheCancellation(t *testing.T) {
	x := askedRoom(t)
	id := x.asked().ID
	x.jump(time.Minute)
	x.must(x.cancellation())
	if m := x.s.Mail(id); m.State != noun.MailExpired || len(x.room().Asked) != 0 {
		t.Errorf("the inquiry is %s, %d wait", m.State, len(x.room().Asked))
	}
	x.jump(time.Hour)
	for _, kind := range []string{"mail.reminded", "mail.escalated"} {
		if n := len(x.events(kind)); n != 0 {
			t.Errorf("%d events %s", n, kind)
		}
	}
}

// Where nobody holds a task, those are asked who are there and could take one.
func TestInquiryGoesToWhoeverIsThere(t *testing.T) {
	x := newSilentRoom(t)
	x.must(CompleteTask{Work: x.work()})
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	if m := x.asked(); m.To != x.agent("r/a").ID {
		t.Errorf("asked: %+v", m)
	}
	x.must(Leave{Speaker: x.me})
	x.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "ann"}) // a human does something
	x.jump(10*time.Minute + time.Second)
	x.must(x.warning())
	if n := len(x.room().Asked); n != 0 {
		t.Errorf("%d inquiries to agents that are not there", n)
	}
}

// Of a role with many agents those are asked who are there, not only where they are the first of it.
func TestInquiryGoesBeyondThoseThatAreOff(t *testing.T) {
	for _, level := range []uint32{core.Baseline, core.LevelRetry} {
		x := newSilentRoom(t)
		if level > core.Baseline {
			x.must(RaiseLevel{Level: level})
		}
		x.must(CompleteTask{Work: x.work()})
		x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Replicas: 10,
			AckLimit: 7 * 24 * time.Hour, PendingLimit: 7 * 24 * time.Hour}}, By: "ann"})
		x.must(Leave{Speaker: x.me})
		x.must(Join{Speaker: Speaker{Agent: "r/a.10"}})
		x.jump(10*time.Minute + time.Second)
		x.must(x.warning())
		if level == core.Baseline {
			if n := len(x.room().Asked); n != 0 {
				t.Errorf("%d inquiries before the level", n)
			}
		} else if m := x.asked(); m.To != x.agent("r/a.10").ID {
			t.Errorf("asked: %+v", m)
		}
	}
}

// Mail of agents and humans is something said in a room; what vigil writes by itself is not.
func TestMailIsAWordInItsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		mail func(x *silentRoom) SendMail
		word bool
	}{
		"of an agent": {func(x *silentRoom) SendMail { return SendMail{Speaker: x.me, To: "r/a"} }, true},
		"of a human":  {func(x *silentRoom) SendMail { return SendMail{From: "ann", To: "r/a"} }, true},
		"of vigil":    {func(x *silentRoom) SendMail { return SendMail{From: noun.LaddersBy, To: "r/a"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSilentRoom(t)
			x.jump(10*time.Minute + time.Second)
			m := c.mail(x)
			m.Subject, m.Body, m.Kind, m.Priority = "s", "b", "note", noun.MailNormal
			x.must(m)
			if q := x.see(); (q.State == RoomActive) != c.word {
				t.Errorf("the room is %s", q.State)
			}
			if c.word {
				return
			}
			x.must(x.warning())
			if n := len(x.room().Asked); n != 1 {
				t.Errorf("%d inquiries", n)
			}
		})
	}
}

// A room is left alone until the expected completion of a task that somebody works on, and not
// for longer.
func TestWatchdogExpectedTasksKeepTheirRoom(t *testing.T) {
	x := newSilentRoom(t)
	x.must(ProgressTask{Work: x.work(), Expect: 3 * time.Hour})
	x.jump(2 * time.Hour)
	if q := x.is(RoomExempt); !strings.Contains(q.Why, "is expected to be done in 1h0m0s") {
		t.Errorf("exempt: %s", q.Why)
	}
	x.want(noun.Conflict, x.warning())
	x.jump(time.Hour + 10*time.Minute)
	x.is(RoomActive)
	x.jump(time.Second)
	x.is(RoomStalled)
	x.must(ProgressTask{Work: x.work(), Expect: time.Hour})
	x.jump(30 * time.Minute)
	x.is(RoomExempt)
	x.must(ProgressTask{Work: x.work(), Expect: time.Minute}) // sooner than it said
	x.jump(12 * time.Minute)
	x.is(RoomStalled)
	if err := x.s.Check(); err != nil {
		t.Error(err)
	}
	x.must(ProgressTask{Work: x.work(), Expect: time.Hour})
	x.must(CompleteTask{Work: x.work()}) // what is expected goes with its task
	x.jump(11 * time.Minute)
	x.is(RoomStalled)
}
