package rpc

import (
	"fmt"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// What is due of an agent and of a room is answered, over HTTP too; each error says what is wrong.
func TestDeadlinesAreListed(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.join("demo/builder")
	w.task(0, "demo", "builder", "t")
	list, err := w.fleet(0).ListDeadlines(within(t), &vigilv1.ListDeadlinesRequest{Room: "demo"})
	if err != nil || list.GetMore() != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	kinds := map[string]*vigilv1.Deadline{}
	for _, d := range list.GetDeadlines() {
		kinds[d.GetKind()] = d
	}
	lease := kinds["lease"]
	if lease.GetOf() != "agent demo/builder" || lease.GetLeft().AsDuration() <= 0 || lease.GetThen() == "" ||
		lease.GetSince() == nil || kinds["pending limit"] == nil || kinds["silence"].GetOf() != "room demo" {
		t.Errorf("a room with an agent and a task: %v", list)
	}
	code, body, _ := w.call(0, "GET", "/v1/agents/demo/builder/deadlines", "")
	if code != 200 || !strings.Contains(fmt.Sprint(body), "kind:lease") {
		t.Errorf("over HTTP: %d %v", code, body)
	}
	for _, tc := range []struct{ path, says string }{
		{"/v1/agents/demo/nobody/deadlines", "there is no agent"}, {"/v1/rooms/nowhere/deadlines", "nowhere"},
		{"/v1/rooms/demo/deadlines?agent=demo/builder", "name one of them"},
	} {
		if code, got, _ := w.call(0, "GET", tc.path, ""); code == 200 || !strings.Contains(text(got), tc.says) {
			t.Errorf("%s: %d %v", tc.path, code, got)
		}
	}
}
