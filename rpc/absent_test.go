package rpc

import (
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// What there is not is said in the same words by a call that reads and by one that changes something.
func TestN18AbsentThingsHaveOneWording(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.room("gone", "builder", 1)
	if _, err := w.fleet(0).DeleteRoom(within(t), &vigilv1.DeleteRoomRequest{Room: "gone", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [...][3]string{
		{"/v1/rooms/nowhere", "/v1/rooms/nowhere/tasks", `{"role":"builder","title":"x"}`},
		{"/v1/rooms/gone", "/v1/rooms/gone/tasks", `{"role":"builder","title":"x"}`},
		{"/v1/agents/demo/nobody", "/v1/agents/demo/nobody:set", `{"desired":"stopped"}`},
		{"/v1/agents/gone/builder", "/v1/agents/gone/builder:set", `{"desired":"stopped"}`},
		{"/v1/tasks/99", "/v1/tasks/99:retry", "{}"},
		{"/v1/escalations/99", "/v1/escalations/99:ack", "{}"},
	} {
		code, read, _ := w.call(0, "GET", pair[0], "")
		if code != 404 {
			t.Errorf("GET %s: %d %v", pair[0], code, read)
		}
		code, write, _ := w.call(0, "POST", pair[1], pair[2])
		if code != 404 || write["message"] != read["message"] {
			t.Errorf("POST %s: %d %v, but GET %s says %v", pair[1], code, write, pair[0], read["message"])
		}
	}
}
