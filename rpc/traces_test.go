package rpc

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	otlpv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"vigil/cluster/traces"
	"vigil/rpc/gen/vigilv1"
)

// tracedNode is what traces ask of a replica.
type tracedNode struct{ *fakeNode }

func (n tracedNode) Leads() bool { return n.Leader().Self }

// otlp is a collector that tells of each span.
func otlp(t *testing.T) (address string, spans <-chan *tracepb.Span) {
	got := make(chan *tracepb.Span, 64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m otlpv1.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &m)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
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
	t.Cleanup(s.Close)
	return s.URL, got
}

// A task that was created over HTTP in a trace, failed once and completed is one tree in it: the task, and
// beneath it each wait and each attempt, of which the claims have told. It comes from the leader alone, and
// holds no text.
func TestATaskIsATreeInTheTraceOfItsCreator(t *testing.T) {
	const from = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	address, spans := otlp(t)
	w := startAs(t, 2, nil, func(c *Config) { c.Traced = true }, insecure.NewCredentials())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, n := range w.nodes {
		s, err := traces.NewSender(address, n.id, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		f := traces.NewFollower(tracedNode{n}, func() string { return "test" }, s)
		w.mu.Lock()
		n.Subscribe(f.Wake)
		w.mu.Unlock()
		wg.Go(func() { f.Run(ctx) })
		wg.Go(func() { s.Run(ctx) })
	}
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	req, err := http.NewRequestWithContext(within(t), "POST", "http://"+w.nodes[1].addr+"/v1/rooms/demo/tasks",
		strings.NewReader(`{"role":"builder","title":"hush","text":"hush"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", from)
	if status, task, _ := w.sent(req); status != 200 {
		t.Fatalf("create: %d %v", status, task)
	}
	claim := func() *vigilv1.Task {
		r, err := w.work(1).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me, Start: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetTask()
	}
	first := claim()
	if _, err := w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: me, Task: 1, Attempt: 1, Text: "hush",
		Retryable: true}); err != nil {
		t.Fatal(err)
	}
	second := claim()
	if _, err := w.work(0).CompleteTask(within(t), &vigilv1.CompleteTaskRequest{Speaker: me, Task: 1,
		Attempt: second.GetAttempt(), Result: "hush"}); err != nil {
		t.Fatal(err)
	}
	byID, named := map[string]*tracepb.Span{}, map[string]int{}
	for range 5 {
		select {
		case s := <-spans:
			byID[hex.EncodeToString(s.GetSpanId())] = s
			named[s.GetName()]++
			if hex.EncodeToString(s.GetTraceId()) != from[3:35] || strings.Contains(s.String(), "hush") {
				t.Errorf("span %s", s)
			}
		case <-within(t).Done():
			t.Fatalf("only %v came", named)
		}
	}
	if len(byID) != 5 || named["task demo/builder"] != 1 || named["waiting"] != 2 || named["attempt demo/builder"] != 2 {
		t.Fatalf("spans %v", named)
	}
	for i, task := range []*vigilv1.Task{first, second} {
		attempt := byID[task.GetTraceparent()[36:52]]
		if attempt == nil || attempt.GetName() != "attempt demo/builder" {
			t.Fatalf("attempt %d: %s is the span %v", i+1, task.GetTraceparent(), attempt)
		}
		failed := attempt.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR
		if failed != (i == 0) || attempt.GetEndTimeUnixNano() < attempt.GetStartTimeUnixNano() {
			t.Errorf("attempt %d: %s", i+1, attempt)
		}
	}
	for _, s := range byID {
		parent := hex.EncodeToString(s.GetParentSpanId())
		if s.GetName() == "task demo/builder" && parent == from[36:52] {
			continue
		}
		if above := byID[parent]; above == nil || above.GetName() != "task demo/builder" ||
			s.GetStartTimeUnixNano() < above.GetStartTimeUnixNano() || s.GetEndTimeUnixNano() > above.GetEndTimeUnixNano() {
			t.Errorf("%s is beneath %v", s, above)
		}
	}
	select {
	case s := <-spans:
		t.Errorf("one more: %s", s)
	default:
	}
}
