package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Escalations that wait are no secret: a leader without a notifier says so, and every server says it of one of which
// nobody has been told for minutes.
func TestStatusTellsThatNobodyIsTold(t *testing.T) {
	own := 0
	w := startAs(t, 2, nil, func(cfg *Config) { cfg.Notifiers = func() int { return own } }, insecure.NewCredentials())
	says := func(server int, want string) {
		t.Helper()
		_, got, _ := w.call(server, "GET", "/v1/status?stale=true", "")
		text := fmt.Sprint(got["warnings"])
		if has := strings.Contains(text, "Escalations are not announced: 1 wait"); has != (want != "") ||
			!strings.Contains(text, want) {
			t.Errorf("server %d says %s, want %q", server, text, want)
		}
	}
	w.room("demo", "builder", 1)
	says(0, "")
	w.planned(fsm.SendMail{From: "ann", To: "demo/builder", Subject: "s", Body: "b", Priority: noun.MailUrgent})
	w.advance(2*time.Minute + time.Second)
	says(0, "") // who looks sees it open
	w.advance(6 * time.Minute)
	says(0, "which leads, has no notifier, so nobody is called: give its file the notify:")
	own = 1
	says(0, "of escalation 1 nobody has been told for")
	says(1, "which leads, has not tried: see that its file has the same notify:")
	note := fsm.NoteNotice{Escalation: 1, Notice: 1, Notifier: "hook", Failure: "status 500",
		Notifiers: []string{"hook", "mail"}}
	w.planned(note)
	says(1, "no notifier has got through; `vigil escalation show 1`")
	note.Notifier, note.Failure = "mail", ""
	w.planned(note)
	says(0, "")
	says(1, "")
}

// escalated is a server with one escalation about mail that nobody answers.
func escalated(t *testing.T) *world {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.planned(fsm.SendMail{From: "ann", To: "demo/builder", Subject: "secret", Body: "secret",
		Priority: noun.MailUrgent})
	w.advance(3 * time.Minute)
	return w
}

// An escalation over HTTP through a follower: listed, shown, acknowledged, closed.
func TestEscalationOverHTTP(t *testing.T) {
	w := escalated(t)
	status, got, _ := w.call(1, "GET", "/v1/escalations", "")
	list, _ := got["escalations"].([]any)
	if status != 200 || len(list) != 1 || got["open"] != 1.0 || got["pending"] != 1.0 {
		t.Fatalf("list: %d %v", status, got)
	}
	x := list[0].(map[string]any)
	for field, want := range map[string]any{"id": "1", "kind": "mail_unacknowledged",
		"subject": "demo/builder", "priority": "urgent", "state": "open", "agent": "demo/builder",
		"room": "demo", "lasts": true, "count": "1"} {
		if x[field] != want {
			t.Errorf("%s is %v, want %v", field, x[field], want)
		}
	}
	if text := fmt.Sprint(got); strings.Contains(text, "secret") ||
		!strings.Contains(text, "vigil nudge demo/builder") || !strings.Contains(text, "mail_from:ann") {
		t.Errorf("it says %s", text)
	}
	if status, got, _ = w.call(1, "GET", "/v1/status", ""); got["escalations_open"] != 1.0 ||
		!strings.Contains(fmt.Sprint(got["warnings"]), "vigil escalation list") {
		t.Errorf("status: %d %v", status, got)
	}
	w.planned(fsm.NoteNotice{Escalation: 1, Notice: 1, Notifier: "hook", Failure: "status 500",
		Notifiers: []string{"hook"}})
	status, got, _ = w.call(1, "GET", "/v1/escalations/1", "")
	notice, _ := got["notice"].(map[string]any)
	if text := fmt.Sprint(notice["deliveries"]); status != 200 ||
		!strings.Contains(text, "failure:status 500") || !strings.Contains(text, "next_in:10s") ||
		!strings.Contains(text, "state:waiting") {
		t.Errorf("show: %d %v", status, got)
	}
	if status, got, _ = w.call(1, "POST", "/v1/escalations/1:ack", `{"by":"ann"}`); status != 200 ||
		got["state"] != "acknowledged" || got["ack_by"] != "ann" {
		t.Errorf("ack: %d %v", status, got)
	}
	if status, got, _ = w.call(1, "GET", "/v1/status", ""); got["escalations_open"] != 1.0 ||
		got["escalations_unacknowledged"] != 0.0 {
		t.Errorf("status after the ack: %d %v", status, got)
	}
	for range 2 { // saying it again changes nothing
		if status, got, _ = w.call(1, "POST", "/v1/escalations/1:close",
			`{"by":"bob","note":"restarted"}`); status != 200 || got["state"] != "closed" ||
			got["note"] != "restarted" || got["ack_by"] != "ann" {
			t.Errorf("close: %d %v", status, got)
		}
	}
	for query, want := range map[string]int{"": 0, "?all=true": 1, "?all=true&room=demo": 1,
		"?all=true&room=other": 0, "?all=true&kind=breaker_open": 0, "?all=true&after=1": 0} {
		status, got, _ = w.call(1, "GET", "/v1/escalations"+query, "")
		if list, _ = got["escalations"].([]any); status != 200 || len(list) != want {
			t.Errorf("list%s: %d %v, want %d", query, status, got, want)
		}
	}
	_, got, _ = w.call(0, "GET", "/metrics", "")
	for _, want := range []string{"vigil_escalations_open 0", "vigil_escalations_opened_total 1",
		"vigil_notices_pending 0"} {
		if text, _ := got["text"].(string); !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestEscalationsAreRefusedWithAReason(t *testing.T) {
	w := escalated(t)
	w.planned(fsm.CloseEscalation{Escalation: 1, By: "ann"})
	for _, tc := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/v1/escalations/9", "", 404, "not_found"},
		{"GET", "/v1/escalations?kind=trouble", "", 400, "invalid"},
		{"GET", "/v1/escalations?room=A%20B", "", 400, "invalid"},
		{"GET", "/v1/escalations?limit=1001", "", 400, "invalid"},
		{"POST", "/v1/escalations/9:ack", `{"by":"ann"}`, 404, "not_found"},
		{"POST", "/v1/escalations/1:ack", `{"by":"ann"}`, 409, "conflict"},
		{"POST", "/v1/escalations/0:close", `{"by":"ann"}`, 400, "invalid"},
		{"POST", "/v1/escalations/1:close", `{"by":"` + strings.Repeat("x", 129) + `"}`, 413, "too_large"},
		{"POST", "/v1/escalations/1:close", `{"note":"` + strings.Repeat("x", 1025) + `"}`, 413, "too_large"},
	} {
		status, got, _ := w.call(0, tc.method, tc.path, tc.body)
		if c, _ := got["code"].(string); status != tc.status || c != tc.code {
			t.Errorf("%s %s: %d %v, want %d %s", tc.method, tc.path, status, got, tc.status, tc.code)
		}
	}
}

// Escalations page by number.
func TestEscalationsPage(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 5)
	w.planned(fsm.SendMail{From: "ann", To: "demo", Body: "x", Priority: noun.MailUrgent})
	w.advance(3 * time.Minute)
	var seen []uint64
	for after := uint64(0); ; {
		page, err := vigilv1.NewEscalationsClient(w.conns[0]).ListEscalations(within(t),
			&vigilv1.ListEscalationsRequest{After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page.GetEscalations() {
			seen = append(seen, x.GetId())
		}
		if after = page.GetNext(); after == 0 {
			break
		}
	}
	if fmt.Sprint(seen) != "[1 2 3 4 5]" {
		t.Errorf("paged through %v", seen)
	}
}
