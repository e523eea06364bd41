package rpc

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"vigil/rpc/gen/vigilv1"
)

// N16: a life proves over HTTP that it lives by saying who it is, and is told when it was replaced.
func TestN16BeatsBySpeaker(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	says := func(s *vigilv1.Speaker) string {
		b, err := protojson.Marshal(&vigilv1.RenewRequest{Speaker: s})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	status, got, _ := w.call(1, "POST", "/v1/work:beat", says(me))
	if status != 200 || got["ttl"] == nil {
		t.Fatalf("a beat through a follower: %d %v", status, got)
	}
	old := &vigilv1.Speaker{Agent: me.GetAgent(), Incarnation: me.GetIncarnation() - 1, Token: me.GetToken()}
	if old.GetIncarnation() == 0 {
		old.Incarnation = me.GetIncarnation() + 1000
	}
	if status, got, _ = w.call(0, "POST", "/v1/work:beat", says(old)); status != 409 || got["code"] != "superseded" {
		t.Errorf("a beat of another life: %d %v, want superseded", status, got)
	}
	stranger := &vigilv1.Speaker{Agent: me.GetAgent(), Incarnation: me.GetIncarnation(), Token: "not-its-own"}
	if status, got, _ = w.call(0, "POST", "/v1/work:beat", says(stranger)); status != 403 || got["code"] != "denied" {
		t.Errorf("a beat with the token of another: %d %v, want denied", status, got)
	}
	if status, got, _ = w.call(0,
		"POST", "/v1/work:beat", `{"agents":[1],"incarnations":["1"],"kinds":[1]}`); status != 400 {
		t.Errorf("the packed form: %d %v, want 400", status, got)
	}
}

// N16: the same Idempotency-Key gets the first answer, and nothing is done twice.
func TestN16IdempotencyKey(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	_, session, _ := w.call(0, "POST", "/v1/sessions", `{"client":"test"}`)
	create := func(key, body string) (int, map[string]any) {
		req, err := http.NewRequestWithContext(within(t), "POST", "http://"+w.nodes[0].addr+"/v1/rooms/demo/tasks",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		status, got, _ := w.sent(req)
		return status, got
	}
	id := session["session"].(string)
	for range 3 {
		if status, got := create(id+"-1", `{"role":"builder","title":"x"}`); status != 200 || got["id"] != "1" {
			t.Fatalf("%d %v, want task 1", status, got)
		}
	}
	if status, got := create(id+"-2", `{"role":"builder","title":"x"}`); status != 200 || got["id"] != "2" {
		t.Fatalf("the next number: %d %v, want task 2", status, got)
	}
	for _, key := range []string{"again", "7", "0-1", "1-0", "-"} {
		if status, got := create(key, `{"role":"builder"}`); status != 400 ||
			!strings.Contains(got["message"].(string), "SESSION-SEQ") {
			t.Errorf("key %q: %d %v", key, status, got)
		}
	}
	if status, _ := create(id+"-3", `{"role":"builder","title":"x","id":{"session":"`+id+
		`","seq":"3"}}`); status != 400 {
		t.Errorf("both a key and an id: %d, want 400", status)
	}
	if status, got := create("999999-1", `{"role":"builder","title":"x"}`); status != 409 ||
		got["code"] != "unknown_session" {
		t.Errorf("a session that is not there: %d %v", status, got)
	}
}

// N16: the history is a stream of server-sent events for whoever accepts that, and goes on
// behind Last-Event-ID; others get lines of JSON.
func TestN16EventsAreServerSent(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "x")
	follow := func(query, last string) (*http.Response, func() (id, kind string, data map[string]any)) {
		req, err := http.NewRequestWithContext(within(t), "GET", "http://"+w.nodes[0].addr+"/v1/events"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		lines := bufio.NewScanner(resp.Body)
		return resp, func() (id, kind string, data map[string]any) {
			for lines.Scan() {
				switch key, value, _ := strings.Cut(lines.Text(), ": "); {
				case key == "id":
					id = value
				case key == "event":
					kind = value
				case key == "data":
					if err := json.Unmarshal([]byte(value), &data); err != nil {
						t.Fatal(err)
					}
				case lines.Text() == "" && data != nil:
					return id, kind, data
				}
			}
			return "", "", nil
		}
	}
	resp, next := follow("?room=demo", "")
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("Content-Type %q", kind)
	}
	id, kind, data := next()
	if id == "" || kind != data["kind"] || data["seq"] != id || data["room"] != "demo" {
		t.Fatalf("event %s %s %v", id, kind, data)
	}
	second, _, _ := next()
	_, resumed := follow("?room=demo", id)
	if again, _, _ := resumed(); again != second {
		t.Errorf("resumed behind %s with %s, want %s", id, again, second)
	}
	_, live := follow("?tail=true", "")
	w.task(0, "demo", "builder", "y")
	if _, kind, data := live(); kind == "" || data["task"] != "2" {
		t.Errorf("a new event: %s %v", kind, data)
	}
	for query, want := range map[string]int{"?after=99999999": 400, "?rooms=demo": 400, "?tail=true&after=1": 400} {
		if resp, _ := follow(query, ""); resp.StatusCode != want ||
			resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s, want %d", query, resp.Status, resp.Header.Get("Content-Type"), want)
		}
	}
	if resp, _ := follow("", "x"); resp.StatusCode != 400 {
		t.Errorf("Last-Event-ID x: %s", resp.Status)
	}
	if _, ended := follow("?no_follow=true&room=nowhere", ""); ended != nil {
		if id, _, _ := ended(); id != "" {
			t.Errorf("an event of another room: %s", id)
		}
	}
}

// N16: what is not there is absent, what is counted is there; a list says whether there is more.
func TestN16AbsentIsAbsent(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	_, got, _ := w.call(0, "GET", "/v1/agents/demo/builder", "")
	agent := got["agent"].(map[string]any)
	for _, name := range []string{"incarnation", "incarnation_raw", "host", "task", "order_reason", "last_exit",
		"lease_left"} {
		if v, there := agent[name]; there {
			t.Errorf("%s is %#v, want nothing", name, v)
		}
	}
	for name, want := range map[string]any{"failures": 0.0, "parked": false, "name": "demo/builder"} {
		if agent[name] != want {
			t.Errorf("%s is %#v, want %#v", name, agent[name], want)
		}
	}
	_, list, _ := w.call(0, "GET", "/v1/tasks", "")
	if tasks, there := list["tasks"].([]any); !there || len(tasks) != 0 || list["more"] != false ||
		list["next"] != nil {
		t.Errorf("an empty list: %v", list)
	}
	for range 3 {
		w.task(0, "demo", "builder", "x <y>\u2028")
	}
	_, list, _ = w.call(0, "GET", "/v1/tasks?limit=2", "")
	if list["more"] != true || list["next"] != "2" {
		t.Errorf("a page of three tasks: more %v, next %v", list["more"], list["next"])
	}
	_, list, _ = w.call(0, "GET", "/v1/tasks?limit=2&after=2", "")
	if list["more"] != false || list["next"] != nil {
		t.Errorf("the last page: more %v, next %v", list["more"], list["next"])
	}
	_, status, _ := w.call(0, "GET", "/v1/status", "")
	if status["tasks"].(map[string]any)["FAILED"] == nil && status["hosts"] != 0.0 {
		t.Errorf("counts are missing: %v", status)
	}
}
