package agentd

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// inTrace is an order for which a traced task waits.
func inTrace(o *vigilv1.Order, flags string) *vigilv1.Order {
	o.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + flags
	return o
}

// collected gives the address of a collector and what it hears, a list for each message.
func collected(t *testing.T) (address string, heard <-chan []*otlp.Span) {
	t.Helper()
	got := make(chan []*otlp.Span, 16)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &m)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got <- m.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func attribute(s *otlp.Span, key string) string {
	for _, kv := range s.GetAttributes() {
		if kv.GetKey() == key {
			return kv.GetValue().String()
		}
	}
	return ""
}

// The collector of a host hears of each life for which a traced task waited, once, when it is over: when the order
// came, what the shim says of the program, and how it ended. Of lives for which none did, or whose trace nobody
// keeps, it hears nothing.
func TestLivesAreToldToTheCollector(t *testing.T) {
	address, heard := collected(t)
	r, p := newPuppetRig(t, false, func(c *Config) {
		c.TelemetryForward = address
		tells := c.Runners[0]
		tells.Name, tells.Telemetry = "tells", true
		c.Runners = append(c.Runners, tells)
	})
	r.stream.orders(t, order("start", 1, 2, "sleep"), inTrace(order("start", 2, 2, "sleep"), "00"),
		inTrace(order("start", 3, 2, "tells"), "01"))
	lives := map[uint32]*puppet{}
	for range 3 {
		one := next(t, p.started)
		lives[one.spec.Mark.Agent] = one
		next(t, r.starts)
	}
	at := time.Now().Add(time.Second).Truncate(0)
	for agent, one := range lives {
		one.exit <- shim.Exit{Code: 3, Tail: "hush", Reason: "hush", At: at}
		if report := next(t, r.exits); report.GetAgent() != agent {
			t.Errorf("the end of %d was reported, not %d", report.GetAgent(), agent)
		}
	}
	spans := next(t, heard)
	if len(spans) != 1 || spans[0].GetName() != "life demo/r3" ||
		hex.EncodeToString(spans[0].GetParentSpanId()) != "00f067aa0ba902b7" ||
		hex.EncodeToString(spans[0].GetTraceId()) != "4bf92f3577b34da6a3ce929d0e0e4736" ||
		attribute(spans[0], "vigil.life.end") != `string_value:"crash"` ||
		spans[0].GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || strings.Contains(spans[0].String(), "hush") {
		t.Errorf("the collector heard %v", spans)
	}
	none(t, heard, "the collector heard of another life")
	for agent, one := range lives {
		told := slices.ContainsFunc(one.spec.Env, func(v string) bool { return strings.HasPrefix(v, "TRACEPARENT=") })
		if told != (agent == 3) {
			t.Errorf("agent %d is told a trace: %v", agent, told)
		}
	}
}

// A life that goes on under the next agentd is told by that one, as it began: its journal keeps the trace.
func TestLivesOfAnEarlierDaemonAreTold(t *testing.T) {
	address, heard := collected(t)
	h := newHost(t)
	h.spec.Forward = address
	d := h.start(t)
	next(t, h.streams).orders(t, inTrace(order("start", 1, 3, "tells"), "01"))
	env := environment(t, next(t, h.agents))
	d.kill(t)
	found, err := (disk.Journal{Dir: filepath.Join(h.spec.Dir, "lives")}).List()
	if err != nil || len(found) != 1 || found[0].Intent.Traced == nil {
		t.Fatalf("%v: the journal holds %+v", err, found)
	}
	drained(h.streams)
	d = h.start(t)
	next(t, h.streams).orders(t, order("stop", 1, 3, ""))
	spans := next(t, heard)
	if len(spans) != 2 || spans[1].GetName() != "program tells" {
		t.Fatalf("the collector heard %v", spans)
	}
	life, program := spans[0], spans[1]
	begun := found[0].Intent.Traced
	if int64(life.GetStartTimeUnixNano()) != begun.Ordered.UnixNano() || len(life.GetEvents()) != 4 ||
		!bytes.Equal(program.GetParentSpanId(), life.GetSpanId()) ||
		program.GetStartTimeUnixNano() < life.GetEvents()[2].GetTimeUnixNano() ||
		program.GetEndTimeUnixNano() > life.GetEndTimeUnixNano() {
		t.Errorf("the life is %v, its program %v", life, program)
	}
	want := "00-4bf92f3577b34da6a3ce929d0e0e4736-" + hex.EncodeToString(program.GetSpanId()) + "-01"
	if env["TRACEPARENT"] != want {
		t.Errorf("the program was told %q, it is %q", env["TRACEPARENT"], want)
	}
	d.kill(t)
	h.clear(t)
}
