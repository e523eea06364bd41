package people

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// N30: lists and status say when a failed task is tried again, and that most tasks of a role fail.
func TestN30WordsForPeople(t *testing.T) {
	task := &vigilv1.Task{State: vigilv1.TaskState_QUEUED, AgainIn: durationpb.New(12 * time.Second)}
	if got := stateOf(task); got != "QUEUED (again in 12s)" {
		t.Errorf("%q", got)
	}
	if task.AgainIn = nil; stateOf(task) != "QUEUED" {
		t.Errorf("%q", stateOf(task))
	}
	role := &vigilv1.UnservedRole{Room: "web", Role: "builder", Waiting: 20, WhyCode: "half_open",
		Why: "web/builder is half-open since 4s: 5 of 5 attempts failed"}
	if got := unservedText(role); got != "most tasks of a role fail: web/builder is half-open since 4s: 5 of 5 attempts failed" {
		t.Errorf("%q", got)
	}
}
