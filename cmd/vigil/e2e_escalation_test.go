//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"vigil/cluster/notify"
	"vigil/rpc/gen/vigilv1"
)

// An agent that fails again and again becomes an escalation: a signed call and a program
// tell of it once, people see it, look after it and close it.
func TestEscalationIsToldAndClosed(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123"
	calls := make(chan string, 64)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(notify.HeaderSignature) != notify.Sign([]byte(secret),
			r.Header.Get(notify.HeaderTimestamp), body) {
			http.Error(w, "not signed", http.StatusForbidden)
			return
		}
		calls <- string(body)
	}))
	defer receiver.Close()
	tee, err := exec.LookPath("tee")
	if err != nil {
		t.Fatal(err)
	}
	c := newCrew(t, func(f *testFleet) {
		f.config = f.path("servers.yaml")
		f.write("secret", secret+"\n")
		f.write("servers.yaml",
			fmt.Sprintf("notify:\n  - name: hook\n    webhook: {url: %q, secret_file: %q}\n"+
				"  - name: file\n    command: {program: %q, args: [-a, %q]}\n",
				receiver.URL, f.path("secret"), tee, f.path("told")))
	})
	c.says("settings set breaker_starts=1", "breaker_starts")
	c.role("web", nil)
	c.sees("agent.joined", "web/a", 0)
	c.kill(c.agent("web/a"))
	c.sees("escalation.opened", "web/a", 0)
	var told struct {
		ID, Kind, Subject, Priority string
		Commands                    []string
	}
	select {
	case body := <-calls:
		if err := json.Unmarshal([]byte(body), &told); err != nil || told.Kind != "breaker_open" ||
			told.Subject != "web/a" || told.Priority != "high" || len(told.Commands) < 3 {
			t.Errorf("told %s (%v)", body, err)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	notified := 0
	c.await("both notifiers", func(e *vigilv1.Event) bool {
		if e.GetKind() == "escalation.notified" {
			notified++
		}
		return notified == 2
	})
	if text, err := os.ReadFile(c.path("told")); err != nil || strings.Count(string(text), `"id":"`+told.ID+`"`) != 1 {
		t.Errorf("the program was told %s (%v), want %s once", text, err, told.ID)
	}

	c.says("status", "escalations", "1 open", "vigil escalation list")
	c.says("escalation list", "breaker_open", "web/a", "high", "hook delivered", "file delivered")
	c.says("escalation show 1", "vigil agent unpark web/a", "vigil escalation close 1",
		"failures=1", "hook: delivered, 1 tries")
	c.says("escalation ack 1", "escalation 1 about web/a is acknowledged by")
	c.says("agent unpark web/a", "web/a")
	c.says("escalation show 1", "over; it stays open until a human closes it")
	c.says("escalation close 1 --note restarted", "escalation 1 about web/a is closed by")
	c.says("escalation list", "Nothing needs a human.")
	c.says("escalation list --all --json", `"note":"restarted"`, `"state":"closed"`)
	c.refuses(badInput{"", []string{"escalation", "ack", "1"}, 4, []string{"is closed already"}})
	c.refuses(badInput{"", []string{"escalation", "show", "99"}, 3, []string{"there is no escalation 99"}})
	c.refuses(badInput{"", []string{"escalation", "close", "it"}, 2, []string{"is not an escalation"}})
	if n := len(calls); n != 0 {
		t.Errorf("told %d times more", n)
	}
	for i, s := range c.servers {
		if text := s.out.String(); strings.Contains(text, secret) {
			t.Errorf("the log of server %d holds the secret", i+1)
		}
	}
}
