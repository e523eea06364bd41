package main

import (
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// The last word about a task brings the next one where there is one, and says how to wait where there is none.
func TestMCPLastWordsBringTheNextTask(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	first := f.task("builder", "First", "")
	f.task("builder", "Second", "and the text of it")
	f.task("builder", "Third", "")
	f.task("builder", "Fourth", "")
	c.claims(first)
	got := c.says("complete_task", map[string]any{"result": "built", "next": true}, "Task 1 is completed",
		"Here is the next one", "Task 2, attempt 1", "and the text of it")
	if task := got["task"].(map[string]any); task["id"] != 2.0 {
		t.Errorf("it came with %v", task)
	}
	c.says("my_status", nil, "You hold task 2")
	c.says("fail_task", map[string]any{"reason": "no", "next": true}, "Task 2 is given up", "Task 3, attempt 1")
	// What ends a task twice, because the answer was lost, does not end the one that came with it.
	c.refuses("fail_task", map[string]any{"reason": "no", "next": true}, "Nothing was changed", "task 3 came with that")
	c.refuses("complete_task", map[string]any{"result": "built", "task": 1}, "you hold task 3, not task 1")
	c.says("handoff_task", map[string]any{"role": "reviewer", "title": "Review it", "next": true, "task": 3},
		"Task 3 is completed; task 5 follows it", "Task 4, attempt 1")
	c.says("start_task", nil, "Task 4 is started")
	c.says("complete_task", map[string]any{"result": "done", "next": true}, "Task 4 is completed", "Call wait_for_task")
	fifth := f.task("builder", "Later", "")
	c.claims(fifth)
	for id, want := range map[uint64]vigilv1.TaskState{1: vigilv1.TaskState_COMPLETED, 2: vigilv1.TaskState_FAILED,
		3: vigilv1.TaskState_COMPLETED, 4: vigilv1.TaskState_COMPLETED} {
		if x := f.get(id); x.GetState() != want || x.GetAttempt() != 1 {
			t.Errorf("task %d is %v", id, x)
		}
	}
}
