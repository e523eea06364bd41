package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/mail"
	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) SendMail(_ context.Context, r *vigilv1.SendMailRequest) (*vigilv1.SendMailResponse, error) {
	if r.GetTo() == "web" {
		return &vigilv1.SendMailResponse{Mails: []uint64{3, 4}, Thread: 3, Note: "1 of 3 agents get no copy."}, nil
	}
	return &vigilv1.SendMailResponse{Mails: []uint64{3}, Thread: 3}, nil
}

func (s *cannedServer) ListMail(context.Context, *vigilv1.ListMailRequest) (*vigilv1.ListMailResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.post[0]
	if len(s.post) > 1 {
		s.post = s.post[1:]
	} else if s.looked != nil {
		s.looked()
	}
	return answer, nil
}

func (s *cannedServer) GetMail(_ context.Context, r *vigilv1.GetMailRequest) (*vigilv1.Mail, error) {
	m := letter(r.GetMail(), "delivered")
	m.Body, m.Deliveries, m.DeliveredTo, m.Redelivered, m.FromIncarnation = "all of it\x1b[1m\n", 2, "7", true, "4"
	return m, nil
}

func (s *cannedServer) ReadMail(context.Context, *vigilv1.ReadMailRequest) (*vigilv1.ReadMailResponse, error) {
	return &vigilv1.ReadMailResponse{Mails: s.unread, Unread: uint32(len(s.unread))}, nil
}

func (s *cannedServer) WaitMail(ctx context.Context, _ *vigilv1.WaitMailRequest) (*vigilv1.WaitMailResponse, error) {
	if len(s.unread) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &vigilv1.WaitMailResponse{Unread: uint32(len(s.unread))}, nil
}

func (s *cannedServer) AckMail(_ context.Context, r *vigilv1.AckMailRequest) (*vigilv1.AckMailResponse, error) {
	return &vigilv1.AckMailResponse{Applied: r.GetMail() != 4}, nil
}

// letter is a mail in a list.
func letter(id uint64, state string) *vigilv1.Mail {
	return &vigilv1.Mail{Id: id, From: "web/boss", To: "web/builder", Subject: "rebase", Priority: "high",
		Thread: 3, State: state, Age: durationpb.New(5 * time.Minute)}
}

func mails(list ...*vigilv1.Mail) *vigilv1.ListMailResponse {
	return &vigilv1.ListMailResponse{Mails: list}
}

// lastAsked is the last request of a type.
func lastAsked[M proto.Message](t *testing.T, s *cannedServer) (last M) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.asked {
		if x, ok := m.(M); ok {
			last = x
		}
	}
	return last
}

// asPeople is the environment of a human who has no agent.
func asPeople(t *testing.T, s *cannedServer) map[string]string {
	return map[string]string{"VIGIL_ADDR": s.addr, "USER": "ann", "XDG_RUNTIME_DIR": t.TempDir()}
}

func TestMailSendSaysWhoToWhomAndWhat(t *testing.T) {
	s := newCanned(t)
	file := filepath.Join(t.TempDir(), "body.md")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	human := &vigilv1.SendMailRequest{From: "ann", To: "web/builder", Priority: "normal"}
	speaker := &vigilv1.Speaker{Agent: "web/builder", Incarnation: 9, Token: "secret"}
	with := func(r *vigilv1.SendMailRequest, change func(*vigilv1.SendMailRequest)) *vigilv1.SendMailRequest {
		r = proto.CloneOf(r)
		change(r)
		return r
	}
	for _, tc := range []struct {
		agent bool
		args  []string
		want  *vigilv1.SendMailRequest
		out   string
	}{
		{false, []string{"send", "web/builder", "look here"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body = "look here" }), "mail 3 is sent to web/builder\n"},
		{false, []string{"send", "web", "-s", "all", "--priority", "urgent", "--kind", "notice", "--thread",
			"2", "--reply-to", "1"},
			&vigilv1.SendMailRequest{From: "ann", To: "web", Subject: "all", Priority: "urgent", Kind: "notice",
				Thread: 2, ReplyTo: 1},
			"mails 3 to 4 are sent to web; 1 of 3 agents get no copy.\n"},
		{false, []string{"send", "web/builder", "--body-file", file},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body = "from a file\n" }), ""},
		{false, []string{"send", "web/builder", "-"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body = "piped" }), ""},
		{false, []string{"send", "web/builder", "--body-file", "-"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body = "piped" }), ""},
		{false, []string{"send", "web/builder", "now", "--no-queue"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body, r.Queue = "now", new(bool) }), ""},
		{false, []string{"send", "web/builder", "x", "--from", "cron"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body, r.From = "x", "cron" }), ""},
		{true, []string{"send", "web/builder", "x"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body, r.From, r.Speaker = "x", "", speaker }), ""},
		{true, []string{"send", "web/builder", "x", "--from", "cron"},
			with(human, func(r *vigilv1.SendMailRequest) { r.Body, r.From = "x", "cron" }), ""},
		{true, []string{"reply", "12", "done"}, &vigilv1.SendMailRequest{Speaker: speaker, ReplyTo: 12,
			Body: "done", Priority: "normal"}, "mail 3 is sent\n"},
	} {
		env := asPeople(t, s)
		if tc.agent {
			env = declareEnv(t, s)
		}
		code, out, errs := terminalRun{env: env, in: "piped"}.do(t, append([]string{"mail"}, tc.args...)...)
		got := lastAsked[*vigilv1.SendMailRequest](t, s)
		got.Id = nil
		if code != 0 || !proto.Equal(got, tc.want) || tc.out != "" && out != tc.out {
			t.Errorf("%v: exit code %d, %q %q, asked %v, want %v", tc.args, code, out, errs, got, tc.want)
		}
	}
}

func TestMailIsRefusedWithARemedy(t *testing.T) {
	s := newCanned(t)
	big := filepath.Join(t.TempDir(), "big.md")
	if err := os.WriteFile(big, []byte(strings.Repeat("x", mail.MaxBody+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		err  error
		code int
		says string
	}{
		{"send web/builder", nil, cli.ExitUsage, "--body-file"},
		{"send", nil, cli.ExitUsage, "write vigil mail send ROOM[/ROLE[.N]] [BODY]"},
		{"send web/builder x --body-file " + big, nil, cli.ExitUsage, "given twice"},
		{"send web/builder --body-file " + big, nil, cli.ExitUsage, "at most 16 KiB"},
		{"send web/builder x --from a --agent web/b", nil, cli.ExitUsage, "from"},
		{"reply first x", nil, cli.ExitUsage, "vigil mail inbox"},
		{"ack 0", nil, cli.ExitUsage, "vigil mail inbox"},
		{"read", nil, cli.ExitUsage, "VIGIL_AGENT"},
		{"inbox --limit 0", nil, cli.ExitUsage, "--limit"},
		{"send web/nobody x", refusal(codes.NotFound, "agent_not_found", "No agent."), cli.ExitNotFound, "No agent."},
		{"send web/builder x --no-queue", refusal(codes.FailedPrecondition, "agent_offline", "It is off."),
			cli.ExitConflict, "It is off."},
		{"send web/builder x", refusal(codes.ResourceExhausted, "mailbox_full", "It is full."), cli.ExitConflict,
			"It is full."},
		{"read --agent web/builder --incarnation 2", refusal(codes.Aborted, "superseded", "Stop."),
			cli.ExitSuperseded, "Stop."},
		{"show 9", refusal(codes.NotFound, "not_found", "Gone."), cli.ExitNotFound, "Gone."},
	} {
		s.mu.Lock()
		s.err = tc.err
		s.mu.Unlock()
		code, out, errs := terminalRun{env: asPeople(t, s)}.do(t,
			append([]string{"mail"}, strings.Fields(tc.args)...)...)
		if code != tc.code || out != "" || !strings.Contains(errs, tc.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, want %d; printed %q, said %q, want %q in it", tc.args, code, tc.code,
				out, errs, tc.says)
		}
	}
}

func TestMailSendWaitsForAcknowledgements(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	for _, tc := range []struct {
		to   string
		post []*vigilv1.ListMailResponse
		more []string
		code int
		out  string
		says string
	}{
		{"web/builder", []*vigilv1.ListMailResponse{mails(letter(3, "queued")),
			mails(letter(3, "acknowledged"), letter(9, "queued"))}, nil, 0,
			"mail 3 is acknowledged by web/builder\n", ""},
		{"web", []*vigilv1.ListMailResponse{mails(letter(3, "acknowledged"), letter(4, "expired"))}, nil,
			cli.ExitFailed,
			"mail 3 is acknowledged by web/builder\n" +
				"mail 4 to web/builder has expired without an acknowledgement\n", "1 of 3 agents get no copy"},
		{"web", []*vigilv1.ListMailResponse{mails(letter(3, "acknowledged"))}, nil, cli.ExitFailed,
			"mail 3 is acknowledged by web/builder\n1 copies are gone with their agents\n", ""},
		{"web/builder", []*vigilv1.ListMailResponse{mails(letter(3, "acknowledged"))}, []string{"--json"},
			0, `"state":"acknowledged"`, ""},
	} {
		s.mu.Lock()
		s.post = tc.post
		s.mu.Unlock()
		code, out, errs := terminalRun{env: asPeople(t, s)}.do(t,
			append([]string{"mail", "send", tc.to, "x", "--wait"}, tc.more...)...)
		if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(errs, tc.says) ||
			tc.out == "" && out != "" {
			t.Errorf("to %s %v: exit code %d, want %d; printed %q, want %q; said %q, want %q in it", tc.to,
				tc.more, code, tc.code, out, tc.out, errs, tc.says)
		}
	}
	for want, more := range map[string]string{
		"mail 3 to web/builder is delivered, and was not acknowledged within 1h; " +
			"it stays in the mailbox: see `vigil mail show 3`": "--json=false",
		`"code":"timeout"`: "--json"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s.mu.Lock()
		s.post = []*vigilv1.ListMailResponse{mails(letter(3, "delivered")), mails(letter(3, "delivered"))}
		s.looked = func() { cancel(context.DeadlineExceeded) } // its time is over when it looks again
		s.mu.Unlock()
		code, out, errs := terminalRun{ctx: ctx, env: asPeople(t, s)}.do(t,
			"mail", "send", "web/builder", "x", "--wait", "--timeout", "1h", more)
		if code != cli.ExitTimeout || out != "" || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, printed %q, said %q, want %q in it", code, out, errs, want)
		}
	}
	if r := lastAsked[*vigilv1.ListMailRequest](t, s); r.GetThread() != 3 || r.GetAfter() != 2 || r.GetLimit() != 1 {
		t.Errorf("looked with %v", r)
	}
}

func TestMailReadPrintsAndMarksWhatWasHandedOverBefore(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	first, second := letter(3, "delivered"), letter(5, "delivered")
	first.Redelivered, first.Reminded, first.Body = true, 1, "all of it\n"
	second.Priority, second.Kind, second.ReplyTo, second.Subject = "low", "notice", 2, "line\nbreak"
	s.unread = []*vigilv1.Mail{first, second}
	// What its sender wrote stands between marks, and only there.
	want := "mail 3, high, from web/boss, 5m ago, redelivered, reminded\n--- M: written by web/boss ---\n" +
		"Subject: rebase\n\nall of it\n--- M: end ---\n\n" +
		"mail 5, low, from web/boss, 5m ago, answers mail 2\n--- M: written by web/boss ---\n" +
		"Kind: notice\n\nSubject: line break\n--- M: end ---\n"
	marks := regexp.MustCompile(`(?m)^--- [A-Z2-7]{8}:`)
	for _, args := range [][]string{{"mail", "read"}, {"mail", "read", "--wait"}} {
		code, out, errs := terminalRun{env: declareEnv(t, s)}.do(t, args...)
		found := marks.FindAllString(out, -1)
		if len(found) != 4 || found[0] != found[1] || found[2] != found[3] || found[0] == found[2] {
			t.Errorf("marks %q", found)
		}
		out = marks.ReplaceAllString(out, "--- M:")
		if code != 0 || out != want || errs != "next: vigil mail ack 3 5\n2 more are unread: read again\n" {
			t.Errorf("%v: exit code %d, printed %q, want %q; said %q", args, code, out, want, errs)
		}
	}
	if sp := lastAsked[*vigilv1.ReadMailRequest](t, s).GetSpeaker(); sp.GetAgent() != "web/builder" ||
		sp.GetIncarnation() != 9 || sp.GetToken() != "secret" {
		t.Errorf("%v reads", sp)
	}
	code, out, errs := terminalRun{env: declareEnv(t, s)}.do(t, "mail", "read", "--json")
	if code != 0 || errs != "" || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"redelivered":true`) ||
		!strings.Contains(out, `"body":"all of it\n"`) {
		t.Errorf("exit code %d, printed %q, said %q", code, out, errs)
	}
	if code, out, errs = (terminalRun{env: declareEnv(t, s)}).do(t, "mail", "ack", "3", "4"); code != 0 ||
		out != "mail 3 is acknowledged\nmail 4 was acknowledged before\n" {
		t.Errorf("exit code %d, printed %q, said %q", code, out, errs)
	}
	s.unread = nil
	if code, out, errs = (terminalRun{env: declareEnv(t, s)}).do(t, "mail", "read"); code != 0 ||
		out != "There is no unread mail.\n" || errs != "" {
		t.Errorf("exit code %d, printed %q, said %q", code, out, errs)
	}
	if code, out, errs = (terminalRun{env: declareEnv(t, s)}).do(t, "mail", "read", "--wait", "--timeout",
		"300ms"); code != cli.ExitTimeout || out != "" ||
		errs != "vigil: no mail came within 300ms\n" {
		t.Errorf("exit code %d, printed %q, said %q", code, out, errs)
	}
}

func TestMailboxesShowEachStateApart(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	urgent := letter(4, "queued")
	urgent.Priority, urgent.Escalated = "urgent", true
	again := letter(5, "delivered")
	again.Redelivered = true
	s.post = []*vigilv1.ListMailResponse{mails(letter(3, "acknowledged"), urgent, again, letter(6, "expired"),
		letter(7, "queued"))}
	code, out, errs := terminalRun{env: asPeople(t, s)}.do(t, "mail", "inbox", "web/builder")
	want := `queued: 2
MAIL  PRIORITY  AGE  FROM      TO           SUBJECT  MARKS
   4  urgent    5m   web/boss  web/builder  rebase   escalated
   7  high      5m   web/boss  web/builder  rebase   -

delivered: 1
MAIL  PRIORITY  AGE  FROM      TO           SUBJECT  MARKS
   5  high      5m   web/boss  web/builder  rebase   redelivered

expired: 1
MAIL  PRIORITY  AGE  FROM      TO           SUBJECT  MARKS
   6  high      5m   web/boss  web/builder  rebase   -

acknowledged: 1
MAIL  PRIORITY  AGE  FROM      TO           SUBJECT  MARKS
   3  high      5m   web/boss  web/builder  rebase   -
`
	if code != 0 || out != want {
		t.Errorf("exit code %d, said %q, printed\n%s\nwant\n%s", code, errs, out, want)
	}
	s.post = []*vigilv1.ListMailResponse{{Mails: []*vigilv1.Mail{letter(3, "queued")}, More: true, Next: 3},
		mails(letter(4, "queued"))}
	if _, out, _ = (terminalRun{env: asPeople(t, s)}).do(t, "mail", "inbox", "--json"); !strings.Contains(out,
		`"id":"3"`) || !strings.Contains(out, `"id":"4"`) || !strings.Contains(out, `"more":false`) {
		t.Errorf("all pages as JSON: %s", out)
	}
	s.post = []*vigilv1.ListMailResponse{{Mails: []*vigilv1.Mail{letter(3, "queued")}, More: true, Next: 3}}
	if _, out, _ = (terminalRun{env: asPeople(t, s)}).do(t,
		"mail", "inbox", "--limit", "1"); !strings.HasSuffix(out, "\nmore: --after 3\n") {
		t.Errorf("the first page: %s", out)
	}
	s.post = []*vigilv1.ListMailResponse{{}}
	for _, tc := range []struct {
		agent             bool
		args              string
		box, from, inRoom string
	}{
		{false, "inbox", "", "", ""},
		{false, "inbox --room web --from cron", "", "cron", "web"},
		{false, "inbox web/a.2", "web/a.2", "", ""},
		{true, "inbox", "web/builder", "", ""},
		{true, "inbox --room web", "", "", "web"},
		{false, "sent", "", "ann", ""},
		{true, "sent", "", "web/builder", ""},
		{true, "sent cron", "", "cron", ""},
	} {
		env := asPeople(t, s)
		if tc.agent {
			env = declareEnv(t, s)
		}
		code, out, errs := terminalRun{env: env}.do(t,
			append([]string{"mail"}, strings.Fields(tc.args+" --unacknowledged")...)...)
		r := lastAsked[*vigilv1.ListMailRequest](t, s)
		if code != 0 || out != "There is no such mail.\n" || r.GetAgent() != tc.box || r.GetFrom() != tc.from ||
			r.GetRoom() != tc.inRoom || !r.GetUnacknowledged() {
			t.Errorf("%s: exit code %d, %q %q, asked %v", tc.args, code, out, errs, r)
		}
	}
}

func TestMailShowHasTheBody(t *testing.T) {
	s := newCanned(t)
	code, out, errs := terminalRun{env: asPeople(t, s), width: 80}.do(t, "mail", "show", "3")
	for _, want := range []string{"web/boss (incarnation 4)",
		"delivered, handed over 2 times, last to incarnation 7", "redelivered", "\n\nall of it?[1m\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d %s, printed\n%s\nwithout %q", code, errs, out, want)
		}
	}
}

func TestAgentStatusCountsUnreadMail(t *testing.T) {
	s := newCanned(t)
	s.agent = hung()
	code, out, errs := terminalRun{}.do(t, "agent", "status", "web/builder", "--addr", s.addr)
	if code != 0 || !strings.Contains(out, "2; `vigil mail inbox web/builder` lists it") {
		t.Errorf("exit code %d %s, printed\n%s", code, errs, out)
	}
}
