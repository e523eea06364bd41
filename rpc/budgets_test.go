package rpc

import (
	"strings"
	"testing"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// F7: a full budget is the error full, which says what is full, how much of it is used and
// what helps; status and metrics warn from 80 % on.
func TestF07FullSaysWhatAndStatusWarnsBefore(t *testing.T) {
	w := start(t, 1)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder"}}}); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.apply(&fsm.Entry{Requests: []fsm.Request{
		{Cmd: fsm.PutSettings{Values: []noun.KV{{Key: "budget_tasks", Value: "256KiB"},
			{Key: "budget_room_share", Value: "100"}}}}}})
	w.mu.Unlock()
	create := func() error {
		_, err := w.fleet(0).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
			Title: "t", Text: strings.Repeat("x", 10_000)})
		return err
	}
	warned := func() bool {
		st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(st.GetWarnings(), "\n"), "budget tasks")
	}
	if warned() {
		t.Error("an empty cluster is warned")
	}
	var err error
	for n := 0; err == nil; n++ {
		if err = create(); n > 30 {
			t.Fatal("nothing is refused")
		}
	}
	if codeOf(err) != "full" || !strings.Contains(err.Error(), "budget_tasks") ||
		!strings.Contains(err.Error(), "KiB") || !strings.Contains(err.Error(), "cancel some") {
		t.Errorf("the refusal: %v", err)
	}
	if !warned() {
		t.Error("a full budget is not warned of")
	}
	status, got, _ := w.call(0, "POST", "/v1/rooms/demo/tasks",
		`{"role":"builder","title":"t","text":"`+strings.Repeat("x", 10_000)+`"}`)
	if status != 507 || got["code"] != "full" {
		t.Errorf("over HTTP: %d %v", status, got)
	}
	_, got, _ = w.call(0, "GET", "/metrics", "")
	for _, want := range []string{`vigil_budget_limit_bytes{budget="tasks"} 262144`,
		`vigil_budget_limit{budget="rooms"} 10000`, "vigil_budget_refusals_total 2"} {
		if !strings.Contains(got["text"].(string), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}
