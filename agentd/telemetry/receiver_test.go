package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/local"
)

const key = "0123456789abcdef0123456789abcdef"

var life = local.Life{Agent: 7, Incarnation: 3}

// bench is a receiver with one life, and a clock that the test moves.
type bench struct {
	*Receiver
	now      time.Time
	outcomes map[string]int
}

func newBench(adopted bool) *bench {
	b := &bench{now: time.Unix(1_800_000_000, 0), outcomes: map[string]int{}}
	b.Receiver = NewReceiver(Config{Key: key, LifeOf: func(*http.Request) local.Life { return life },
		Now: func() time.Time { return b.now }, Count: func(o string) { b.outcomes[o]++ }})
	b.Begin(life, adopted)
	return b
}

// post sends a body and gives the status of the answer.
func (b *bench) post(path, kind, encoding, token string, body []byte) int {
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Content-Encoding", encoding)
	req.Header.Set(Header, token)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, req)
	return w.Code
}

// send sends a message as most tools do.
func (b *bench) send(t *testing.T, m proto.Message) {
	t.Helper()
	path := "/v1/metrics"
	if _, ok := m.(*collogs.ExportLogsServiceRequest); ok {
		path = "/v1/logs"
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if code := b.post(path, "application/x-protobuf", "", Token(key, life), body); code != http.StatusOK {
		t.Fatalf("a message was answered with %d", code)
	}
	b.now = b.now.Add(time.Second)
}

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key,
		Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// counter is a message with one point of a counter.
func counter(name string, cumulative bool, start, at uint64, value float64, attributes ...string,
) *colmetrics.ExportMetricsServiceRequest {
	how := metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	if cumulative {
		how = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	}
	p := &metrics.NumberDataPoint{StartTimeUnixNano: start, TimeUnixNano: at,
		Value: &metrics.NumberDataPoint_AsDouble{AsDouble: value}}
	for i := 0; i < len(attributes); i += 2 {
		p.Attributes = append(p.Attributes, attribute(attributes[i], attributes[i+1]))
	}
	return &colmetrics.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", "tool")}},
		ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{{Name: name,
			Data: &metrics.Metric_Sum{Sum: &metrics.Sum{AggregationTemporality: how, IsMonotonic: true,
				DataPoints: []*metrics.NumberDataPoint{p}}}}}}}}}}
}

// event is a message with one event.
func event(body string, at uint64, attributes ...string) *collogs.ExportLogsServiceRequest {
	e := &logs.LogRecord{TimeUnixNano: at,
		Body: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: body}}}
	for i := 0; i < len(attributes); i += 2 {
		e.Attributes = append(e.Attributes, attribute(attributes[i], attributes[i+1]))
	}
	return &collogs.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		ScopeLogs: []*logs.ScopeLogs{{LogRecords: []*logs.LogRecord{e}}}}}}
}

func (b *bench) want(t *testing.T, input, output, cache, micro, uses uint64) {
	t.Helper()
	u := b.Total(life)
	if u.Input != input || u.Output != output || u.Cache != cache || u.MicroUSD != micro || u.Uses() != uses {
		t.Errorf("total %+v, want input %d, output %d, cache %d, %d micro-dollars, %d uses", u, input, output, cache,
			micro, uses)
	}
}

func TestClaudeCodeIsUnderstood(t *testing.T) {
	b := newBench(false)
	for i, part := range []struct {
		kind  string
		value float64
	}{{"input", 100}, {"output", 20}, {"cacheRead", 5000}, {"cacheCreation", 7}, {"strange", 9}} {
		b.send(t, counter("claude_code.token.usage", false, 1, uint64(i+2), part.value, "type", part.kind, "model", "m"))
	}
	b.send(t, counter("claude_code.cost.usage", false, 1, 9, 0.25))
	b.send(t, event("claude_code.tool_result", 1, "event.name", "tool_result", "tool_name", "Bash"))
	b.send(t, event("claude_code.tool_result", 2, "event.name", "tool_result", "tool_name", "mcp__files__read"))
	b.send(t, event("claude_code.api_request", 3, "event.name", "api_request", "input_tokens", "5"))
	b.want(t, 107, 20, 5000, 250_000, 2)
	if u := b.Total(life); u.Tools[ToolShell] != 1 || u.Tools[ToolMCP] != 1 {
		t.Errorf("uses of tools %v", u.Tools)
	}
}

func TestCodexIsUnderstood(t *testing.T) {
	b := newBench(false)
	b.send(t, event("", 1, "event.name", "codex.sse_event", "event.kind", "response.completed",
		"input_token_count", "1000", "output_token_count", "30", "cached_token_count", "900"))
	b.send(t, event("", 2, "event.name", "codex.sse_event", "event.kind", "response.created",
		"input_token_count", "1000"))
	b.send(t, event("", 3, "event.name", "codex.tool_result", "tool_name", "exec_command"))
	b.want(t, 100, 30, 900, 0, 1)
}

func TestGeminiIsUnderstoodAndTheConventionsBesideItCountNothingTwice(t *testing.T) {
	b := newBench(false)
	for step := 1; step <= 2; step++ { // cumulative, so that only what was added counts
		at := uint64(step) + 10
		b.send(t, counter("gemini_cli.token.usage", true, 5, at, 100*float64(step), "type", "input"))
		b.send(t, counter("gemini_cli.token.usage", true, 5, at, 80*float64(step), "type", "cache"))
		b.send(t, counter("gemini_cli.token.usage", true, 5, at, 10*float64(step), "type", "thought"))
		b.send(t, counter("gemini_cli.tool.call.count", true, 5, at, float64(step), "function_name", "read_file"))
		b.send(t, counter("gen_ai.client.token.usage", true, 5, at, 100*float64(step), "gen_ai.token.type", "input"))
	}
	b.want(t, 40, 20, 160, 0, 2) // its input holds what was read from the cache
}

func TestConventionsAreUnderstood(t *testing.T) {
	b := newBench(false)
	b.send(t, counter("gen_ai.client.token.usage", false, 1, 2, 40, "gen_ai.token.type", "input"))
	b.send(t, counter("gen_ai.client.token.usage", false, 1, 3, 4, "gen_ai.token.type", "output"))
	b.want(t, 40, 4, 0, 0, 0)
}

func TestProgramsOfTheSDKsAreUnderstood(t *testing.T) {
	b := newBench(false)
	b.send(t, counter("vigil.usage.tokens", false, 1, 2, 40, "type", "input"))
	b.send(t, counter("vigil.usage.tokens", false, 1, 3, 4, "type", "output"))
	b.send(t, counter("vigil.usage.cost", false, 1, 4, 0.25, "type", ""))
	b.want(t, 40, 4, 0, 250_000, 0)
}

func TestNothingCountsTwice(t *testing.T) {
	t.Run("a repeated message", func(t *testing.T) {
		b := newBench(false)
		m := counter("claude_code.token.usage", false, 1, 2, 5, "type", "output")
		b.send(t, m)
		b.send(t, m)
		b.want(t, 0, 5, 0, 0, 0)
		if b.outcomes["repeated"] != 1 || b.outcomes["taken"] != 1 {
			t.Errorf("outcomes %v", b.outcomes)
		}
	})
	t.Run("a series that begins anew", func(t *testing.T) {
		b := newBench(false)
		b.send(t, counter("claude_code.token.usage", true, 1, 2, 50, "type", "output"))
		b.send(t, counter("claude_code.token.usage", true, 3, 4, 8, "type", "output")) // the tool was started again
		b.send(t, counter("claude_code.token.usage", true, 3, 5, 9, "type", "output"))
		b.send(t, counter("claude_code.token.usage", true, 3, 6, 2, "type", "output")) // and a counter that falls
		b.want(t, 0, 59, 0, 0, 0)
	})
	t.Run("what an earlier agentd has counted", func(t *testing.T) {
		b := newBench(true)
		b.send(t, counter("claude_code.token.usage", true, 1, 2, 50, "type", "output"))
		b.send(t, counter("claude_code.token.usage", true, 1, 3, 57, "type", "output"))
		later := uint64(b.now.UnixNano())
		b.send(t, counter("claude_code.token.usage", true, later, later+1, 3, "type", "output"))
		b.want(t, 0, 10, 0, 0, 0)
	})
}

func TestHostileNumbersCountNothing(t *testing.T) {
	b := newBench(false)
	nan := 0.0
	nan /= nan
	for i, value := range []float64{-5, nan, 1 / (nan*0 + 1e-320), 1e300, 2e12} {
		b.send(t, counter("claude_code.token.usage", false, 1, uint64(i), value, "type", "output"))
		b.send(t, counter("claude_code.token.usage", true, 1, uint64(i), value, "type", "output"))
	}
	b.want(t, 0, 0, 0, 0, 0)
}

func TestSeriesOfALifeAreBounded(t *testing.T) {
	m := newMeter(time.Time{})
	for i := range maxSeries + 10 {
		m.metrics(counter("claude_code.token.usage", true, uint64(i+1), 1, 1, "type", "output"))
	}
	m.counted = m.sums
	if u := m.total(); u.Output != maxSeries || len(m.series) != maxSeries {
		t.Errorf("%d tokens of %d series", u.Output, len(m.series))
	}
}

// large is a message of that many points, of a resource of that many attributes.
func large(points, attributes int) *colmetrics.ExportMetricsServiceRequest {
	m := counter("claude_code.cost.usage", true, 1, 2, 1)
	r := m.ResourceMetrics[0]
	r.Resource.Attributes = nil
	for range attributes {
		r.Resource.Attributes = append(r.Resource.Attributes, &common.KeyValue{})
	}
	sum := r.ScopeMetrics[0].Metrics[0].GetSum()
	for len(sum.DataPoints) < points {
		sum.DataPoints = append(sum.DataPoints, sum.DataPoints[0])
	}
	return m
}

// What tells a resource from others is written once a message, not with every point of it, and neither has more
// than a bound: an agent could have its host reckon for hours.
func TestOneMessageIsCountedInBoundedWork(t *testing.T) {
	m := newMeter(time.Time{})
	const points = 200
	few := testing.AllocsPerRun(3, func() { m.metrics(large(points, 1)) })
	many := testing.AllocsPerRun(3, func() { m.metrics(large(points, maxAttributes)) })
	if most := few + 10*maxAttributes; many > most {
		t.Errorf("%.0f allocations with %d attributes, %.0f with one", many, maxAttributes, few)
	}
	for name, tt := range map[string]struct{ points, attributes, left int }{
		"at the bounds":         {maxPoints, maxAttributes, 0},
		"a point too many":      {maxPoints + 1, 1, 1},
		"an attribute too many": {3, maxAttributes + 1, 3},
	} {
		if left := newMeter(time.Time{}).metrics(large(tt.points, tt.attributes)); left != tt.left {
			t.Errorf("%s: %d points were left out, want %d", name, left, tt.left)
		}
	}
	of := large(1, 1)
	p := of.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints[0]
	p.Attributes = make([]*common.KeyValue, maxAttributes+1)
	if left := newMeter(time.Time{}).metrics(of); left != 1 {
		t.Errorf("a point with too many attributes: %d were left out", left)
	}
	b := newBench(false)
	b.send(t, large(maxPoints+1, 1))
	if b.want(t, 0, 0, 0, 1_000_000, 0); b.outcomes["series_left_out"] != 1 || b.outcomes["taken"] != 1 {
		t.Errorf("outcomes %v", b.outcomes)
	}
}

// The beats of a host ask for totals: they do not wait for a message that is counted.
func TestTotalsWaitForNoMessage(t *testing.T) {
	b := newBench(false)
	b.send(t, counter("claude_code.token.usage", false, 1, 2, 5, "type", "output"))
	counting, goOn := make(chan struct{}), make(chan struct{})
	b.config.Count = func(string) {
		close(counting)
		<-goOn
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		b.count(life, counter("claude_code.token.usage", false, 1, 3, 6, "type", "output"), [32]byte{1})
	}()
	<-counting
	total := make(chan Usage, 1)
	go func() { total <- b.Total(life) }()
	select {
	case u := <-total:
		if u.Output < 5 {
			t.Errorf("total %+v", u)
		}
	case <-time.After(time.Minute):
		t.Error("the total waits for a message")
	}
	close(goOn)
	<-sent
	b.want(t, 0, 11, 0, 0, 0)
}

func TestWhoMaySendAndHowMuch(t *testing.T) {
	token := Token(key, life)
	body, err := proto.Marshal(counter("claude_code.token.usage", false, 1, 2, 5, "type", "output"))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := protojson.Marshal(counter("claude_code.token.usage", false, 1, 3, 6, "type", "output"))
	if err != nil {
		t.Fatal(err)
	}
	pack := func(body []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			t.Fatal("gzip")
		}
		return b.Bytes()
	}
	const binary, text = "application/x-protobuf", "application/json; charset=utf-8"
	for _, c := range []struct {
		name, path, kind, encoding, token string
		body                              []byte
		code                              int
	}{
		{"protobuf", "/v1/metrics", binary, "", token, body, 200},
		{"json, gzip", "/v1/metrics", text, "gzip", token, pack(asJSON), 200},
		{"traces, which are only passed on", "/v1/traces", binary, "", token, nil, 200},
		{"no token", "/v1/metrics", binary, "", "", body, 401},
		{"the token of another life", "/v1/metrics", binary, "", Token(key, local.Life{Agent: 7, Incarnation: 2}),
			body, 401},
		{"another path", "/v1/agents", binary, "", token, body, 404},
		{"no OTLP", "/v1/metrics", binary, "", token, []byte("\xff\xff\xff"), 400},
		{"no gzip", "/v1/metrics", binary, "gzip", token, body, 400},
		{"another encoding", "/v1/metrics", binary, "br", token, body, 400},
		{"another form", "/v1/metrics", "text/plain", "", token, body, 400},
		{"too large", "/v1/metrics", binary, "", token, make([]byte, MaxBody+1), 413},
		{"too large when unpacked", "/v1/metrics", binary, "gzip", token, pack(make([]byte, MaxBody+1)), 413},
		{"deeply nested", "/v1/logs", text, "", token, []byte(strings.Repeat(`{"resourceLogs":[`, 10000)), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(false)
			if code := b.post(c.path, c.kind, c.encoding, c.token, c.body); code != c.code {
				t.Errorf("answered with %d, want %d", code, c.code)
			}
			if counted := b.Total(life).Output > 0; counted != (c.code == 200 && c.path == "/v1/metrics") {
				t.Errorf("counted: %v", counted)
			}
		})
	}
}

func TestALifeMaySendSoMuchAtOnceAndLaterAgain(t *testing.T) {
	b := newBench(false)
	taken := 0
	for range 3 * burst {
		if b.post("/v1/traces", "application/x-protobuf", "", Token(key, life), nil) == 200 {
			taken++
		}
	}
	b.now = b.now.Add(time.Second)
	if code := b.post("/v1/traces", "application/x-protobuf", "",
		Token(key, life), nil); taken != burst || code != 200 {
		t.Errorf("%d of %d taken at once, and %d a second later", taken, burst, code)
	}
}

func TestForwardedToACollectorThatMayBeAway(t *testing.T) {
	got := make(chan string, 10)
	answer := http.StatusOK
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answer)
		got <- r.URL.Path + " " + r.Header.Get("Content-Type")
	}))
	defer collector.Close()
	dropped := make(chan error, 10)
	f := NewForwarder(collector.URL+"/", func(err error) { dropped <- err })
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { f.Run(ctx) })
	f.Forward("/v1/logs", "application/json", []byte("{}"))
	if at := <-got; at != "/v1/logs application/json" {
		t.Errorf("the collector got %s", at)
	}
	answer = http.StatusServiceUnavailable
	f.Forward("/v1/logs", "application/json", []byte("{}"))
	<-got
	if err := <-dropped; err == nil {
		t.Error("nothing was said of a message that is lost")
	}
	cancel()
	work.Wait()
	for range maxWaiting + 1 { // nobody delivers any more
		f.Forward("/v1/logs", "application/json", nil)
	}
	if err := <-dropped; !strings.Contains(err.Error(), "too much waits") {
		t.Error(errors.Join(errors.New("not bounded"), err))
	}
}

func FuzzMessages(f *testing.F) {
	for _, m := range []proto.Message{counter("claude_code.token.usage", true, 1, 2, 5, "type", "output"),
		event("codex.sse_event", 1, "event.kind", "response.completed", "input_token_count", "1e400")} {
		body, err := proto.Marshal(m)
		text, err2 := protojson.Marshal(m)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		f.Add(body, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, text bool) {
		kind := "application/x-protobuf"
		if text {
			kind = "application/json"
		}
		b := newBench(false)
		for _, path := range []string{"/v1/metrics", "/v1/logs", "/v1/traces"} {
			before := b.Total(life)
			b.post(path, kind, "", Token(key, life), body)
			after := b.Total(life)
			if after.Input < before.Input || after.Output < before.Output || after.Cache < before.Cache ||
				after.MicroUSD > maxPoint*1e6 || after.Input > 1e15 {
				t.Fatalf("%s made of %+v %+v", path, before, after)
			}
		}
	})
}
