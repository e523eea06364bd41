package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// call does one HTTP call on server i and decodes its JSON.
func (w *world) call(i int, method, path, body string) (int, map[string]any, http.Header) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(within(w.t), method, "http://"+w.nodes[i].addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return w.sent(req)
}

// sent sends a request and decodes the JSON of its answer.
func (w *world) sent(req *http.Request) (int, map[string]any, http.Header) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		out["text"] = string(b)
	}
	return resp.StatusCode, out, resp.Header
}

func TestHTTPAndGRPCShareThePort(t *testing.T) {
	w := start(t, 2)
	status, room, _ := w.call(0, "PUT", "/v1/rooms/demo", `{"roles":[{"name":"builder","ttl":"30s"}]}`)
	if status != 200 || room["name"] != "demo" {
		t.Fatalf("apply over HTTP: %d %v", status, room)
	}
	status, task, head := w.call(1, "POST", "/v1/rooms/demo/tasks", `{"role":"builder","title":"x","text":"t"}`)
	if status != 200 || task["id"] != "1" || task["created_by"] != nil {
		t.Fatalf("create over HTTP, through the follower: %d %v", status, task)
	}
	if head.Get("Vigil-Leader") != w.nodes[0].addr {
		t.Fatalf("Vigil-Leader is %q, want %q", head.Get("Vigil-Leader"), w.nodes[0].addr)
	}
	if _, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: 1}); err != nil {
		t.Fatalf("the same port over gRPC: %v", err)
	}
	status, got, _ := w.call(0, "GET", "/v1/agents/demo/builder", "")
	if status != 200 || got["agent"].(map[string]any)["name"] != "demo/builder" {
		t.Fatalf("agent with a slash in its name: %d %v", status, got)
	}
	status, list, _ := w.call(0, "GET", "/v1/tasks?room=demo&states=PENDING&limit=5", "")
	if status != 200 || len(list["tasks"].([]any)) != 1 {
		t.Fatalf("list with a filter: %d %v", status, list)
	}
}

func TestHTTPErrorsHaveOneShape(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	tests := []struct {
		name, method, path, body string
		status                   int
		code, says               string
	}{
		{"unknown room", "GET", "/v1/rooms/nowhere", "", 404, "not_found", "vigil room list"},
		{"bad name", "PUT", "/v1/rooms/Upper", "{}", 400, "invalid", "a-z"},
		{"unknown field", "POST", "/v1/rooms/demo/tasks", `{"rolle":"builder"}`, 400, "invalid",
			`The body does not fit: line 1:2: there is no field "rolle" there; the call takes`},
		{"unknown field within", "POST", "/v1/work:join", `{"agent":"demo/builder"}`, 400, "invalid",
			"speaker (agent, incarnation, token)"},
		{"field twice", "POST", "/v1/rooms/demo/tasks", `{"role":"a","role":"b"}`, 400, "invalid", "stands there twice"},
		{"cut body", "POST", "/v1/rooms/demo/tasks", `{"role":"builder"`, 400, "invalid", "it ends before its JSON"},
		{"no object", "POST", "/v1/rooms/demo/tasks", `[]`, 400, "invalid", "line 1:1: it is no JSON object"},
		{"no text", "POST", "/v1/rooms/demo/tasks", `{"role":"builder","title":5}`, 400, "invalid",
			"line 1:27: title is 5; give a text in quotes"},
		{"no number", "POST", "/v1/rooms/demo/tasks", `{"role":"builder","priority":"high"}`, 400, "invalid",
			`priority is "high"; give a whole number`},
		{"no number within", "POST", "/v1/work:beat", `{"speaker":{"agent":"demo/builder","incarnation":"x"}}`, 400,
			"invalid", `incarnation is "x"; give a whole number that is not negative`},
		{"no duration", "POST", "/v1/rooms/demo/tasks", `{"role":"builder","expect":"soon"}`, 400, "invalid",
			`"soon" is not a duration; write seconds, for instance "90s"`},
		{"hours", "POST", "/v1/rooms/demo/tasks", `{"role":"builder","expect":"3h"}`, 400, "invalid",
			`"3h" is not a duration; write seconds, for instance "10800s"`},
		{"parameter", "GET", "/v1/tasks?limit=-1", "", 400, "invalid",
			`Parameter limit is "-1"; give a whole number that is not negative.`},
		{"yes or no", "GET", "/v1/tasks?newest_first=perhaps", "", 400, "invalid", "give true or false."},
		{"state", "GET", "/v1/tasks?states=DONE", "", 400, "invalid", `Parameter states is "DONE"; give QUEUED, PENDING`},
		{"no JSON", "POST", "/v1/rooms/demo/tasks", `{"role":`, 400, "invalid", "body"},
		{"unknown path", "GET", "/v1/nothing", "", 404, "not_found", "openapi.json"},
		{"outside /v1", "GET", "/favicon.ico", "", 404, "not_found", "openapi.json"},
		{"wrong method", "DELETE", "/v1/status", "", 405, "wrong_method", "DELETE"},
		{"large text", "POST", "/v1/rooms/demo/tasks", `{"role":"builder","text":"` +
			strings.Repeat("x", 300<<10) + `"}`, 413, "too_large", "262144"},
		{"large body", "POST", "/v1/rooms/demo/tasks",
			`{"role":"builder","text":"` + strings.Repeat("x", 3<<20) + `"}`, 413, "too_large", "file"},
		{"stream that fails at once", "GET", "/v1/events?after=99999999999", "", 400, "", ""},
		{"number", "GET", "/v1/tasks/first", "", 400, "invalid", `task "first" does not fit`},
		{"unknown parameter", "GET", "/v1/tasks?rooms=demo", "", 400, "invalid", `"rooms"`},
		{"known parameters", "GET", "/v1/tasks?room=nowhere&states=PENDING&newest_first=true&limit=1", "",
			404, "not_found", "room list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, got, _ := w.call(0, tt.method, tt.path, tt.body)
			if status != tt.status {
				t.Fatalf("status %d with %v, want %d", status, got, tt.status)
			}
			if tt.code == "" {
				got = got["error"].(map[string]any)
				tt.code = "invalid"
			}
			for _, raw := range [...]string{"strconv", "proto", "unexpected", "invalid value", "syntax"} {
				if strings.Contains(got["message"].(string), raw) {
					t.Errorf("%q has words of a parser", got["message"])
				}
			}
			if got["code"] != tt.code || !strings.Contains(got["message"].(string), tt.says) {
				t.Fatalf("got %v, want code %s and a message with %q", got, tt.code, tt.says)
			}
		})
	}
}

func TestHTTPStreamsLines(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+w.nodes[0].addr+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	next := func() map[string]any {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("stream ended: %v", lines.Err())
		}
		var out struct{ Result map[string]any }
		if err := json.Unmarshal(lines.Bytes(), &out); err != nil || out.Result == nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		return out.Result
	}
	for next()["room"] != "demo" {
	}
	w.task(0, "demo", "builder", "x")
	for next()["task"] != "1" {
	}
}

func TestPages(t *testing.T) {
	w := start(t, 1)
	for path, want := range map[string]string{
		"/":             "vigil",
		"/livez":        "alive",
		"/readyz":       "ready",
		"/metrics":      "vigil_leases_active 0",
		"/openapi.json": "",
	} {
		status, got, _ := w.call(0, "GET", path, "")
		text, _ := got["text"].(string)
		if status != 200 || want != "" && !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200q, want 200 with %q", path, status, text, want)
		}
	}
	if !json.Valid(openAPI) {
		t.Error("the OpenAPI document is not JSON")
	}
	if status, _, _ := w.call(0, "GET", "/debug/pprof/", ""); status != 404 {
		t.Errorf("pprof on the port of the API: %d, want 404", status)
	}
}

func TestReadyzWithoutALeader(t *testing.T) {
	c := newFakeCluster(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Listener: l, ServerID: "s1", Writer: c.nodes[0], Reader: c.nodes[0]})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w := &world{fakeCluster: c, t: t}
	c.nodes[0].addr = l.Addr().String()
	if status, got, _ := w.call(0, "GET", "/readyz", ""); status != 503 ||
		!strings.Contains(got["text"].(string), "no leader") {
		t.Errorf("%d %v, want 503 for want of a leader", status, got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestSilentAndStrangeConnections(t *testing.T) {
	w := start(t, 1)
	silent, err := net.Dial("tcp", w.nodes[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // it must not keep the server from stopping
	odd, err := net.Dial("tcp", w.nodes[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = odd.Close() }()
	if _, err := odd.Write([]byte("\x16\x03\x01\x02\x00 hello\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(odd)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) {
		t.Fatalf("bytes that are no protocol were answered %q (%v), want 400", answer, err)
	}
}
