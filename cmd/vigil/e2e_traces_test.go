//go:build linux

package main_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// newCollector is a collector of traces that gives each span which it gets.
func newCollector(t *testing.T) (address string, spans <-chan *otlp.Span) {
	t.Helper()
	got := make(chan *otlp.Span, 64)
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &m)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, x := range m.GetResourceSpans() {
			for _, y := range x.GetScopeSpans() {
				for _, span := range y.GetSpans() {
					got <- span
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c.URL, got
}

// The trace of a task goes over servers, agentd, shim and agent: a task that a program creates which the shipped
// loop runs for a task is a child of its attempt, and both are in the trace of whoever created the first one.
func TestTraceGoesThroughTheFleet(t *testing.T) {
	t.Parallel()
	const from = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	address, spans := newCollector(t)
	f := newFleet(t, func(f *testFleet) {
		f.config = f.path("server.yaml")
		f.write("server.yaml", "otlp: "+address+"\n")
	})
	shipped, err := os.ReadFile("../../configs/runners.d/command.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.write("work.sh", `[ "$VIGIL_TASK $VIGIL_ATTEMPT" = "1 1" ] && vigil task create demo/later "made" >&2 && echo "$TRACEPARENT"`)
	text := strings.NewReplacer("user: vigil-agents", "", "  - wc\n", fmt.Sprintf("  - sh\n  - %q\n", f.path("work.sh"))).
		Replace(string(shipped))
	f.write("h2/runners.d/command.yaml", owned(text))
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n",
		strings.Join(f.api, ", "), f.path("h2data")))
	agentd := spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	t.Cleanup(func() { f.clear("h2data", agentd) })
	if _, err := f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "command", Runner: "command", Replicas: 1}, {Name: "later", Replicas: 1}}}); err != nil {
		t.Fatal(err)
	}
	task, err := f.fleet.CreateTask(client.Traced(f.ctx(), from), &vigilv1.CreateTaskRequest{Room: "demo", Role: "command",
		Title: "work", Text: "do"})
	if err != nil || task.GetId() != 1 {
		t.Fatalf("task %v: %v", task, err)
	}
	f.completed(1)
	done, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: 1})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*otlp.Span{}
	for range 3 {
		select {
		case s := <-spans:
			byName[s.GetName()] = s
		case <-time.After(patience):
			t.Fatalf("only %v came", byName)
		}
	}
	root, attempt := byName["task demo/command"], byName["attempt demo/command"]
	if byName["waiting"] == nil || root == nil || attempt == nil {
		t.Fatalf("spans %v", byName)
	}
	id := func(b []byte) string { return hex.EncodeToString(b) }
	if id(root.GetTraceId()) != from[3:35] || id(root.GetParentSpanId()) != from[36:52] ||
		id(attempt.GetParentSpanId()) != id(root.GetSpanId()) {
		t.Errorf("the task is %s, the attempt %s", root, attempt)
	}
	want := fmt.Sprintf("00-%s-%s-01", from[3:35], id(attempt.GetSpanId()))
	if strings.TrimSpace(done.GetResult()) != want {
		t.Errorf("the program was run with %q, want %q", done.GetResult(), want)
	}
	made, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: 2})
	if err != nil || made.GetTitle() != "made" {
		t.Fatalf("task 2: %v, %v", made, err)
	}
	if _, err := f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 2}); err != nil {
		t.Fatal(err)
	}
	for s := range spans {
		if s.GetName() != "task demo/later" {
			continue
		}
		if id(s.GetTraceId()) != from[3:35] || id(s.GetParentSpanId()) != id(attempt.GetSpanId()) {
			t.Errorf("what the program created is %s", s)
		}
		break
	}
}
