package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// planned applies a command of the leader.
func (w *world) planned(c fsm.Command) {
	w.t.Helper()
	out, err := w.nodes[0].Submit(within(w.t), fsm.Request{Cmd: c})
	if err != nil || out.Code != noun.OK {
		w.t.Fatalf("%T: %+v, %v", c, out, err)
	}
}

// A room's life with the watchdog, as the API shows it, and no content anywhere.
func TestWatchdogRoomOverTheAPI(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "secret")
	get := func(path string) map[string]any {
		t.Helper()
		code, got, _ := w.call(1, "GET", path, "")
		if code != 200 {
			t.Fatalf("%s: %d %v", path, code, got)
		}
		return got
	}
	quiet := func() map[string]any { return get("/v1/rooms/demo")["quiet"].(map[string]any) }
	if q := quiet(); q["state"] != "active" || q["due_in"] != "600s" || q["limit"] != "600s" {
		t.Errorf("just created: %v", q)
	}
	w.advance(11 * time.Minute)
	w.planned(fsm.WarnRoom{Room: 1, Active: w.activity("demo")})
	if q := quiet(); q["state"] != "stalling" || q["reason"] != "idle_timeout" || q["cancel_in"] != "60s" ||
		q["silent"] != "660s" {
		t.Errorf("warned: %v", q)
	}
	if got := get("/v1/watchdog"); fmt.Sprint(got["stalled"]) != "[demo]" || got["warned_total"] != "1" ||
		got["active_rooms"] != 1.0 {
		t.Errorf("watchdog: %v", got)
	}
	w.advance(time.Minute)
	w.planned(fsm.CancelIdleRoom{Room: 1, Active: w.activity("demo"), Warned: w.activity("demo").Add(11 * time.Minute)})
	got := get("/v1/rooms/demo")
	if x, _ := got["canceled"].(map[string]any); x["reason"] != "idle_timeout" || x["tasks"] != 1.0 ||
		got["quiet"].(map[string]any)["state"] != "idle" {
		t.Errorf("canceled: %v", got)
	}
	if text := fmt.Sprint(get("/v1/watchdog")["history"]); !strings.Contains(text, "demo") ||
		strings.Contains(text, "secret") {
		t.Errorf("history: %s", text)
	}
	code, answer, _ := w.call(1, "POST", "/v1/rooms/demo:reopen", `{"by":"ann"}`)
	if code != 200 || answer["tasks"] != 1.0 {
		t.Errorf("reopen: %d %v", code, answer)
	}
	if code, answer, _ = w.call(1, "POST", "/v1/rooms/demo:reopen", `{"by":"ann"}`); code != 409 {
		t.Errorf("reopen again: %d %v", code, answer)
	}
}

func (w *world) activity(room string) (at noun.Time) {
	w.nodes[0].Read(func(st *fsm.View) { at = st.Quiet(st.Room(room)).Active })
	return at
}

// A room's own limits over the API, in range, at creation and later.
func TestWatchdogRoomLimitsOverTheAPI(t *testing.T) {
	w := start(t, 1)
	code, got, _ := w.call(0, "PUT", "/v1/rooms/demo", `{"roles":[{"name":"builder"}],"watch":{"idle_limit":"3600s"}}`)
	if watch, _ := got["watch"].(map[string]any); code != 200 || watch["idle_limit"] != "3600s" {
		t.Fatalf("%d %v", code, got)
	}
	code, got, _ = w.call(0, "POST", "/v1/rooms/demo:watchdog",
		`{"watch":{"deadline":"7200s","disabled":true},"by":"ann"}`)
	if watch, _ := got["watch"].(map[string]any); code != 200 || watch["idle_limit"] != nil ||
		watch["deadline"] != "7200s" || watch["disabled"] != true {
		t.Errorf("%d %v", code, got)
	}
	for _, body := range []string{`{"watch":{"idle_limit":"0.001s"}}`, `{"watch":{"deadline":"-5s"}}`,
		`{"watch":{"deadline":"99999999s"}}`} {
		if code, got, _ = w.call(0, "POST", "/v1/rooms/demo:watchdog", body); code != 400 {
			t.Errorf("%s: %d %v", body, code, got)
		}
	}
	if code, _, _ = w.call(0, "POST", "/v1/rooms/nowhere:watchdog", `{}`); code != 404 {
		t.Errorf("a room that does not exist: %d", code)
	}
	w.mu.Lock()
	w.old = true
	w.mu.Unlock()
	_, err := w.fleet(0).SetRoomWatch(within(t), &vigilv1.SetRoomWatchRequest{Room: "demo",
		Watch: &vigilv1.RoomWatch{IdleLimit: durationpb.New(time.Hour)}})
	if p := fault.Of(err); p.Code != "old_servers" {
		t.Errorf("with a server of an older version: %v", err)
	}
}

// The counts of this server, leader or not, also without a leader.
func TestWatchdogHealth(t *testing.T) {
	w := start(t, 2)
	w.nodes[1].cutOff(true)
	code, got, _ := w.call(1, "GET", "/v1/health", "")
	dog, _ := got["watchdog"].(map[string]any)
	if code != 200 || got["leader"] != false || got["status"] != "no leader is known" ||
		dog["enabled"] != true || dog["stats"] == nil {
		t.Errorf("%d %v", code, got)
	}
	if code, got, _ = w.call(0, "GET", "/v1/health", ""); code != 200 || got["status"] != "healthy" ||
		got["leader"] != true {
		t.Errorf("%d %v", code, got)
	}
}
