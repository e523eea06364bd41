package tasks

import (
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// N30: lists say when a failed task is tried again.
func TestN30ListsSayWhenATaskIsTriedAgain(t *testing.T) {
	task := &vigilv1.Task{State: vigilv1.TaskState_QUEUED, AgainIn: durationpb.New(12 * time.Second)}
	if got := stateOf(task); got != "QUEUED (again in 12s)" {
		t.Errorf("%q", got)
	}
	if task.AgainIn = nil; stateOf(task) != "QUEUED" {
		t.Errorf("%q", stateOf(task))
	}
}

// Who looks at a task, or waits for it, finds the one that its hand-off has created, and sees how often the work was
// handed on.
func TestTheTaskThatFollowsIsNamed(t *testing.T) {
	task := &vigilv1.Task{Id: 7, State: vigilv1.TaskState_COMPLETED, Result: "built", Next: 12, Hops: 3, Parent: 5}
	says := func(print func(*cli.App, *vigilv1.Task) error) string {
		var b strings.Builder
		a := &cli.App{Terminal: term.NewTerminal(strings.NewReader(""), &b, &b, os.Getenv), Getenv: os.Getenv}
		if err := print(a, task); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := says(taskOver); !strings.HasSuffix(got, "built\ntask 12 follows\n") {
		t.Errorf("--wait ends with %q", got)
	}
	for _, want := range []string{"this one handed over to task 12", "3 times in a row",
		"task 5 handed over to this one"} {
		if got := says(printTask); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	task.Next, task.Hops = 0, 0
	if got := says(taskOver) + says(printTask); strings.Contains(got, "follows") || strings.Contains(got, "in a row") {
		t.Errorf("without a hand-off: %q", got)
	}
}
