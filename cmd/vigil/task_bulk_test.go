package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// Many tasks are chosen by flags; a plan is printed and asked for, and what was done is counted.
func TestBulkRetryAsksAndCounts(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	var tasks []uint64
	for i := range 7 {
		tasks = append(tasks, f.task("builder", fmt.Sprintf("Build %d", i), ""))
	}
	other := f.task("reviewer", "Review", "")
	env := map[string]string{"VIGIL_ADDR": f.addr}
	vigil := func(in string, attended bool, args ...string) (int, string, string) {
		t.Helper()
		return terminalRun{env: env, in: in, attended: attended}.do(t, append([]string{"task"}, args...)...)
	}
	are := func(want vigilv1.TaskState, ids ...uint64) {
		t.Helper()
		for _, id := range ids {
			got := f.get(id).GetState()
			if got == vigilv1.TaskState_QUEUED { // one of a role is pending, the rest is queued
				got = vigilv1.TaskState_PENDING
			}
			if got != want {
				t.Fatalf("task %d is %v, want %v", id, got, want)
			}
		}
	}
	code, out, errs := vigil("", false, "cancel", "--room", "web", "--role", "builder", "--dry-run")
	if code != 0 || !strings.Contains(out, "cancel 7 tasks, 1 to 7\n") ||
		!strings.Contains(out, "web/builder: 6 QUEUED") ||
		!strings.Contains(out, "task 1 of web/builder: Build 0") || !strings.Contains(out, "and 2 more") ||
		!strings.Contains(out, "Nothing was changed.") {
		t.Fatalf("dry run: exit code %d, %q, %q", code, out, errs)
	}
	code, _, errs = vigil("", false, "cancel", "--role", "builder")
	if code != cli.ExitConflict || !strings.Contains(errs, "this cancels 7 tasks") || !strings.Contains(errs, "--yes") {
		t.Fatalf("without a terminal: exit code %d, %q", code, errs)
	}
	if code, _, errs = vigil("n\n", true, "cancel", "--role", "builder"); code != cli.ExitFailed ||
		!strings.Contains(errs, "Go on? [y/N]") {
		t.Fatalf("no: exit code %d, %q", code, errs)
	}
	are(vigilv1.TaskState_PENDING, tasks...)
	if code, out, errs = vigil("y\n", true, "cancel", "--role", "builder", "--reason", "an outage"); code != 0 ||
		!strings.Contains(out, "7 tasks were canceled\n") {
		t.Fatalf("yes: exit code %d, %q, %q", code, out, errs)
	}
	are(vigilv1.TaskState_CANCELED, tasks...)
	are(vigilv1.TaskState_PENDING, other)
	if got := f.get(tasks[0]).GetResult(); got != "an outage" {
		t.Errorf("the reason is %q", got)
	}
	if code, out, _ = vigil("", false, "retry", "--room", "web", "--yes"); code != 0 ||
		!strings.Contains(out, "There are no such tasks") {
		t.Fatalf("retry without --state takes canceled ones: exit code %d, %q", code, out)
	}
	code, out, errs = vigil("", false, "retry", "--state", "canceled", "--since", "1d", "--yes", "--json")
	var said struct{ Planned, Done, Changed, Refused int }
	if err := json.Unmarshal([]byte(out), &said); code != 0 || err != nil || said.Planned != 7 || said.Done != 7 {
		t.Fatalf("retry: exit code %d, %q, %q", code, out, errs)
	}
	are(vigilv1.TaskState_PENDING, tasks...)
}

// A task that was changed since the plan is left alone, one that cannot be changed is told with
// its reason, and both are told by the exit code.
func TestBulkLeavesAloneWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "old", By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Replicas: 1}}}))(t)
	gone := must(f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: "old", Role: "builder", Title: "Old",
		By: "ann"}))(t).GetId()
	tasks := []uint64{gone, f.task("builder", "One", ""), f.task("builder", "Two", "")}
	for _, id := range tasks {
		must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: id, By: "ann"}))(t)
	}
	must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "old", By: "test",
		Roles: []*vigilv1.RoleSpec{{Name: "other", Replicas: 1}}}))(t)
	asked := &answerWhenAsked{asked: func() { // between the plan and the answer
		must(f.fleet.RetryTask(f.ctx(), &vigilv1.RetryTaskRequest{Task: tasks[1], By: "ann"}))(t)
		must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: tasks[1], By: "ann"}))(t)
	}}
	code, _, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}, out: asked, in: "y\n",
		attended: true}.do(t, "task", "retry", "--state", "CANCELED")
	out := asked.text.String()
	if code != cli.ExitConflict || !strings.Contains(out, "1 task was put back into the queue; 1 left alone, "+
		"since they have changed since the plan; 1 refused:") ||
		!strings.Contains(out, fmt.Sprintf("task %d: ", gone)) || !strings.Contains(out, "no longer declared") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	changed, done := f.get(tasks[1]).GetState(), f.get(tasks[2]).GetState()
	if changed != vigilv1.TaskState_CANCELED || done != vigilv1.TaskState_PENDING {
		t.Errorf("the tasks are %v and %v", changed, done)
	}
}

// answerWhenAsked does something once the plan was printed.
type answerWhenAsked struct {
	text  strings.Builder
	asked func()
	once  sync.Once
}

func (w *answerWhenAsked) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	w.once.Do(w.asked)
	return n, err
}

// A choice reads page after page, and has a bounded number of calls under way.
func TestBulkTakesManyTasks(t *testing.T) {
	t.Parallel()
	const many = 3500
	f := newMCPFleet(t, time.Minute)
	var busy sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		busy.Go(func() {
			for i := next.Add(1); i <= many; i = next.Add(1) {
				if _, err := f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: "web", Role: "builder",
					Title: "Build", By: "ann"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	busy.Wait()
	code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": f.addr}}.do(t, "task", "cancel",
		"--room", "web", "--yes")
	if code != 0 || !strings.Contains(out, fmt.Sprintf("%d tasks were canceled\n", many)) {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// The CLI turns a time into a duration: the cluster has a clock of its own.
func TestBulkCreateAtATime(t *testing.T) {
	s := newCanned(t)
	env := map[string]string{"VIGIL_ADDR": s.addr}
	for at, want := range map[string]time.Duration{"13:30": 90 * time.Minute, "11:00": 23 * time.Hour,
		"2026-05-02 12:00": 24 * time.Hour, "2026-05-01T15:00:00+01:00": 2 * time.Hour} {
		code, _, errs := terminalRun{env: env}.do(t, "task", "create", "web/builder", "Look", "--at", at)
		s.mu.Lock()
		r, ok := s.asked[len(s.asked)-1].(*vigilv1.CreateTaskRequest)
		s.mu.Unlock()
		if code != 0 || !ok || r.GetAfter().AsDuration() != want {
			t.Errorf("--at %s: exit code %d, %q, after %s, want %s", at, code, errs, r.GetAfter().AsDuration(), want)
		}
	}
}
