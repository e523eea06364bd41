package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) Declare(_ context.Context, r *vigilv1.DeclareRequest) (*vigilv1.DeclareResponse, error) {
	return &vigilv1.DeclareResponse{Applied: r.GetSequence() != 3, Sequence: 7, Left: r.GetFor()}, nil
}

func (s *cannedServer) GetAgentStatus(_ context.Context,
	r *vigilv1.GetAgentStatusRequest) (*vigilv1.AgentStatus, error) {
	if r.GetAgent() == "web/nobody" {
		return &vigilv1.AgentStatus{Agent: r.GetAgent(), Status: "not_found"}, nil
	}
	g := s.agent.GetAgent()
	return &vigilv1.AgentStatus{Agent: r.GetAgent(), Status: "offline", OfflineSince: before(5 * time.Minute),
		LastSeen:     before(6 * time.Minute),
		RegisteredAt: before(2 * time.Hour), Host: "w1", Verdict: g.GetVerdict(), Declaration: g.GetDeclaration(),
		UnreadMessages: 2}, nil
}

// declareEnv is the environment of a managed agent.
func declareEnv(t *testing.T, s *cannedServer) map[string]string {
	return map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder", "VIGIL_INCARNATION": "9",
		"VIGIL_TOKEN": "secret", "XDG_RUNTIME_DIR": t.TempDir()}
}

func TestDeclareSaysWhoHowAndForHowLong(t *testing.T) {
	s := newCanned(t)
	for args, want := range map[string]struct{ status, waiting, lasting, prints string }{
		"healthy":               {"", "", "", "web/builder: healthy\n"},
		"busy":                  {"busy", "", "", "web/builder: busy\n"},
		"busy --for 20m why":    {"busy", "", "20m0s", "web/builder: busy for 20m\n"},
		"degraded":              {"degraded", "", "", "web/builder: degraded\n"},
		"needs-input":           {"", "needs_input", "24h0m0s", "web/builder: needs-input for 24h\n"},
		"sleeping --for 1h why": {"", "sleeping", "1h0m0s", "web/builder: sleeping for 1h\n"},
		"in-tool":               {"", "in_tool", "30m0s", "web/builder: in-tool for 30m\n"},
		"busy --sequence 3 --for 1m": {"busy", "", "1m0s",
			"web/builder: nothing was changed, it has declared number 7 already\n"},
	} {
		s.asked = nil
		code, out, errs := terminalRun{env: declareEnv(t, s)}.do(t,
			append([]string{"declare"}, strings.Fields(args)...)...)
		if code != 0 || out != want.prints {
			t.Errorf("%s: exit code %d, printed %q %q, want %q", args, code, out, errs, want.prints)
			continue
		}
		r := s.asked[len(s.asked)-1].(*vigilv1.DeclareRequest)
		lasting := ""
		if r.GetFor() != nil {
			lasting = r.GetFor().AsDuration().String()
		}
		if r.GetStatus() != want.status || r.GetWaiting() != want.waiting || lasting != want.lasting ||
			(r.GetText() == "why") != strings.HasSuffix(args, " why") {
			t.Errorf("%s asked %v", args, r)
		}
		if sp := r.GetSpeaker(); sp.GetAgent() != "web/builder" || sp.GetIncarnation() != 9 ||
			sp.GetToken() != "secret" {
			t.Errorf("%s: %v speaks", args, sp)
		}
	}
	for _, args := range []string{"busy --for -1m", "healthy --for 1m", "tired", "busy a b"} {
		if code, _, errs := (terminalRun{env: declareEnv(t, s)}).do(t,
			append([]string{"declare"}, strings.Fields(args)...)...); code != cli.ExitUsage {
			t.Errorf("declare %s: exit code %d, %s", args, code, errs)
		}
	}
}

// hung is an agent that speaks against itself in two ways.
func hung() *vigilv1.GetAgentResponse {
	return &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/builder", Why: "working on task 7",
		Task: 7, Host: "w1",
		Verdict: &vigilv1.Verdict{Kind: "unresponsive", Reasons: []*vigilv1.Reason{
			{Text: "4 health reports are missing in a row, 2 are allowed to", Evidence: "health", Bad: true,
				Age: durationpb.New(4 * time.Minute)},
			{Text: "the last sign of progress with task 7 was 4m0s ago", Evidence: "progress", Bad: true},
			{Text: "its process is running", Evidence: "process"}}},
		Declaration: &vigilv1.Declaration{Status: "busy", Waiting: "none", Lapsed: true,
			Reported: durationpb.New(4 * time.Minute), Text: "the test suite"}}}
}

func TestExplainShowsTheVerdictAndWhatItRestsOn(t *testing.T) {
	s := newCanned(t)
	s.agent = hung()
	for _, args := range [][]string{{"agent", "explain", "web/builder"}, {"agent", "status", "web/builder"}} {
		code, out, errs := terminalRun{}.do(t, append(args, "--addr", s.addr)...)
		for _, want := range []string{"unresponsive: 4 health reports are missing in a row",
			"busy, lapsed, said 4m ago: the test suite",
			"  ! health: 4 health reports are missing in a row, 2 are allowed to (4m)\n",
			"  ! progress: the last sign of progress with task 7 was 4m ago\n",
			"    process: its process is running\n"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%v: exit code %d %s, printed\n%s\nwithout %q", args, code, errs, out, want)
			}
		}
	}
}

func TestAgentStatusHasItsNames(t *testing.T) {
	s := newCanned(t)
	s.agent = hung()
	code, out, _ := terminalRun{}.do(t, "agent", "status", "web/builder", "--json", "--addr", s.addr)
	for _, want := range []string{`"status":"offline"`, `"last_seen":"`, `"registered_at":"`, `"offline_since":"`,
		`"host":"w1"`} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, printed %s without %s", code, out, want)
		}
	}
	code, out, errs := terminalRun{}.do(t, "agent", "status", "web/nobody", "--addr", s.addr)
	if code != cli.ExitNotFound || !strings.Contains(out, "not_found") || errs != "" {
		t.Errorf("an agent that does not exist: exit code %d, %q, %q", code, out, errs)
	}
}

func TestHealthCheckEndsWithOneWhenAnAgentIsNotFine(t *testing.T) {
	s := newCanned(t)
	s.agent = hung()
	code, out, errs := terminalRun{}.do(t, "agent", "health-check", "web", "--addr", s.addr)
	if code != cli.ExitFailed || errs != "" || strings.Count(out, "\n") != 2 ||
		!strings.Contains(out, "web/builder  unresponsive") ||
		!strings.Contains(out, "4 health reports are missing in a row, 2 are allowed to; the last sign of progress") {
		t.Errorf("exit code %d, printed\n%s%s", code, out, errs)
	}
	for _, m := range s.asked {
		if r, ok := m.(interface{ GetRoom() string }); !ok || r.GetRoom() != "web" {
			t.Errorf("asked %T %v", m, m)
		}
	}
	s.agent.Agent.Verdict = &vigilv1.Verdict{Kind: "idle", Fine: true}
	if code, out, errs = (terminalRun{}).do(t, "agent", "health-check", "--addr", s.addr); code != 0 ||
		out != "All agents are fine.\n" {
		t.Errorf("with nobody ill: exit code %d, %q, %q", code, out, errs)
	}
	if code, out, _ = (terminalRun{}).do(t, "agent", "health-check", "--json", "--addr", s.addr); code != 0 ||
		!strings.Contains(out, `"agents":[]`) {
		t.Errorf("with nobody ill, as JSON: exit code %d, %q", code, out)
	}
}
