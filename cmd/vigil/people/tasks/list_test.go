package tasks

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

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
