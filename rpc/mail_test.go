package rpc

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

func (w *world) mail(i int) vigilv1.MailboxClient { return vigilv1.NewMailboxClient(w.conns[i]) }

// said is the speaker as JSON.
func said(me *vigilv1.Speaker) string {
	return fmt.Sprintf(`"speaker":{"agent":%q,"incarnation":"%d"}`, me.GetAgent(), me.GetIncarnation())
}

func TestMailOverHTTPThroughAFollower(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	w.room("demo", "builder", 2)
	status, got, _ := w.call(1, "POST", "/v1/mail",
		`{"from":"ann","to":"demo/builder","subject":"status?","body":"how is it","priority":"high","kind":"status-inquiry"}`)
	if status != 200 || fmt.Sprint(got["mails"]) != "[1 2]" || got["thread"] != "1" || got["note"] != "" {
		t.Fatalf("send: %d %v", status, got)
	}
	if status, got, _ = w.call(1, "GET", "/v1/agents/demo/builder.2/status", ""); status != 200 ||
		got["unread_messages"] != float64(1) {
		t.Errorf("status: %d %v", status, got)
	}
	me := w.join("demo/builder")
	if status, got, _ = w.call(1, "POST", "/v1/mail:wait", `{`+said(me)+`}`); status != 200 ||
		got["unread"] != float64(1) {
		t.Errorf("wait: %d %v", status, got)
	}
	status, got, _ = w.call(1, "POST", "/v1/mail:read", `{`+said(me)+`}`)
	mails, _ := got["mails"].([]any)
	if status != 200 || len(mails) != 1 {
		t.Fatalf("read: %d %v", status, got)
	}
	m := mails[0].(map[string]any)
	for field, want := range map[string]any{"id": "1", "from": "ann", "to": "demo/builder",
		"subject": "status?", "body": "how is it", "priority": "high", "kind": "status-inquiry",
		"state": "delivered", "delivered_to": "1", "redelivered": false, "from_incarnation": ""} {
		if m[field] != want {
			t.Errorf("%s is %v, want %v", field, m[field], want)
		}
	}
	if status, got, _ = w.call(1, "POST", "/v1/mail:read", `{`+said(me)+`}`); status != 200 ||
		len(got["mails"].([]any)) != 0 {
		t.Errorf("read again: %d %v", status, got)
	}
	status, got, _ = w.call(1, "GET", "/v1/mail?agent=demo/builder&unacknowledged=true", "")
	if mails, _ = got["mails"].([]any); status != 200 || len(mails) != 1 || mails[0].(map[string]any)["body"] != "" {
		t.Errorf("list: %d %v", status, got)
	}
	for _, applied := range []bool{true, false} {
		if status, got, _ = w.call(1, "POST", "/v1/mail/1/ack", `{`+said(me)+`}`); status != 200 ||
			got["applied"] != applied {
			t.Errorf("ack: %d %v, want applied %v", status, got, applied)
		}
	}
	if status, got, _ = w.call(1, "GET", "/v1/mail/1", ""); status != 200 ||
		got["state"] != "acknowledged" || got["body"] != "how is it" {
		t.Errorf("get: %d %v", status, got)
	}
	for query, want := range map[string]int{"": 2, "?agent=demo/builder&unacknowledged=true": 0,
		"?from=ann": 2, "?from=bob": 0, "?room=demo": 2, "?thread=1&limit=1": 1, "?after=1": 1,
		"?unacknowledged=true": 1} {
		status, got, _ = w.call(1, "GET", "/v1/mail"+query, "")
		if mails, _ = got["mails"].([]any); status != 200 || len(mails) != want {
			t.Errorf("list %s: %d %v, want %d mails", query, status, got, want)
		}
	}
}

func TestMailIsRefusedWithAReason(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	for _, tc := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"from":"ann","to":"demo/nobody","body":"x"}`, 404, "agent_not_found"},
		{`{"from":"ann","to":"nowhere","body":"x"}`, 404, "agent_not_found"},
		{`{"from":"ann","to":"demo/builder","body":"x","queue":false}`, 409, "agent_offline"},
		{`{"from":"ann","to":"demo/builder"}`, 400, "invalid"},
		{`{"to":"demo/builder","body":"x"}`, 400, "invalid"},
		{`{"from":"ann","body":"x"}`, 400, "invalid"},
		{`{"from":"ann","to":"demo/builder/x","body":"x"}`, 400, "invalid"},
		{`{"from":"ann","to":"demo/builder","body":"x","priority":"huge"}`, 400, "invalid"},
		{`{"from":"ann","to":"demo/builder","body":"x","kind":"No"}`, 400, "invalid"},
		{`{"from":"ann","to":"demo/builder","subject":"` + strings.Repeat("x", 257) + `"}`, 413, "too_large"},
		{`{"from":"ann","to":"demo/builder","body":"` + strings.Repeat("x", 16385) + `"}`, 413, "too_large"},
		{`{"from":"ann","reply_to":"7","body":"x"}`, 400, "invalid"},
		{
			`{"from":"ann","to":"demo/builder","body":"x","speaker":{"agent":"demo/builder","incarnation":"1"}}`,
			400, "invalid"},
		{`{"from":"ann","to":"demo/builder.1","body":"x"}`, 200, ""},
		{`{"from":"ann","to":"demo/builder.*","body":"x"}`, 200, ""},
	} {
		status, got, _ := w.call(0, "POST", "/v1/mail", tc.body)
		if c, _ := got["code"].(string); status != tc.status || c != tc.code {
			t.Errorf("%.80s: %d %v, want %d %s", tc.body, status, got, tc.status, tc.code)
		}
	}
	mails := make([]fsm.Request, 0, noun.MaxMailbox)
	for range noun.MaxMailbox - 2 {
		mails = append(mails, fsm.Request{Cmd: fsm.SendMail{From: "ann", To: "demo/builder", Body: "x"}})
	}
	w.mu.Lock()
	w.apply(&fsm.Entry{Requests: mails})
	w.mu.Unlock()
	if status, got, _ := w.call(0, "POST", "/v1/mail",
		`{"from":"ann","to":"demo/builder","body":"x"}`); status != 507 || got["code"] != "mailbox_full" {
		t.Errorf("a full mailbox: %d %v", status, got)
	}
	if status, got, _ := w.call(0, "GET", "/v1/mail/77777", ""); status != 404 {
		t.Errorf("a mail that is not there: %d %v", status, got)
	}
	me := w.join("demo/builder")
	if _, err := w.mail(0).ReadMail(within(t),
		&vigilv1.ReadMailRequest{Speaker: me, Max: 101}); codeOf(err) != "invalid" {
		t.Errorf("too many at once: %v", err)
	}
	if _, err := w.mail(0).AckMail(within(t),
		&vigilv1.AckMailRequest{Speaker: me, Mail: 77777}); codeOf(err) != "not_found" {
		t.Errorf("acknowledged what is not there: %v", err)
	}
	got, err := w.mail(0).ReadMail(within(t), &vigilv1.ReadMailRequest{Speaker: me, Max: 3})
	if err != nil || len(got.GetMails()) != 3 || got.GetUnread() != noun.MaxMailbox-3 {
		t.Errorf("three of a full mailbox: %d mails, %d unread, %v", len(got.GetMails()), got.GetUnread(), err)
	}
}

// A wait that is parked at a follower is woken by the mail, and ends with its life.
func TestWaitMailIsWoken(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	type answer struct {
		unread uint32
		err    error
	}
	wait := func(sp *vigilv1.Speaker) chan answer {
		to := make(chan answer, 1)
		ctx := within(t)
		go func() {
			r, err := w.mail(1).WaitMail(ctx,
				&vigilv1.WaitMailRequest{Speaker: sp, MaxWait: durationpb.New(5 * time.Minute)})
			to <- answer{r.GetUnread(), err}
		}()
		eventually(t, "a parked wait for mail", func() bool { return w.servers[1].park.Mail.Count() == 1 })
		return to
	}
	first := wait(me)
	if _, err := w.mail(0).SendMail(within(t), &vigilv1.SendMailRequest{From: "ann", To: "demo/builder",
		Body: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got.err != nil || got.unread != 1 {
		t.Errorf("woken with %+v", got)
	}
	if _, err := w.mail(0).ReadMail(within(t), &vigilv1.ReadMailRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the first wait", func() bool { return w.servers[1].park.Mail.Count() == 0 })
	second := wait(me)
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	w.join("demo/builder")
	if got := <-second; codeOf(got.err) != "superseded" {
		t.Errorf("the wait of a life that is over ended with %+v", got)
	}
	r, err := w.mail(1).WaitMail(within(t), &vigilv1.WaitMailRequest{Speaker: w.rejoin("demo/builder", me),
		MaxWait: durationpb.New(time.Millisecond)})
	if err != nil || r.GetUnread() != 1 {
		t.Errorf("the next life has %v unread, %v: nobody has acknowledged it", r, err)
	}
	for name, sp := range map[string]*vigilv1.Speaker{"superseded": me,
		"not_found": {Agent: "demo/nobody", Incarnation: 1}} {
		if _, err := w.mail(1).WaitMail(within(t), &vigilv1.WaitMailRequest{Speaker: sp}); codeOf(err) != name {
			t.Errorf("%v: %v, want %s", sp, err, name)
		}
	}
}

// rejoin is the life of an agent that came after another.
func (w *world) rejoin(agent string, after *vigilv1.Speaker) *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: agent, Incarnation: after.GetIncarnation() + 1}
}

// L8: a write that is repeated after an unknown outcome is done once: neither is the mail
// there twice, nor is the answer to a read lost.
func TestL8MailIsSentAndDeliveredOnce(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	session, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{Client: "c"})
	if err != nil {
		t.Fatal(err)
	}
	id := func(seq uint64) *vigilv1.WriteId { return &vigilv1.WriteId{Session: session.GetSession(), Seq: seq} }
	w.mu.Lock()
	w.lose = 1
	w.mu.Unlock()
	send := &vigilv1.SendMailRequest{From: "ann", To: "demo/builder", Body: "x", Id: id(1)}
	first, err := w.mail(1).SendMail(within(t), send)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.mail(0).SendMail(within(t), send); err != nil || !proto.Equal(first, again) {
		t.Errorf("%v, then %v, %v", first, again, err)
	}
	read := &vigilv1.ReadMailRequest{Speaker: me, Id: id(2)}
	for range 2 {
		if got, err := w.mail(1).ReadMail(within(t), read); err != nil || len(got.GetMails()) != 1 ||
			got.GetMails()[0].GetDeliveries() != 1 {
			t.Errorf("read: %v, %v", got, err)
		}
	}
}

// An agent that reads an empty mailbox costs no log entry.
func TestReadingNothingIsNoWrite(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	index := w.servers[0].park.Gate.Index()
	for range 5 {
		if got, err := w.mail(0).ReadMail(context.Background(),
			&vigilv1.ReadMailRequest{Speaker: me}); err != nil || len(got.GetMails()) != 0 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if now := w.servers[0].park.Gate.Index(); now != index {
		t.Errorf("%d log entries for reading nothing", now-index)
	}
}

// I68, a sweep that puts what was acknowledged back and delivers it again and again: no
// limit that passes takes an acknowledgement back, neither from the life that gave it nor
// from a later one. What nobody acknowledged comes again, but never as new, and the life
// that was replaced is told so (law L6).
func TestI68AcknowledgedMailIsNotGivenAgain(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	if err := w.do(fsm.ApplyRoom{Room: "demo",
		Roles: []noun.RoleSpec{{Name: "builder", TTL: 24 * time.Hour}}, By: "test"}); err != nil {
		t.Fatal(err)
	}
	me := w.join("demo/builder")
	for _, subject := range []string{"acknowledged", "left"} {
		if _, err := w.mail(1).SendMail(within(t), &vigilv1.SendMailRequest{From: "ann", To: "demo/builder",
			Subject: subject, Priority: "urgent"}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(sp *vigilv1.Speaker) (got []string) {
		t.Helper()
		answer, err := w.mail(1).ReadMail(within(t), &vigilv1.ReadMailRequest{Speaker: sp})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range answer.GetMails() {
			got = append(got, fmt.Sprintf("%s %v", m.GetSubject(), m.GetRedelivered()))
		}
		return got
	}
	if got := read(me); fmt.Sprint(got) != "[acknowledged false left false]" {
		t.Fatalf("the first life got %v", got)
	}
	if _, err := w.mail(1).AckMail(within(t), &vigilv1.AckMailRequest{Speaker: me, Mail: 1}); err != nil {
		t.Fatal(err)
	}
	for range 12 { // beyond every limit, and the escalation of the other
		w.advance(10 * time.Minute)
		if got := read(me); len(got) != 0 {
			t.Fatalf("the same life got %v again", got)
		}
	}
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	next := w.join("demo/builder")
	if got := read(next); fmt.Sprint(got) != "[left true]" {
		t.Errorf("the next life got %v", got)
	}
	for _, id := range []uint64{1, 2} {
		if _, err := w.mail(1).AckMail(within(t),
			&vigilv1.AckMailRequest{Speaker: me, Mail: id}); codeOf(err) != "superseded" {
			t.Errorf("mail %d was acknowledged by the life before: %v", id, err)
		}
	}
	if got := read(next); len(got) != 0 {
		t.Errorf("the next life got %v again", got)
	}
	if m, err := w.mail(1).GetMail(within(t), &vigilv1.GetMailRequest{Mail: 2}); err != nil ||
		m.GetState() != "delivered" || !m.GetEscalated() || m.GetDeliveries() != 2 {
		t.Errorf("what nobody acknowledged is %v, %v", m, err)
	}
}
