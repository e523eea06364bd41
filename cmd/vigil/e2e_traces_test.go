//go:build linux

package main_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/runner"
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
	f := newFleet(t, alone, func(f *testFleet) {
		f.config = f.path("server.yaml")
		f.write("server.yaml", "otlp: "+address+"\n")
	})
	shipped, err := os.ReadFile("../../configs/runners.d/command.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.write("work.sh",
		`[ "$VIGIL_TASK $VIGIL_ATTEMPT" = "1 1" ] && vigil task create demo/later "made" >&2 && echo "$TRACEPARENT"`)
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

// spanTool makes this program a tool that tells one span of its own, by what is in its environment alone: as a
// program with an SDK of OpenTelemetry does.
const spanTool = "tell-a-span"

// tellSpan gives the exit code of the tool.
func tellSpan(name string) int {
	parent := strings.Split(os.Getenv("TRACEPARENT"), "-")
	if len(parent) != 4 {
		fmt.Printf("TRACEPARENT is %q\n", os.Getenv("TRACEPARENT"))
		return 1
	}
	trace, err1 := hex.DecodeString(parent[1])
	above, err2 := hex.DecodeString(parent[2])
	now := uint64(time.Now().UnixNano())
	body, err3 := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		ScopeSpans: []*otlp.ScopeSpans{{Spans: []*otlp.Span{{Name: name, TraceId: trace, ParentSpanId: above,
			SpanId: binary.BigEndian.AppendUint64(nil, now), StartTimeUnixNano: now, EndTimeUnixNano: now}}}}}}})
	r, err4 := http.NewRequest(http.MethodPost, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+"/v1/traces",
		bytes.NewReader(body))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		fmt.Println(err)
		return 1
	}
	header, value, _ := strings.Cut(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), "=")
	r.Header.Set(header, value)
	r.Header.Set("Content-Type", "application/x-protobuf")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		fmt.Println(res.Status)
		return 1
	}
	return 0
}

// One trace has all of a task for which an agent is started: the servers' spans of the task and its attempt, the
// host's of the life and its program, and what tools tell of themselves by the port of the life: one that is run for
// the task is beneath the attempt; what the agent does by itself is beneath its program.
func TestTraceJoinsHostsAndTools(t *testing.T) {
	t.Parallel()
	const from = "00-5bf92f3577b34da6a3ce929d0e0e4736-10f067aa0ba902b7-01"
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	address, spans := newCollector(t)
	f := newFleet(t, alone, func(f *testFleet) {
		f.config = f.path("server.yaml")
		f.write("server.yaml", "otlp: "+address+"\n")
	})
	tool, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.write("tools.sh", fmt.Sprintf(`[ -n "$TRACEPARENT" ] || exec vigil wait-for-task
%[1]q %[2]s early || exit 1
vigil wait-for-task --start >&2 || exit 2
vigil task exec -- %[1]q %[2]s tool || exit 3
vigil task create demo/later "made by the agent itself" >&2 || exit 4
vigil task complete done && exit 7
`, tool, spanTool))
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\ntelemetry_forward: %s\n"+
		"runners:\n  - {name: tools, program: sh, user: %q, telemetry: true, args: [%q]}\n",
		strings.Join(f.api, ", "), f.path("h2data"), address, runner.SameUser(), f.path("tools.sh")))
	if _, err := f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "tools", Runner: "tools", Replicas: 1}, {Name: "later", Replicas: 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.fleet.CreateTask(client.Traced(f.ctx(), from), &vigilv1.CreateTaskRequest{Room: "demo",
		Role: "tools", Title: "work"}); err != nil {
		t.Fatal(err)
	}
	agentd := spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml")) // only now: the task waits for the start
	t.Cleanup(func() { f.clear("h2data", agentd) })
	f.completed(1)
	if made, err := f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: 2}); err != nil {
		t.Fatalf("task 2: %v, %v", made, err)
	}
	byName := map[string]*otlp.Span{}
	for len(byName) < 9 {
		select {
		case s := <-spans:
			if hex.EncodeToString(s.GetTraceId()) != from[3:35] {
				t.Errorf("in another trace: %s", s)
			}
			if s.GetName() == "waiting" {
				s.Name += " " + hex.EncodeToString(s.GetParentSpanId())
			}
			byName[s.GetName()] = s
		case <-time.After(patience):
			t.Fatalf("only %v came", byName)
		}
	}
	for child, parent := range map[string]string{"attempt demo/tools": "task demo/tools", "tool": "attempt demo/tools",
		"life demo/tools": "task demo/tools", "program tools": "life demo/tools", "early": "program tools",
		"task demo/later": "program tools"} {
		if p := byName[parent].GetSpanId(); len(p) == 0 || !bytes.Equal(byName[child].GetParentSpanId(), p) {
			t.Errorf("%s is not beneath %s: %v, of %q", child, parent, byName[child], slices.Sorted(maps.Keys(byName)))
		}
	}
	program := byName["program tools"]
	attributes := map[string]string{}
	for _, a := range program.GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().String()
	}
	if attributes["process.exit.code"] != "int_value:7" || program.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the program is %s", program)
	}
	if begun, early := program.GetStartTimeUnixNano(), byName["early"].GetStartTimeUnixNano(); begun > early ||
		early > program.GetEndTimeUnixNano() || byName["life demo/tools"].GetStartTimeUnixNano() > begun {
		t.Errorf("the life is %s, its program %s, what that tells of itself %s", byName["life demo/tools"],
			program, byName["early"])
	}
	steps := ""
	for _, e := range byName["life demo/tools"].GetEvents() {
		steps += e.GetName() + ", "
	}
	if steps != "accepted, begun, shim ready, executed, " {
		t.Errorf("the steps of the start are %s", steps)
	}
}
