package traces

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"vigil/fsm/noun"
)

const (
	// mostWaiting bounds the spans that wait for the collector, mostAtOnce those of one message.
	mostWaiting, mostAtOnce = 4096, 512
	// gather is how long the first span of a message waits for others.
	gather = time.Second
	// tryLimit bounds one request, sendLimit all tries of a message, lastLimit what is sent at the end;
	// firstPause is before the second try, and doubles.
	tryLimit, sendLimit, lastLimit = 5 * time.Second, 20 * time.Second, 2 * time.Second
	firstPause                     = time.Second
	// mostAnswer bounds what is read of an answer, in bytes.
	mostAnswer = 64 << 10
	// mostWhy bounds a sentence in a span, in bytes.
	mostWhy = 256
)

// CheckAddress tells what is wrong with the address of a collector.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want an address such as http://127.0.0.1:4318, to which /v1/traces is appended")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("want an address without user, query and fragment; headers go into OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// headersVar names the environment variable with headers for the collector, such as a token.
const headersVar = "OTEL_EXPORTER_OTLP_HEADERS"

// readHeaders reads name=value,name=value, with values escaped as in addresses. No value is in its error.
func readHeaders(text string) (http.Header, error) {
	h := http.Header{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%s: want name=value,name=value, with %%2C for a comma in a value", headersVar)
		}
		h.Add(name, value)
	}
	return h, nil
}

// Sender brings spans to a collector. What it cannot bring is dropped and counted: a collector that is away or
// hangs holds nothing up.
type Sender struct {
	log     hclog.Logger
	address string
	headers http.Header
	client  *http.Client
	about   *resource.Resource
	waiting chan *otlp.Span

	sent, dropped atomic.Uint64
	told          time.Time // when a failure was logged last
}

// NewSender makes a sender to an address that CheckAddress has found right. Run runs it.
func NewSender(address, server string, log hclog.Logger) (*Sender, error) {
	headers, err := readHeaders(os.Getenv(headersVar))
	if err != nil {
		return nil, err
	}
	headers.Set("Content-Type", "application/x-protobuf")
	return &Sender{log: log, address: strings.TrimSuffix(address, "/") + "/v1/traces", headers: headers,
		client: &http.Client{Timeout: tryLimit, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		about: &resource.Resource{Attributes: []*common.KeyValue{word("service.name", "vigil"),
			word("service.instance.id", server)}},
		waiting: make(chan *otlp.Span, mostWaiting)}, nil
}

// take has a span sent. It never blocks.
func (s *Sender) take(x span) {
	select {
	case s.waiting <- x.otlp():
	default:
		s.dropped.Add(1)
	}
}

// otlp is the span as OpenTelemetry has it.
func (x *span) otlp() *otlp.Span {
	o := &otlp.Span{TraceId: x.of.ID[:], SpanId: x.id[:], Flags: sampled, Name: x.name,
		Kind: otlp.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: uint64(x.begin), EndTimeUnixNano: uint64(x.end)}
	if x.parent != (noun.SpanID{}) {
		o.ParentSpanId = x.parent[:]
	}
	for _, f := range x.facts {
		if f.word != "" {
			o.Attributes = append(o.Attributes, word(f.name, f.word))
			continue
		}
		o.Attributes = append(o.Attributes, &common.KeyValue{Key: f.name, Value: &common.AnyValue{
			Value: &common.AnyValue_IntValue{IntValue: int64(min(f.n, 1<<63-1))}}})
	}
	if x.after != nil {
		root := x.after.Root()
		o.Links = []*otlp.Span_Link{{TraceId: x.after.ID[:], SpanId: root[:], Flags: sampled}}
	}
	if x.failed {
		o.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: noun.Clip(x.why, mostWhy)}
	}
	return o
}

// sampled is the flag of W3C for it: no other spans are made.
const sampled = 1

func word(name, text string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{
		StringValue: strings.ToValidUTF8(text, "?")}}}
}

// Run sends until ctx ends, and then what is left, in a short while.
func (s *Sender) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.bring(ctx, s.batch(ctx))
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLimit)
	defer cancel()
	for len(s.waiting) > 0 && last.Err() == nil {
		s.bring(last, s.batch(ctx))
	}
	s.dropped.Add(uint64(len(s.waiting)))
	s.client.CloseIdleConnections()
}

// batch gathers what is sent together; of a ctx that is done, what is there.
func (s *Sender) batch(ctx context.Context) (list []*otlp.Span) {
	var over <-chan time.Time
	for len(list) < mostAtOnce {
		select {
		case x := <-s.waiting:
			list = append(list, x)
			continue
		default:
		}
		if over == nil && len(list) > 0 {
			over = time.After(gather)
		}
		select {
		case x := <-s.waiting:
			list = append(list, x)
		case <-over:
			return list
		case <-ctx.Done():
			return list
		}
	}
	return list
}

func (s *Sender) bring(ctx context.Context, list []*otlp.Span) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	refused, err := s.export(ctx, list)
	s.sent.Add(uint64(len(list) - refused))
	s.dropped.Add(uint64(refused))
	if err != nil && time.Since(s.told) > time.Minute {
		s.told = time.Now()
		s.log.Warn("spans are dropped: the collector does not take them; look at it, or at otlp in server.yaml",
			"spans", refused, "error", fmt.Sprintf("%.200q", err.Error()))
	}
}

var (
	sentDesc = prometheus.NewDesc("vigil_trace_spans_sent_total", "Spans of tasks that the collector has taken.", nil, nil)
	dropDesc = prometheus.NewDesc("vigil_trace_spans_dropped_total",
		"Spans of tasks that were dropped, since too many waited or the collector did not take them.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Sender) Describe(ch chan<- *prometheus.Desc) { ch <- sentDesc; ch <- dropDesc }

// Collect implements prometheus.Collector.
func (s *Sender) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(sentDesc, prometheus.CounterValue, float64(s.sent.Load()))
	ch <- prometheus.MustNewConstMetric(dropDesc, prometheus.CounterValue, float64(s.dropped.Load()))
}
