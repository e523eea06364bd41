package fsm

import (
	"strings"
	"testing"

	"vigil/fsm/noun"
)

// N22: whoever speaks about a task that is over is told that it is completed, and by whom.
func TestN22ReportsOnClosedWorkSayWhoClosedIt(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", Replicas: 2})
	first, second := d.joinBy("r/a"), d.joinBy("r/a.2")
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: first})
	old := Work{Speaker: first, Task: task, Attempt: 1}
	d.must(FailTask{Work: old, Reason: "once more", Retryable: true})
	d.must(Claim{Speaker: second, Task: task})
	own := Work{Speaker: second, Task: task, Attempt: 2}
	d.must(CompleteTask{Work: own, Result: "done"})
	for what, tt := range map[string]struct {
		cmd  Command
		says []string
	}{
		"the one that completed it": {ProgressTask{Work: own, Note: "on"}, []string{"COMPLETED, by this very attempt"}},
		"an earlier one": {ProgressTask{Work: old, Note: "on"},
			[]string{"COMPLETED by r/a.2 (incarnation ", "attempt 2)", "drop the work"}},
		"an earlier result": {CompleteTask{Work: old, Result: "late"},
			[]string{"COMPLETED by r/a.2", "drop the work"}},
	} {
		out := d.do(tt.cmd)
		for _, want := range tt.says {
			if out.Code != noun.Superseded || !strings.Contains(out.Detail, want) {
				t.Errorf("%s: %s, %q, want %q", what, out.Code, out.Detail, want)
			}
		}
	}
}
