package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/shim"
)

// Paths and types of what is told to a collector.
const (
	TracesPath = "/v1/traces"
	Protobuf   = "application/x-protobuf"
)

// Course is how a life went whose start a traced task has waited for. Two spans are made of it beneath that task: the
// life, from its order to its end, and beneath that its program, from where the shim has executed it until nothing of
// it was left. Methods of a nil Course do nothing. It is not safe for concurrent use.
type Course struct {
	parent Parent

	Agent       string // room/role or room/role.2
	ID          uint32 // of the agent
	Incarnation uint64
	Host        string
	Runner      string

	// By the wall clock; zero: it did not come so far. Begun is when the journal and the fork were begun, Ready when
	// the shim took the life up.
	Ordered, Accepted, Begun, Ready, Executed, Ended time.Time

	pid, code int
	signal    string
}

// Parent is a W3C traceparent of version 00 that was sampled.
type Parent struct {
	trace, span []byte
	text        string
}

// ReadParent reads a traceparent; false: nothing is to be said beneath it.
func ReadParent(text string) (p Parent, ok bool) {
	parts := strings.Split(text, "-")
	if len(text) != 55 || len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 ||
		text != strings.ToLower(text) {
		return p, false
	}
	trace, err1 := hex.DecodeString(parts[1])
	span, err2 := hex.DecodeString(parts[2])
	flags, err3 := hex.DecodeString(parts[3])
	if err1 != nil || err2 != nil || err3 != nil || flags[0]&1 == 0 || strings.Trim(parts[1], "0") == "" ||
		strings.Trim(parts[2], "0") == "" {
		return p, false
	}
	return Parent{trace: trace, span: span, text: text}, true
}

// NewCourse begins the course of a life beneath a task.
func NewCourse(p Parent) *Course { return &Course{parent: p} }

// Traceparent is that of the task.
func (c *Course) Traceparent() string { return c.parent.text }

// span is the id of a span of the life: the same whoever asks, and whenever.
func (c *Course) span(what string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "vigil %s %s %q %d %d", what, c.parent.text, c.Agent, c.ID, c.Incarnation))
	return sum[:8]
}

// Program is the traceparent of the program: what it does by itself is beneath it.
func (c *Course) Program() string {
	return fmt.Sprintf("00-%x-%x-01", c.parent.trace, c.span("program"))
}

// Begins notes what a shim says of the start.
func (c *Course) Begins(s shim.Started) {
	if c != nil && !s.Executed.IsZero() {
		c.Ready, c.Executed, c.pid = s.Ready, s.Executed, s.PID
	}
}

// Ends notes what a shim says of the end.
func (c *Course) Ends(e shim.Exit) {
	if c != nil {
		c.Ended, c.code, c.signal = e.At, e.Code, e.Signal
	}
}

// Message is what a collector is told once the life is over: how, by a word, and when that was heard. Nothing in it is
// text of an agent.
func (c *Course) Message(how string, failed bool, now time.Time) ([]byte, error) {
	facts := []*common.KeyValue{word("vigil.agent", c.Agent), number("vigil.incarnation", int64(c.Incarnation)),
		word("vigil.host", c.Host), word("vigil.runner", c.Runner), word("vigil.life.end", how)}
	status := &otlp.Status{}
	if failed {
		status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: how}
	}
	ended := c.Ended
	if ended.IsZero() {
		ended = now
	}
	ended = later(later(ended, c.Executed), c.Ordered)
	spans := []*otlp.Span{{Name: "life " + c.Agent, SpanId: c.span("life"), ParentSpanId: c.parent.span,
		StartTimeUnixNano: nanos(c.Ordered), EndTimeUnixNano: nanos(later(now, ended)), Attributes: facts, Status: status,
		Events: events(c)}}
	if !c.Executed.IsZero() {
		about := []*common.KeyValue{word("vigil.agent", c.Agent), number("vigil.incarnation", int64(c.Incarnation)),
			word("vigil.runner", c.Runner), number("process.pid", int64(c.pid)), number("process.exit.code", int64(c.code))}
		if c.signal != "" {
			about = append(about, word("vigil.signal", c.signal))
		}
		spans = append(spans, &otlp.Span{Name: "program " + c.Runner, SpanId: c.span("program"), ParentSpanId: c.span("life"),
			StartTimeUnixNano: nanos(c.Executed), EndTimeUnixNano: nanos(ended), Attributes: about, Status: status})
	}
	for _, s := range spans {
		s.TraceId, s.Kind = c.parent.trace, otlp.Span_SPAN_KIND_INTERNAL
	}
	return proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{word("service.name", "vigil-agentd"),
			word("service.instance.id", c.Host)}},
		ScopeSpans: []*otlp.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "vigil/agentd/telemetry"},
			Spans: spans}}}}})
}

// events are the steps of a start.
func events(c *Course) (list []*otlp.Span_Event) {
	for _, step := range []struct {
		name string
		at   time.Time
	}{{"accepted", c.Accepted}, {"begun", c.Begun}, {"shim ready", c.Ready}, {"executed", c.Executed}} {
		if !step.at.IsZero() {
			list = append(list, &otlp.Span_Event{Name: step.name, TimeUnixNano: nanos(step.at)})
		}
	}
	return list
}

// later gives the later of two times: the clocks of a machine may be set back between them.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func nanos(t time.Time) uint64 {
	if t.Unix() <= 0 {
		return 0
	}
	return uint64(t.UnixNano())
}

func word(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}
