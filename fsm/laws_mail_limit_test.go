package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Each priority, the moment of its limit, and what follows.
func TestDetectionAcknowledgementLimits(t *testing.T) {
	for _, tc := range []struct {
		priority          noun.MailPriority
		limit             time.Duration
		reminder, escaped time.Duration // 0: none
		recorded          time.Duration
	}{
		{priority: noun.MailUrgent, limit: 2 * time.Minute, escaped: 2 * time.Minute},
		{priority: noun.MailHigh, limit: 5 * time.Minute, reminder: 5 * time.Minute, escaped: 10 * time.Minute},
		{priority: noun.MailNormal, limit: 15 * time.Minute, reminder: 15 * time.Minute},
		{priority: noun.MailLow, limit: time.Hour, recorded: time.Hour},
	} {
		t.Run(tc.priority.String(), func(t *testing.T) {
			d, _ := post(t)
			me := d.joinBy("r/h")
			id := d.must(letter("r/h.1", tc.priority)).Mail
			d.read(me)
			at := map[string]time.Duration{}
			for past := time.Second; past <= 70*time.Minute; past += time.Second {
				d.jump(time.Second)
				for _, kind := range []string{"mail.reminder", "mail.escalated", "mail.overdue"} {
					if n := d.events(kind); n > 0 && at[kind] == 0 {
						at[kind] = past
					} else if n > 1 {
						t.Fatalf("%d times %s", n, kind)
					}
				}
			}
			if at["mail.reminder"] != tc.reminder || at["mail.escalated"] != tc.escaped ||
				at["mail.overdue"] != tc.recorded {
				t.Errorf("events came after %v, want %+v", at, tc)
			}
			if d.s.Settings().MailLimit(tc.priority) != tc.limit {
				t.Errorf("the limit is %s, want %s", d.s.Settings().MailLimit(tc.priority), tc.limit)
			}
			if unread := d.s.Unread(d.agent("r/h").ID) == 1; unread != (tc.reminder > 0) {
				t.Errorf("unread after the limit: %v", unread)
			}
			if got := d.read(me); tc.reminder > 0 && (len(got) != 1 || !got[0].Redelivered() || got[0].Reminded != 1) {
				t.Errorf("after a reminder the same life gets %+v", got)
			}
			d.must(AckMail{Speaker: me, Mail: id})
		})
		t.Run(tc.priority.String()+" acknowledged", func(t *testing.T) {
			d, _ := post(t)
			me := d.joinBy("r/h")
			id := d.must(letter("r/h.1", tc.priority)).Mail
			d.jump(tc.limit - time.Second)
			d.must(AckMail{Speaker: me, Mail: id})
			d.jump(2 * time.Hour)
			if n := d.events("mail.reminder") + d.events("mail.escalated") + d.events("mail.overdue"); n != 0 {
				t.Errorf("%d events about a mail that was acknowledged in time", n)
			}
		})
	}
}

// L11: a life is reminded once; a series of lives puts no escalation off.
func TestL11RemindersAreBoundedAndEscalationsCome(t *testing.T) {
	d, h := post(t)
	d.must(letter("r/w", noun.MailUrgent))
	d.must(letter("r/w", noun.MailNormal))
	for range 3 {
		me := d.start("r/w", h)
		d.read(me)
		d.jump(50 * time.Second)
		d.must(ReportExit{Host: h, Agent: d.agent("r/w").ID, Inc: me.Inc})
		d.jump(10 * time.Second)
	}
	if n := d.events("mail.escalated"); n != 1 {
		t.Errorf("%d escalations after three lives of 50 s, want 1", n)
	}
	d.read(d.start("r/w", h))
	d.jump(14 * time.Minute)
	if n := d.events("mail.reminder"); n != 0 {
		t.Errorf("%d reminders before the last life's own limit", n)
	}
	d.jump(time.Minute)
	d.jump(10 * time.Hour)
	if n := d.events("mail.reminder"); n != 1 {
		t.Errorf("%d reminders to one life, want 1", n)
	}
}

// L11: mailboxes are bounded, and so is the mail of the cluster.
func TestL11MailboxesAreBounded(t *testing.T) {
	d, h := post(t)
	me := d.start("r/w", h)
	var mails []Request
	for range noun.MaxMailbox {
		mails = append(mails, Request{Cmd: letter("r/w", noun.MailLow)})
	}
	d.apply(d.entry(mails...))
	if out := d.want(noun.MailboxFull, letter("r/w", noun.MailLow)); !strings.Contains(out.Detail,
		"r/w holds 1000 mails") {
		t.Errorf("a full mailbox: %s", out.Detail)
	}
	if out := d.must(letter("r", noun.MailLow)); out.Count != 2 ||
		!strings.Contains(out.Detail, "1 of 3 agents get no copy") {
		t.Errorf("to a room with a full mailbox: %+v", out)
	}
	if n := len(d.read(me)); n != noun.MaxMailRead {
		t.Errorf("%d mails were handed over at once, want %d", n, noun.MaxMailRead)
	}
	d.must(AckMail{Speaker: me, Mail: 1})
	d.must(letter("r/w", noun.MailLow))
	d.must(PutSettings{Values: []noun.KV{{Key: "mail_kept", Value: "1003"}}})
	d.must(letter("r/h.1", noun.MailLow)) // in the place of the one that was closed
	if d.s.Mail(1) != nil {
		t.Error("the oldest closed mail is still there")
	}
	if out := d.want(noun.Full, letter("r/h.1", noun.MailLow)); !strings.Contains(out.Detail, "mail_kept") {
		t.Errorf("a full cluster: %s", out.Detail)
	}
}

// closedMail is a room with so many mails, which are all acknowledged.
func closedMail(t *testing.T, level uint32, closed int) *drive {
	t.Helper()
	d, _ := post(t)
	if level != Baseline {
		d.must(RaiseLevel{Level: level})
	}
	d.room("s", noun.RoleSpec{Name: "h", Replicas: 11, TTL: 24 * time.Hour})
	for sent := 0; sent < closed; {
		var mails, acks []Request
		name := noun.AgentName("s", "h", uint32(sent/noun.MaxMailbox+2)) // a mailbox keeps no more
		me := d.joinBy(name)
		for ; len(mails) < noun.MaxMailbox && sent < closed; sent++ {
			mails = append(mails, Request{Cmd: letter(name, noun.MailLow)})
			acks = append(acks, Request{Cmd: AckMail{Speaker: me, Mail: noun.MailID(sent + 1)}})
		}
		for _, e := range []*Entry{d.entry(mails...), d.entry(acks...)} {
			for _, out := range d.s.Apply(e).Outcomes {
				if out.Code != noun.OK {
					t.Fatalf("%+v", out)
				}
			}
		}
	}
	if n := d.s.MailTable.Len(); n != closed {
		t.Fatalf("there are %d mails, want %d", n, closed)
	}
	return d
}

// L11: when mail_kept is lowered, each mail removes as many closed ones as one may, until no more
// are kept. All mail was refused, hand-overs and the questions of the watchdog too, until the closed
// ones had gone by their age.
func TestL11MailGoesOnWhenLessOfItIsKept(t *testing.T) {
	const closed = core.ReliefSteps + 2000
	for _, level := range []uint32{Baseline, core.LevelRetry} {
		d := closedMail(t, level, closed)
		d.set("mail_kept", "1000")
		if level == Baseline {
			d.want(noun.Full, letter("r/w", noun.MailLow))
			continue
		}
		d.must(letter("r/w", noun.MailLow))
		if n := d.s.MailTable.Len(); n != closed-core.ReliefSteps+1 {
			t.Errorf("after a mail there are %d, one removes %d", n, core.ReliefSteps)
		}
		d.must(letter("r/w", noun.MailLow))
		if n := d.s.MailTable.Len(); n != 1000 {
			t.Errorf("%d mails are kept, want 1000", n)
		}
	}
}

// Closed mail goes after its retention; mail that nobody acknowledges expires.
func TestMailExpiresAndIsForgotten(t *testing.T) {
	d, _ := post(t)
	me := d.joinBy("r/h")
	acked, left := d.must(letter("r/h.1", noun.MailLow)).Mail, d.must(letter("r/h.1", noun.MailLow)).Mail
	d.must(AckMail{Speaker: me, Mail: acked})
	d.jump(24*time.Hour - time.Second)
	if d.s.Mail(acked) == nil {
		t.Error("acknowledged mail is gone before its retention is over")
	}
	d.jump(time.Second)
	if d.s.Mail(acked) != nil {
		t.Error("acknowledged mail is kept beyond its retention")
	}
	d.jump(6*24*time.Hour - time.Second)
	if got := d.s.Mail(left).State; got != noun.MailQueued {
		t.Errorf("the other is %s before its expiry", got)
	}
	d.jump(time.Second)
	if got := d.s.Mail(left).State; got != noun.MailExpired || d.events("mail.expired") != 1 {
		t.Errorf("the other is %s, %d events", got, d.events("mail.expired"))
	}
	again := d.joinBy("r/h") // its lease was a day
	d.want(noun.Conflict, AckMail{Speaker: again, Mail: left})
	if n := len(d.read(again)); n != 0 {
		t.Errorf("%d expired mails were handed over", n)
	}
	d.jump(24 * time.Hour)
	if d.s.MailTable.Len() != 0 {
		t.Errorf("%d mails are left", d.s.MailTable.Len())
	}
}
