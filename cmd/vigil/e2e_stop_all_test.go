//go:build linux

package main_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// What runs of a room, or of the fleet, is stopped by one command and started by another, after a plan.
func TestEverythingIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	f := newFleet(t, alone)
	me := "ann"
	run := func(code int, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), vigil(t), append([]string{"agent"}, append(args, "--addr",
			strings.Join(f.api, ","), "--timeout", "2m")...)...)
		cmd.Env = append(os.Environ(), "VIGIL_USER="+me)
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
			t.Fatalf("vigil agent %s: %v, want code %d and %q:\n%s", strings.Join(args, " "), err, code, want, out)
		}
	}
	names := []string{"demo/words", "demo/words.2"}
	f.write("room.yaml", "room: demo\nroles:\n  - {name: words, runner: words, replicas: 2}\n")
	if out, err := exec.CommandContext(t.Context(), vigil(t), "apply", "-f", f.path("room.yaml"), "--addr",
		strings.Join(f.api, ",")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	desired := func(want string) {
		t.Helper()
		for _, name := range names {
			if g := f.agent(name); g.GetDesired() != want {
				t.Errorf("%s: desired %s, want %s", name, g.GetDesired(), want)
			}
		}
	}
	joined := func() {
		t.Helper()
		both := map[string]bool{}
		f.await("both agents join", func(e *vigilv1.Event) bool {
			if e.GetKind() == "agent.joined" {
				both[e.GetAgent()] = true
			}
			return len(both) == len(names)
		})
	}
	joined()
	run(2, "choose with --room or --all", "stop")
	run(2, "leave out demo/words", "stop", "--all", "demo/words")
	run(2, "it goes with --room or --all", "stop", "demo/words", "--yes")
	run(2, "it goes with agents that are named", "stop", "--all", "--wait")
	run(3, "nobody", "stop", "--room", "nobody", "--yes")
	run(0, "stop 2 agents: demo/words, demo/words.2", "stop", "--all", "--dry-run")
	run(4, "stops 2 agents", "stop", "--all")
	desired("running")
	run(0, "", "stop", "demo/words.2", "--for", "10m")
	// A stop that ends before does not keep an agent out of the emergency.
	run(0, "2 agents were stopped.", "stop", "--all", "--yes", "--for", "12h", "--why", "they break main")
	desired("stopped")
	for _, name := range names {
		if left := f.agent(name).GetStopEndsIn().AsDuration(); left < 11*time.Hour {
			t.Errorf("%s: its stop ends in %s", name, left)
		}
	}
	run(0, "There are no such agents", "stop", "--room", "demo", "--yes", "--for", "1h")
	run(0, "There are no such agents", "start", "--all", "--yes", "--by", "ben")
	run(0, "2 agents were started.", "start", "--room", "demo", "--yes")
	desired("running")
	joined()
	// What one has stopped before for a reason of their own is not started with what another has stopped.
	run(0, "", "stop", "demo/words", "--why", "its disk is full")
	me = "ben"
	run(0, "stop 1 agent: demo/words.2", "stop", "--all", "--yes")
	run(2, "it goes with --room or --all", "start", "demo/words", "--by", "ben")
	run(0, "its disk is full: demo/words\n", "start", "--all", "--dry-run")
	run(0, "start 1 agent: demo/words.2\n  stopped by ben", "start", "--all", "--yes", "--by", "ben")
	if g := f.agent(names[0]); g.GetDesired() != "stopped" || g.GetIntentBy() != "ann" {
		t.Errorf("%s: desired %s, by %s", names[0], g.GetDesired(), g.GetIntentBy())
	}
}
