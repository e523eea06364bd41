//go:build linux

package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// N23: after a change of a role it is said whose lives are outdated, and one command renews them
// one by one.
func TestN23OutdatedAgentsAreRenewed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	f := newFleet(t, alone)
	f.await("feature level 2", func(e *vigilv1.Event) bool { return e.GetKind() == "cluster.level_raised" })
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), vigil(t), append(args, "--addr", strings.Join(f.api, ","),
			"--timeout", "2m")...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("vigil %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	has := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q is missing in:\n%s", w, out)
			}
		}
	}
	names := []string{"demo/words", "demo/words.2"}
	const room = "room: demo\nroles:\n  - {name: words, runner: words, replicas: 2"
	f.write("room.yaml", room+"}\n")
	run("apply", "-f", f.path("room.yaml"))
	both := map[string]bool{}
	f.await("both agents join", func(e *vigilv1.Event) bool {
		if e.GetKind() == "agent.joined" {
			both[e.GetAgent()] = true
		}
		return len(both) == len(names)
	})
	f.write("room.yaml", room+", stop_grace: 3s}\n")
	has(run("apply", "-f", f.path("room.yaml"), "--yes"), "role demo/words: 2 agents live as declared before",
		"vigil agent restart --outdated --room demo")
	has(run("agent", "list"), "running, outdated")
	has(run("agent", "explain", "demo/words"), "it lives as its role was declared before")
	has(run("agent", "restart", "--outdated", "--room", "demo", "--dry-run"),
		"restart 2 agents: demo/words, demo/words.2", "Nothing was changed.")
	has(run("agent", "restart", "--outdated", "--room", "demo", "--yes"), "2 agents are renewed")
	for _, name := range names {
		if g := f.agent(name); g.GetOutdated() || !strings.HasSuffix(g.GetIncarnation(), "2") {
			t.Errorf("%s is %v", name, g)
		}
	}
	has(run("agent", "restart", "--outdated", "--yes"), "No agent is outdated")
}
