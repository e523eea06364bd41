package main

import (
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// managed joins as web/builder and gives the environment of that life, as its supervisor would.
func (f *mcpFleet) managed() map[string]string {
	f.t.Helper()
	w, err := client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(w.Detach)
	return map[string]string{"VIGIL_ADDR": f.addr, "VIGIL_AGENT": "web/builder", "VIGIL_SPOOL": f.t.TempDir(),
		"VIGIL_INCARNATION": client.FormatIncarnation(w.Incarnation())}
}

// in runs a command in an environment and wants this exit code, and these words of it.
func (f *mcpFleet) in(env map[string]string, code int, says string, args ...string) {
	f.t.Helper()
	got, out, errs := (terminalRun{env: env}).do(f.t, args...)
	if got != code || !strings.Contains(out+errs, says) {
		f.t.Errorf("%v: exit code %d, want %d; it says %q, want %q", args, got, code, out+errs, says)
	}
}

// A script that has claimed a task and runs a tool for it ends that one, whatever the tool has ended and claimed
// meanwhile; where the tool has ended it, nothing is changed.
func TestUnlessThisLifeHasEndedIt(t *testing.T) {
	for name, tool := range map[string]struct {
		ends  func(*mcpFleet, map[string]string)
		state vigilv1.TaskState
		next  bool // and has claimed the next one
	}{
		"completed by MCP": {func(f *mcpFleet, env map[string]string) {
			connect(f.t, env).says("complete_task", map[string]any{"result": "its own", "next": true}, "Here is the next")
		}, vigilv1.TaskState_COMPLETED, true},
		"given up by MCP": {func(f *mcpFleet, env map[string]string) {
			c := connect(f.t, env)
			c.says("fail_task", map[string]any{"reason": "no"}, "Task 1 is given up")
			c.ends() // it leaves the room; what it has ended stays noted
		}, vigilv1.TaskState_FAILED, false},
		"given back by a command": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 1 is", "task", "fail", "--retryable", "--after", "1h", "not now")
		}, vigilv1.TaskState_QUEUED, false},
		"given up by a command that took the next": {func(f *mcpFleet, env map[string]string) {
			f.in(env, 0, "task 2, attempt 1", "task", "fail", "--next", "no")
			connect(f.t, env).says("start_task", nil, "Task 2 is started") // notes more about this life
		}, vigilv1.TaskState_FAILED, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newMCPFleet(t, time.Minute)
			env := f.managed()
			f.task("builder", "First", "")
			f.task("builder", "Second", "")
			f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
			tool.ends(f, env)
			of := []string{"--task", "1", "--attempt", "1"}
			const kept = "task 1: this life has ended the attempt already, nothing was changed\n"
			f.in(env, 0, kept, append([]string{"task", "complete", "--unless-ended", "late"}, of...)...)
			f.in(env, 0, kept, append([]string{"task", "fail", "--unless-ended", "--retryable", "late"}, of...)...)
			if x := f.get(1); x.GetState() != tool.state || x.GetResult() == "late" || len(x.GetLateResults()) > 0 {
				t.Errorf("the first is %v", x)
			}
			if tool.next {
				if x := f.get(2); x.GetAttempt() != 1 || x.GetHolder() != "web/builder" || x.GetResult() != "" {
					t.Errorf("the second is %v", x)
				}
				f.in(env, 0, "task 2 is completed", "task", "complete", "--unless-ended", "done")
			}
			// Another attempt is another matter, and so is a life that has ended nothing.
			f.in(env, cli.ExitSuperseded, "", "task", "fail", "--unless-ended", "late", "--task", "1", "--attempt", "7")
		})
	}
}

// What was taken away is not what the life has ended.
func TestUnlessEndedTakesNothingAwayForAnEnd(t *testing.T) {
	f := newMCPFleet(t, time.Minute)
	env := f.managed()
	f.task("builder", "First", "")
	f.in(env, 0, "task 1, attempt 1", "wait-for-task", "--start")
	if _, err := f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 1, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	of := []string{"--task", "1", "--attempt", "1"}
	for _, verb := range []string{"complete", "fail"} {
		f.in(env, cli.ExitSuperseded, "", append([]string{"task", verb, "--unless-ended", "late"}, of...)...)
		f.in(env, cli.ExitSuperseded, "", append([]string{"task", verb, "--unless-ended", "late"}, of...)...)
	}
}
