//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// askRunner asks in its terminal before it does a task that is called "asks", and goes back
// to its idle prompt with any other.
const askRunner = `name: ask
kind: tmux
program: sh
args:
  - -c
  - |
    task=$(vigil wait-for-task --start) || exit
    case "$task" in
    *": asks"*) echo 'Do you want to proceed?'; echo '  1. Yes'; echo '  2. No'; read -r answer ;;
    *) printf '> '; read -r answer ;;
    esac
    vigil task complete "told: $answer"
    sleep 3600
prompts:
  - {kind: permission, pattern: '^Do you want to proceed\?\n.*1\. Yes'}
  - {kind: idle, pattern: '^>$', lines: 1}
`

// newTerminalCrew starts a fleet with one more host, whose agents have terminals; settings are
// more lines of its configuration.
func newTerminalCrew(t *testing.T, declared, settings string) *crew {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	f := newFleet(t, alone)
	f.write("h2/runners.d/one.yaml", owned(declared))
	data, err := os.MkdirTemp("", "h2-") // the path of a terminal's socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	if err := os.Symlink(data, f.path("h2data")); err != nil {
		t.Fatal(err)
	}
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n%s",
		strings.Join(f.api, ", "), data, settings))
	f.startTerminals()
	return &crew{testFleet: f, ttl: patience} // what is found here is found by other means than a lease
}

// startTerminals starts the agentd of the host with terminals, for the first time or again.
func (f *testFleet) startTerminals() {
	f.t.Helper()
	agentd := spawn(f.t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	f.t.Cleanup(func() { f.clear("h2data", agentd) })
	f.terminals = agentd
}

// newAsking starts a fleet with a host whose agents' terminals are looked at.
func newAsking(t *testing.T) *crew {
	t.Helper()
	c := newTerminalCrew(t, askRunner, "look_every: 1s\nquiet_after: 1s\n")
	c.says("settings set ladder_interval=1s ladder_wake=1h ladder_nudge=1h prompt_limit=1s idle_prompt_limit=1s",
		"prompt_limit")
	return c
}

// waits looks at an agent until what is said of it is so.
func (c *crew) waits(name, what string, ok func(*vigilv1.Agent) bool) *vigilv1.Agent {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		g := c.agent(name)
		if ok(g) {
			return g
		}
		if time.Now().After(end) {
			c.t.Fatalf("waited %s for %s: %v", patience, what, g)
		}
	}
}

// Incident I43, for real: an agent that sits at a permission prompt in its terminal, and says
// nothing of it, needs input; it is not restarted, a human is called, and goes on with the answer.
func TestI43AgentAtAPermissionPrompt(t *testing.T) {
	t.Parallel()
	c := newAsking(t)
	c.role("perm", func(s *vigilv1.RoleSpec) {
		s.Runner, s.Ladder = "ask", "restart"
	})
	first := c.joined("perm/a", "")
	task := c.task("perm", "asks")
	g := c.waits("perm/a", "its prompt",
		func(g *vigilv1.Agent) bool { return g.GetScreen().GetPrompt() == "permission" })
	if kind := g.GetVerdict().GetKind(); kind != "needs_input" || g.GetVerdict().GetFine() {
		t.Errorf("its verdict is %s", kind)
	}
	if e := c.sees("agent.prompt", "perm/a", 0); strings.Contains(e.GetText(), "proceed") {
		t.Errorf("what stands there is told: %q", e.GetText())
	}
	c.sees("escalation.opened", "perm/a", 0)
	c.says("escalation list", "permission_prompt", "perm/a")
	c.says("agent explain perm/a", "needs input", "permission prompt")
	c.says("agent status perm/a --json", `"prompt":`, `"permission"`)
	c.says("host show h2", "terminals", "tmux ")
	c.refuses(badInput{args: []string{"nudge", "perm/a", "hello"}, code: 4, says: []string{"vigil nudge --answer"}})
	c.says("nudge perm/a --answer yes", "nudged") // a human's answer
	c.completed(task)
	if g := c.agent("perm/a"); g.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("it is at life %s, was at %s", g.GetIncarnation(), first.GetIncarnation())
	}
}

// One that goes back to its idle prompt with a task in its hands is nudged there, long before
// half an hour, and the nudge is typed at that very prompt.
func TestAgentAtItsIdlePromptIsNudged(t *testing.T) {
	t.Parallel()
	c := newAsking(t)
	c.role("idle", func(s *vigilv1.RoleSpec) { s.Runner = "ask" })
	first := c.joined("idle/a", "")
	task := c.task("idle", "forgets")
	e := c.sees("agent.nudged", "idle/a", 0)
	if !strings.Contains(e.GetText(), "stalled") || !strings.Contains(e.GetText(), "idle prompt") ||
		strings.Contains(e.GetText(), "degraded") {
		t.Errorf("nudged %q", e.GetText())
	}
	c.completed(task)
	done, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task})
	if err != nil || !strings.HasPrefix(done.GetResult(), "told: How are you getting on?") {
		t.Errorf("result %q, %v", done.GetResult(), err)
	}
	if g := c.agent("idle/a"); g.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("it was restarted: life %s", g.GetIncarnation())
	}
}
