package term

import (
	"fmt"
	"strings"

	"vigil/rpc/gen/vigilv1"
)

// TaskStates are the states of tasks in the order of a task's life.
var TaskStates = [...]vigilv1.TaskState{
	vigilv1.TaskState_QUEUED, vigilv1.TaskState_PENDING, vigilv1.TaskState_ACKNOWLEDGED, vigilv1.TaskState_IN_PROGRESS,
	vigilv1.TaskState_COMPLETED, vigilv1.TaskState_FAILED, vigilv1.TaskState_CANCELED, vigilv1.TaskState_QUARANTINED,
}

// StateText is a state in running text.
func StateText(s vigilv1.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(s.String(), "_", " "))
}

// TaskEnded tells whether the task is at an end.
func TaskEnded(s vigilv1.TaskState) bool { return s >= vigilv1.TaskState_COMPLETED }

// TaskCounts says "3 pending, 1 in progress", or "none".
func TaskCounts[N uint32 | uint64](counts map[string]N) string {
	var parts []string
	for _, s := range TaskStates {
		if n := counts[s.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, StateText(s)))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
