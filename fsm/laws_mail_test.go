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

// post is a room with a managed agent (w), two by hand (h, h.2) and a host.
func post(t *testing.T) (*drive, noun.HostID) {
	t.Helper()
	d := newDrive(t)
	d.jump(time.Minute)
	d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
	h := d.host("h1", "w")
	d.room("r", noun.RoleSpec{Name: "w", Runner: "w", TTL: 24 * time.Hour},
		noun.RoleSpec{Name: "h", Replicas: 2, TTL: 24 * time.Hour})
	return d, h
}

func (d *drive) joinBy(name string) Speaker {
	d.t.Helper()
	return Speaker{Agent: name, Inc: d.must(Join{Speaker: Speaker{Agent: name}}).Inc}
}

func letter(to string, p noun.MailPriority) SendMail {
	return SendMail{From: "ann", To: to, Subject: "subject-7", Body: "body-7", Priority: p}
}

// read hands over the mail of a life and gives it.
func (d *drive) read(sp Speaker) []*noun.Mail {
	d.t.Helper()
	out := d.must(ReadMail{Speaker: sp})
	list := d.s.MailDelivery(d.agent(sp.Agent).ID, out.Rev)
	if len(list) != int(out.Count) {
		d.t.Fatalf("delivery %d has %d mails, its outcome says %d", out.Rev, len(list), out.Count)
	}
	return list
}

// L8: mail is kept for an agent that is off, delivered once to a life, and given again,
// flagged, to the next life when nobody acknowledged it.
func TestL8MailOutlivesTheLivesOfItsReader(t *testing.T) {
	d, h := post(t)
	first := d.must(letter("r/w", noun.MailNormal)).Mail
	me := d.start("r/w", h)
	got := d.read(me)
	if len(got) != 1 || got[0].ID != first || got[0].Redelivered() || got[0].Body != "body-7" || got[0].From != "ann" {
		t.Fatalf("the first life got %+v", got)
	}
	if again := d.read(me); len(again) != 0 {
		t.Errorf("the same life got %d mails twice", len(again))
	}
	d.must(ReportExit{Host: h, Agent: d.agent("r/w").ID, Inc: me.Inc, Code: 1})
	if n := d.s.Unread(d.agent("r/w").ID); n != 1 {
		t.Fatalf("%d mails are unread for a life that ended without an acknowledgement", n)
	}
	next := d.start("r/w", h)
	if got := d.read(next); len(got) != 1 || !got[0].Redelivered() || got[0].DeliveredTo != next.Inc {
		t.Fatalf("the second life got %+v", got)
	}
	d.must(AckMail{Speaker: next, Mail: first})
	d.must(ReportExit{Host: h, Agent: d.agent("r/w").ID, Inc: next.Inc, Code: 1})
	d.pass(5 * time.Second)
	if got := d.read(d.start("r/w", h)); len(got) != 0 {
		t.Errorf("the third life got %d mails that the second has acknowledged", len(got))
	}
}

// L6: only the present life of an agent reads and acknowledges, and only its own mail.
func TestL6OnlyThePresentLifeReadsItsMail(t *testing.T) {
	d, _ := post(t)
	old := d.joinBy("r/h")
	id := d.must(letter("r/h.1", noun.MailNormal)).Mail
	d.read(old)
	d.must(Leave{Speaker: old})
	d.want(noun.Rejoin, ReadMail{Speaker: old})
	now := d.joinBy("r/h")
	other := d.joinBy("r/h.2")
	for _, c := range []Command{ReadMail{Speaker: old}, AckMail{Speaker: old, Mail: id},
		SendMail{Speaker: old, To: "r", Body: "x"}} {
		d.want(noun.Superseded, c)
	}
	stranger := now
	stranger.TokenHash = []byte("x")
	for _, c := range []Command{ReadMail{Speaker: stranger}, AckMail{Speaker: stranger, Mail: id},
		SendMail{Speaker: stranger, To: "r", Body: "x"}} {
		d.want(noun.Denied, c)
	}
	d.want(noun.NotFound, AckMail{Speaker: other, Mail: id})
	d.want(noun.NotFound, AckMail{Speaker: now, Mail: id + 1})
	if m := d.s.Mail(id); m.State != noun.MailDelivered || m.DeliveredTo != old.Inc || m.Deliveries != 1 {
		t.Errorf("what was refused has changed the mail: %+v", m)
	}
	d.must(AckMail{Speaker: now, Mail: id}) // it need not read what an earlier life has read
	if out := d.must(AckMail{Speaker: now, Mail: id}); out.Count != 1 {
		t.Errorf("acknowledged twice: %+v", out)
	}
	if n := d.events("mail.acknowledged"); n != 1 {
		t.Errorf("%d events for one acknowledgement", n)
	}
}

// What a sender is told.
func TestDetectionDeliveryErrors(t *testing.T) {
	d, _ := post(t)
	d.want(noun.NoAddressee, letter("r/nobody", noun.MailNormal))
	d.want(noun.NoAddressee, letter("nowhere", noun.MailNormal))
	d.want(noun.NoAddressee, letter("nowhere/w", noun.MailNormal))
	now := letter("r/w", noun.MailNormal)
	now.NoQueue = true
	if out := d.want(noun.AgentOff, now); out.Code.String() != "agent_offline" ||
		!strings.Contains(out.Detail, "r/w is off") {
		t.Errorf("an agent that is off is answered for with %s: %s", out.Code, out.Detail)
	}
	if noun.NoAddressee.String() != "agent_not_found" {
		t.Errorf("nobody is answered for with %s", noun.NoAddressee)
	}
	if d.s.Meta.LastMail != 0 {
		t.Error("what was refused was sent")
	}
	d.joinBy("r/h.2")
	now.To = "r"
	if out := d.must(now); out.Count != 1 || !strings.Contains(out.Detail, "2 of 3 agents get no copy") {
		t.Errorf("a mail to whoever is there: %+v", out)
	}
	d.must(letter("r/w", noun.MailNormal)) // kept
}

// Each form of address, and who gets a copy.
func TestMailAddresses(t *testing.T) {
	d, h := post(t)
	me := d.start("r/w", h)
	hand := d.joinBy("r/h")
	for _, tc := range []struct {
		by   Speaker
		to   string
		want string
	}{
		{Speaker{}, "r", "r/w r/h r/h.2"},
		{me, "r", "r/h r/h.2"},
		{Speaker{}, "r/w", "r/w"},
		{me, "r/w", "r/w"}, // a note to its next life
		{Speaker{}, "r/h", "r/h r/h.2"},
		{hand, "r/h", "r/h.2"},
		{Speaker{}, "r/h.*", "r/h r/h.2"},
		{Speaker{}, "r/h.1", "r/h"},
		{Speaker{}, "r/h.2", "r/h.2"},
	} {
		c := letter(tc.to, noun.MailNormal)
		c.Speaker = tc.by
		out := d.must(c)
		var got []string
		for id := out.Mail; id < out.Mail+noun.MailID(out.Count); id++ {
			m := d.s.Mail(id)
			got = append(got, d.s.Agent(m.To).Name)
			if m.Thread != out.Mail {
				t.Errorf("copy %d is in thread %d, the first one is %d", id, m.Thread, out.Mail)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q sends to %s: %v get it, want %s", tc.by.Agent, tc.to, got, tc.want)
		}
	}
	for _, to := range []string{"r/h.02", "r/h.0", "r/h.x", "r/h.3", "r/", "", "r/h.2.2"} {
		if out := d.do(letter(to, noun.MailNormal)); out.Code != noun.NoAddressee &&
			(to != "" || out.Code != noun.Invalid) {
			t.Errorf("address %q: %s %s", to, out.Code, out.Detail)
		}
	}
}

// An answer goes to the agent that sent the mail, alone, in the same thread.
func TestMailIsAnswered(t *testing.T) {
	d, h := post(t)
	me, hand := d.start("r/w", h), d.joinBy("r/h")
	ask := SendMail{Speaker: hand, To: "r/w", Subject: "?"}
	q := d.must(ask).Mail
	a := d.must(SendMail{Speaker: me, ReplyTo: q, Body: "!"})
	if m := d.s.Mail(a.Mail); a.Count != 1 || d.s.Agent(m.To).Name != "r/h" || m.Thread != q || m.ReplyTo != q ||
		m.FromInc != me.Inc {
		t.Errorf("the answer is %+v", m)
	}
	human := d.must(letter("r/w", noun.MailNormal)).Mail
	if out := d.want(noun.NoAddressee,
		SendMail{Speaker: me, ReplyTo: human, Body: "!"}); !strings.Contains(out.Detail, "only agents have mailboxes") {
		t.Errorf("an answer to a human: %s", out.Detail)
	}
	d.want(noun.Invalid, SendMail{Speaker: me, ReplyTo: human + 1, Body: "!"})
}

// L9: who deletes a room or an agent deletes its mail.
func TestL9DeletedAgentsTakeTheirMailAlong(t *testing.T) {
	d, _ := post(t)
	d.room("s", noun.RoleSpec{Name: "x"})
	d.must(letter("r", noun.MailNormal))
	kept := d.must(letter("s", noun.MailNormal)).Mail
	d.room("r", noun.RoleSpec{Name: "h", Replicas: 2, TTL: 24 * time.Hour}) // without w
	if d.s.MailTable.Len() != 3 {
		t.Fatalf("%d mails after an agent went, want 3", d.s.MailTable.Len())
	}
	d.must(DeleteRoom{Room: "r", By: "x"})
	if d.s.MailTable.Len() != 1 || d.s.Mail(kept) == nil {
		t.Errorf("%d mails after the room went, want the one of another room", d.s.MailTable.Len())
	}
	d.want(noun.NoAddressee, letter("r", noun.MailNormal))
}

// What a mail says is in no event.
func TestEventsHoldNothingOfAMail(t *testing.T) {
	d, _ := post(t)
	me := d.joinBy("r/h")
	for p := range noun.MailPriority(4) {
		d.must(letter("r", p))
		d.must(letter("r/h.1", p))
	}
	d.read(me)
	d.must(AckMail{Speaker: me, Mail: d.read(d.joinBy("r/h.2"))[0].ID - 1})
	d.jump(2 * time.Hour)
	d.jump(8 * 24 * time.Hour)
	seen := map[string]bool{}
	for e := range d.s.Events(0) {
		seen[e.Kind] = true
		if text := fmt.Sprint(e); strings.Contains(text, "subject-7") || strings.Contains(text, "body-7") {
			t.Errorf("event %+v holds what a mail says", e)
		}
	}
	for _, kind := range []string{"mail.sent", "mail.delivered", "mail.acknowledged", "mail.reminder",
		"mail.escalated", "mail.overdue", "mail.expired"} {
		if !seen[kind] {
			t.Errorf("there was no event %s", kind)
		}
	}
}

func TestMailIsRefusedWhenItMakesNoSense(t *testing.T) {
	d, _ := post(t)
	for says, change := range map[string]func(*SendMail){
		"257 bytes":        func(c *SendMail) { c.Subject = strings.Repeat("x", 257) },
		"16385 bytes":      func(c *SendMail) { c.Body = strings.Repeat("x", 16385) },
		"valid UTF-8":      func(c *SendMail) { c.Body = "\xff" },
		"who sends it":     func(c *SendMail) { c.From = "" },
		"neither":          func(c *SendMail) { c.Subject, c.Body = "", "" },
		"kind":             func(c *SendMail) { c.Kind = "No Kind" },
		"does not know":    func(c *SendMail) { c.Priority = 9 },
		"never sent":       func(c *SendMail) { c.Thread = 9 },
		"mail 9 was never": func(c *SendMail) { c.ReplyTo = 9 },
	} {
		c := letter("r/w", noun.MailNormal)
		change(&c)
		if out := d.want(noun.Invalid, c); !strings.Contains(out.Detail, says) {
			t.Errorf("refused with %q, want %q in it", out.Detail, says)
		}
	}
	d.room("big", noun.RoleSpec{Name: "x", Replicas: noun.MaxMailCopies + 1})
	if out := d.want(noun.Invalid, letter("big", noun.MailNormal)); !strings.Contains(out.Detail, "1001 agents") {
		t.Errorf("to too many: %s", out.Detail)
	}
}

// L8: a repeated write sends no second mail.
func TestL8MailIsSentOnce(t *testing.T) {
	d, _ := post(t)
	session := d.must(OpenSession{Client: "c"}).Session
	req := Request{Session: session, Seq: 1, Cmd: letter("r", noun.MailNormal)}
	first := d.apply(d.entry(req)).Outcomes[0]
	if again := d.apply(d.entry(req)).Outcomes[0]; !repeats(again, first) || d.s.MailTable.Len() != 3 {
		t.Errorf("%+v, then %+v: %d mails", first, again, d.s.MailTable.Len())
	}
}

// Law L10: an agent that acknowledged or sent mail of late is not stalled.
func TestL10WhoWritesIsNotStalled(t *testing.T) {
	d, me, _ := declaring(t, noun.RoleSpec{})
	id := d.agent("r/a").ID
	d.room("r", noun.RoleSpec{Name: "a", TTL: 24 * time.Hour}) // no progress limit any more
	mail := d.must(letter("r/a", noun.MailNormal)).Mail
	d.jump(20 * time.Minute)
	d.must(AckMail{Speaker: me, Mail: mail})
	d.jump(25 * time.Minute)
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentHealthy {
		t.Errorf("25 min after an acknowledgement, 45 min without progress: %s", v.Kind)
	}
	d.jump(6 * time.Minute)
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentStalled {
		t.Errorf("31 min after an acknowledgement: %s", v.Kind)
	}
	d.must(SendMail{Speaker: me, To: "r/a", Body: "note"})
	if v := d.s.Verdict(id, true); v.Kind != judge.AgentHealthy {
		t.Errorf("after it has sent mail: %s", v.Kind)
	}
	if p := d.s.Presence(id, &judge.Verdict{}); p.LastSeen != d.clock {
		t.Errorf("last seen at %s, it wrote at %s", time.Duration(p.LastSeen), time.Duration(d.clock))
	}
	d.must(Leave{Speaker: me})
	d.joinBy("r/a")
	if got := d.agent("r/a").Notes().MailAt; got != 0 {
		t.Errorf("a new life has written at %s", time.Duration(got))
	}
}

// L8: mail that nobody has acknowledged does not go with its addressee without a word; the event names few senders.
func TestL8MailThatGoesWithItsAgentIsSaid(t *testing.T) {
	for _, level := range []uint32{core.Baseline, core.LevelRetry} {
		d := newDrive(t)
		if level > core.Baseline {
			d.must(RaiseLevel{Level: level})
		}
		d.room("demo", noun.RoleSpec{Name: "b", Replicas: 3})
		for _, from := range []string{"ann", "bob", "ann", "cat", "dan", "eve"} {
			d.must(SendMail{From: from, To: "demo/b.2", Body: "look"})
		}
		sp := Speaker{Agent: "demo/b.3", Inc: d.must(Join{Speaker: Speaker{Agent: "demo/b.3"}}).Inc}
		done := d.must(SendMail{From: "ann", To: "demo/b.3", Body: "look"}).Mail
		d.must(ReadMail{Speaker: sp})
		d.must(AckMail{Speaker: sp, Mail: done})
		d.must(Leave{Speaker: sp})
		d.room("demo", noun.RoleSpec{Name: "b", Replicas: 1})
		var got []string
		for ev := range d.s.Events(0) {
			if ev.Kind == "mail.dropped" {
				got = append(got, ev.Text)
			}
		}
		var want []string
		if level > core.Baseline {
			want = []string{"6 mails without an acknowledgement, from ann, bob, cat and 2 more: their addressee is gone"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("level %d: %q, want %q", level, got, want)
		}
	}
}

// L3: an answered mail is work, so a life that has failed before is healthy again when it has lasted, though it does
// nothing else.
func TestL3AnsweredMailMakesHealthy(t *testing.T) {
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	x.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
	x.h = x.host("h1", "w")
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w"})
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.must(CreateTask{Room: "r", Role: "a", Title: "t"})
	x.me = x.start(hungName, x.h)
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
	x.pass(time.Minute)
	x.me = x.start(hungName, x.h)
	x.must(Join{Speaker: x.me})
	x.must(CancelTask{Task: 1})
	x.must(AckMail{Speaker: x.me, Mail: x.must(SendMail{From: "ann", To: hungName + ".1", Subject: "s"}).Mail})
	if n := x.agent(hungName).Failures; n == 0 {
		t.Fatal("it has not failed")
	}
	for end := x.clock.Add(x.s.Settings().HealthyAfter); x.clock < end; {
		x.clock = x.clock.Add(20 * time.Second)
		x.beat(x.h, BeatFence|BeatVouch|BeatLease, x.agent(hungName).ID)
	}
	if n := x.agent(hungName).Failures; n != 0 {
		t.Errorf("%d failures are remembered: %+v", n, x.agent(hungName))
	}
}
