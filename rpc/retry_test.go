package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// N30: who gives a task back says when it may be tried again, who creates one when it comes; the task
// says so, and why it failed; a human's word beats both.
func TestN30WaitsThroughTheAPI(t *testing.T) {
	w := start(t, 1)
	if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	w.room("demo", "builder", 1)
	task := w.task(0, "demo", "builder", "first").GetId()
	me := w.join("demo/builder")
	if _, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	for says, r := range map[string]*vigilv1.WorkRequest{
		"give at most 30 days":      {Retryable: true, After: durationpb.New(31 * 24 * time.Hour)},
		"after goes with retryable": {After: durationpb.New(time.Second)},
	} {
		r.Speaker, r.Task, r.Attempt = me, task, 1
		if _, err := w.work(0).FailTask(within(t), r); err == nil || !strings.Contains(fault.Of(err).Text, says) {
			t.Errorf("answered %v, want %q", err, says)
		}
	}
	answer, err := w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: me, Task: task, Attempt: 1,
		Text: "the model answers 503", Retryable: true, After: durationpb.New(time.Hour)})
	if err != nil || answer.GetState() != vigilv1.TaskState_QUEUED {
		t.Fatalf("%v, %v", answer, err)
	}
	later, err := w.fleet(0).CreateTask(within(t),
		&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "later",
			After: durationpb.New(2 * time.Hour)})
	if err != nil || later.GetAgainIn().AsDuration() != 2*time.Hour || later.GetState() != vigilv1.TaskState_QUEUED {
		t.Fatalf("%v, %v", later, err)
	}
	got, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task})
	if err != nil || got.GetAgainIn().AsDuration() != time.Hour || got.GetFailures() != 1 || got.GetCharged() != 1 ||
		len(got.GetFailed()) != 1 || got.GetFailed()[0].GetReason() != "the model answers 503" ||
		got.GetWhyCode() != "retry" ||
		!strings.Contains(got.GetWhy(),
			"it is tried again in 1h0m0s, attempt 2 (1 of 5 are used): the model answers 503") {
		t.Fatalf("%v, %v", got, err)
	}
	room, err := w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "demo"})
	if err != nil || room.GetRoles()[0].GetDelayed() != 2 || room.GetRoles()[0].GetHalfOpen() != "" {
		t.Fatalf("%v, %v", room, err)
	}
	got, err = w.fleet(0).RetryTask(within(t), &vigilv1.RetryTaskRequest{Task: task, By: "ann"})
	if err != nil || got.GetState() != vigilv1.TaskState_PENDING || got.GetAgainIn() != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

// Status and the role say that most tasks of a role fail.
func TestN30StatusNamesAHalfOpenRole(t *testing.T) {
	w := start(t, 1)
	if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	w.room("demo", "builder", 5)
	me := w.join("demo/builder")
	for range 5 {
		w.task(0, "demo", "builder", "t")
	}
	for range 5 {
		claim, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: me, Task: claim.GetTask().GetId(),
			Attempt: claim.GetAttempt(), Text: "503", Retryable: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.work(0).Join(within(t), &vigilv1.JoinRequest{Speaker: me}); err != nil {
			t.Fatal(err)
		}
	}
	const says = "demo/builder is half-open since 0s: 5 of 5 attempts failed, the last one: its holder gave it back; "
	room, err := w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "demo"})
	if err != nil || !strings.HasPrefix(room.GetRoles()[0].GetHalfOpen(), says) {
		t.Errorf("%v, %v", room, err)
	}
	st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
	if err != nil || len(st.GetUnserved()) != 1 || st.GetUnserved()[0].GetWhyCode() != "half_open" ||
		st.GetUnserved()[0].GetWaiting() != 5 {
		t.Errorf("%v, %v", st, err)
	}
	text := w.metrics(0)
	for state, n := range map[string]int{"trying": 0, "waiting": 1} {
		if line := fmt.Sprintf("vigil_roles_half_open{state=%q} %d\n", state, n); !strings.Contains(text, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}
