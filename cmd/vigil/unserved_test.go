package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// N2: who waits for a task that nobody takes is told why after 3 s, once for each reason;
// --timeout ends the wait and says it again.
func TestN02WaitingForATaskSaysWhyNobodyTakesIt(t *testing.T) {
	s := newCanned(t)
	wait := func(inState time.Duration, flags ...string) (string, int) {
		s.task = &vigilv1.Task{Id: 7, State: vigilv1.TaskState_PENDING, InState: durationpb.New(inState),
			WhyCode: "no_agent", Why: "no agent of web/builder\x1b is there"}
		args := append([]string{"task", "create", "web/builder", "Build it",
			"--wait", "--timeout", "1500ms", "--addr", s.addr}, flags...)
		code, out, errs := terminalRun{}.do(t, args...)
		if out != "" {
			t.Errorf("printed %q", out)
		}
		return errs, code
	}
	const end = "vigil: task 7 is still pending after 1.5s: no agent of web/builder? is there. It goes on without you: " +
		"`vigil task show 7` tells how, `vigil task cancel 7` ends it\n"
	if errs, code := wait(4 * time.Second); code != cli.ExitTimeout ||
		errs != "task 7 waits: no agent of web/builder? is there\n"+end {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if errs, code := wait(2 * time.Second); code != cli.ExitTimeout || errs != end {
		t.Errorf("before 3 s: exit code %d, %q", code, errs)
	}
	errs, code := wait(4*time.Second, "--json")
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %q", line)
		}
	}
	if code != cli.ExitTimeout || len(lines) != 2 || !strings.Contains(lines[0], `"why_code":"no_agent"`) ||
		!strings.Contains(lines[1], `"code":"timeout"`) {
		t.Errorf("exit code %d, %q", code, lines)
	}
}

// N32: status and health check name the roles with work and no agent, and agents by hand that
// ended with a task.
func TestN32StatusAndHealthCheckShowWorkThatNobodyDoes(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	r := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}}
	if code, out, _ := r.do(t, "agent", "health-check"); code != 0 || out != "All agents are fine.\n" {
		t.Fatalf("exit code %d, %q", code, out)
	}
	f.task("builder", "Build it", "")
	w := must(client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"}))(t)
	must(w.Wait(f.ctx()))(t)
	if err := w.Leave(context.Background(), "its process has ended"); err != nil {
		t.Fatal(err)
	}
	f.until("the role is seen", func() bool {
		code, out, _ := r.do(t, "agent", "health-check", "web")
		return code == cli.ExitFailed && strings.Contains(out, "1 task of web/builder waits, for") &&
			strings.Contains(out, "started by hand, it ended") && strings.Contains(out, "with task 1")
	})
	for args, want := range map[string]string{"status": "warning: 1 task of web/builder waits, for",
		"agent health-check --json": `"unserved":[{"room":"web","role":"builder","waiting":1`,
		"task show 1":               "no agent of web/builder is there"} {
		if _, out, errs := r.do(t, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s%s", args, out, errs)
		}
	}
	if code, out, _ := r.do(t, "agent", "health-check", "nowhere"); code == 0 && strings.Contains(out, "builder") {
		t.Errorf("another room: %s", out)
	}
}
