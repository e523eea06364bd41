package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// A job that runs again with the id of a task that failed is told so, and can have it tried again.
func TestCreateWithTheIDOfATaskThatFailed(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	create := func(want int, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}}.do(t,
			append([]string{"task", "create", "web/builder", "Build it"}, args...)...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out, errs
	}
	if _, errs := create(cli.ExitUsage, "--retry-failed"); !strings.Contains(errs, "--id") {
		t.Errorf("without --id: %q", errs)
	}
	if out, errs := create(0, "--id", "b1", "--retry-failed"); out != "task 1 is pending\n" || errs != "" {
		t.Errorf("the first time: %q, %q", out, errs)
	}
	for state, end := range map[vigilv1.TaskState]func(){
		vigilv1.TaskState_CANCELED: func() {
			must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 1, By: "ann"}))(t)
		},
		vigilv1.TaskState_FAILED: func() {
			c := f.connect("web/builder")
			c.claims(1)
			c.says("fail_task", map[string]any{"reason": "it cannot be done"})
			_ = c.stdin.Close() // never fails
			c.end()
		},
	} {
		end()
		if got := f.get(1).GetState(); got != state {
			t.Fatalf("the task is %s, want %s", got, state)
		}
		word := map[vigilv1.TaskState]string{vigilv1.TaskState_CANCELED: "was canceled",
			vigilv1.TaskState_FAILED: "failed"}[state]
		said := fmt.Sprintf("task 1, which %s ", word)
		for _, args := range [][]string{{"--id", "b1"}, {"--id", "b1", "--wait"}} {
			_, errs := create(map[bool]int{true: 1}[len(args) > 2], args...)
			if !strings.HasPrefix(errs, said) || !strings.Contains(errs, "`vigil task retry 1`") {
				t.Errorf("%v of one that is %s: %q", args, state, errs)
			}
		}
		if out, errs := create(0, "--id", "b1", "--retry-failed"); out != "task 1 is pending\n" || errs != "" {
			t.Errorf("again: %q, %q", out, errs)
		}
	}
	c := f.connect("web/builder")
	c.claims(1)
	c.says("complete_task", map[string]any{"result": "built"})
	if out, errs := create(0, "--id", "b1", "--retry-failed", "--wait"); !strings.Contains(out, "built") || errs != "" {
		t.Errorf("one that is completed: %q, %q", out, errs)
	}
}
