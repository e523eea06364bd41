package rpc

import (
	"strings"
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// What a host sees and can do is in every answer about the agent and the host, and goes with
// the prompt; what is said of another life is refused, and nothing is said twice by a repetition.
func TestScreensAndTerminalsAreShown(t *testing.T) {
	w := start(t, 1)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}}}); err != nil {
		t.Fatal(err)
	}
	host := w.register("k1", "h1")
	a := w.order(t, "demo/builder", noun.HostID(host))
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: host, Boot: "b1",
		Agent: a.GetId(), Incarnation: a.GetIncarnationRaw()}); err != nil {
		t.Fatal(err)
	}
	agent := func() *vigilv1.Agent {
		t.Helper()
		got, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetAgent()
	}
	if h := w.hostNamed("h1"); h.GetTerminals() != "" || agent().GetScreen() != nil || agent().GetDegraded() != "" {
		t.Errorf("before anybody has said anything: %v, %v", h, agent())
	}
	say := func(prompt string, quiet bool) {
		t.Helper()
		if _, err := w.host(0).ReportScreen(within(t),
			&vigilv1.ReportScreenRequest{Host: host, Agent: a.GetId(), Incarnation: a.GetIncarnationRaw(),
				Prompt: prompt, Quiet: quiet}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		say("permission", true)
	}
	status, err := w.fleet(0).GetAgentStatus(within(t), &vigilv1.GetAgentStatusRequest{Agent: "demo/builder"})
	if err != nil || status.GetScreen().GetPrompt() != "permission" || !status.GetScreen().GetQuiet() ||
		status.GetVerdict().GetKind() != "needs_input" {
		t.Errorf("status %v, %v", status, err)
	}
	if g := agent(); g.GetScreen().GetPrompt() != "permission" ||
		g.GetVerdict().GetKind() != "needs_input" || !strings.Contains(g.GetVerdict().String(), "permission prompt") {
		t.Errorf("agent %v", g)
	}
	if _, err := w.host(0).ReportScreen(within(t),
		&vigilv1.ReportScreenRequest{Host: host + 1, Agent: a.GetId(), Incarnation: a.GetIncarnationRaw(),
			Prompt: "none"}); codeOf(err) != "superseded" {
		t.Errorf("another host was believed: %v", err)
	}
	say("none", false)
	if g := agent(); g.GetScreen().GetPrompt() != "none" || g.GetVerdict().GetKind() == "needs_input" {
		t.Errorf("the prompt has gone: %v", g)
	}
	for _, tt := range []struct {
		r              *vigilv1.ReportTerminalsRequest
		host, degraded string
	}{
		{&vigilv1.ReportTerminalsRequest{Tool: "tmux 3.3a", Runners: []string{"sh"},
			Watched: []string{"sh"}}, "tmux 3.3a", ""},
		{&vigilv1.ReportTerminalsRequest{Tool: "tmux 3.3a", Watched: []string{"sh"}}, "tmux 3.3a",
			"no terminal: its runner sh asks for none"},
		{&vigilv1.ReportTerminalsRequest{Why: "no tmux", Runners: []string{"sh"}, Watched: []string{"sh"}},
			"no terminal: no tmux: nothing can be typed or observed; mail and restarts only",
			"no terminal: no tmux on host h1"},
	} {
		tt.r.Host, tt.r.Boot = host, "b1"
		if _, err := w.host(0).ReportTerminals(within(t), tt.r); err != nil {
			t.Fatal(err)
		}
		if h := w.hostNamed("h1"); h.GetTerminals() != tt.host {
			t.Errorf("%v: host has %q", tt.r, h.GetTerminals())
		}
		if got := agent().GetDegraded(); !strings.HasPrefix(got, tt.degraded) || tt.degraded == "" && got != "" {
			t.Errorf("%v: agent is %q", tt.r, got)
		}
	}
}
