package traces

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"vigil/fsm/noun"
)

const (
	// mostWaiting bounds the spans that wait for the collector, mostAtOnce those of one message.
	mostWaiting, mostAtOnce = 4096, 512
	// gather is how long the first span of a message waits for others.
	gather = time.Second
	// tryLimit bounds one request, sendLimit all tries of a message, lastLimit what is sent at the end.
	tryLimit, sendLimit, lastLimit = 5 * time.Second, 20 * time.Second, 2 * time.Second
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

// Sender brings spans to a collector. What it cannot bring is dropped and counted: a collector that is away or
// hangs holds nothing up.
type Sender struct {
	log      hclog.Logger
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	export   *otlptrace.Exporter
	waiting  chan sdk.ReadOnlySpan

	sent, dropped atomic.Uint64
	told          time.Time // when a failure was logged last
}

// NewSender makes a sender to an address that CheckAddress has found right. Run runs it.
func NewSender(address, server string, log hclog.Logger) (*Sender, error) {
	export, err := otlptracehttp.New(context.Background(), // it dials nothing yet
		otlptracehttp.WithEndpointURL(strings.TrimSuffix(address, "/")+"/v1/traces"), otlptracehttp.WithTimeout(tryLimit),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second,
			MaxInterval: 5 * time.Second, MaxElapsedTime: sendLimit}))
	if err != nil {
		return nil, fmt.Errorf("open exporter of traces: %w", err)
	}
	s := &Sender{log: log, export: export, waiting: make(chan sdk.ReadOnlySpan, mostWaiting)}
	about := resource.NewSchemaless(attribute.String("service.name", "vigil"),
		attribute.String("service.instance.id", server))
	s.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithIDGenerator(givenIDs{}), sdk.WithSpanProcessor(queue{s}))
	s.tracer = s.provider.Tracer("vigil/cluster/traces")
	return s, nil
}

// take has a span sent. It never blocks.
func (s *Sender) take(x span) {
	ctx := context.WithValue(context.Background(), idKey{}, &x)
	if x.parent != (noun.SpanID{}) {
		ctx = trace.ContextWithRemoteSpanContext(ctx, contextOf(&x.of, x.parent))
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(wall(x.begin)), trace.WithSpanKind(trace.SpanKindInternal)}
	for _, f := range x.facts {
		a := attribute.String(f.name, f.word)
		if f.word == "" {
			a = attribute.Int64(f.name, int64(min(f.n, 1<<63-1)))
		}
		options = append(options, trace.WithAttributes(a))
	}
	if x.after != nil {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: contextOf(x.after, x.after.Root())}))
	}
	_, made := s.tracer.Start(ctx, x.name, options...)
	if x.failed {
		made.SetStatus(codes.Error, noun.Clip(x.why, mostWhy))
	}
	made.End(trace.WithTimestamp(wall(x.end)))
}

func wall(w noun.Wall) time.Time { return time.Unix(0, int64(w)) }

func contextOf(of *noun.Spans, id noun.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(of.ID), SpanID: trace.SpanID(id),
		TraceFlags: trace.FlagsSampled, Remote: true})
}

// givenIDs gives spans the ids that follow from what they are about.
type givenIDs struct{}

type idKey struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	x := ctx.Value(idKey{}).(*span) // take alone starts spans
	return trace.TraceID(x.of.ID), trace.SpanID(x.id)
}

func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// queue takes spans that are made.
type queue struct{ s *Sender }

func (queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

func (q queue) OnEnd(made sdk.ReadOnlySpan) {
	select {
	case q.s.waiting <- made:
	default:
		q.s.dropped.Add(1)
	}
}

func (queue) Shutdown(context.Context) error   { return nil }
func (queue) ForceFlush(context.Context) error { return nil }

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
	_ = s.export.Shutdown(last) // nothing is left that it could lose
}

// batch gathers what is sent together; of a ctx that is done, what is there.
func (s *Sender) batch(ctx context.Context) (list []sdk.ReadOnlySpan) {
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

func (s *Sender) bring(ctx context.Context, list []sdk.ReadOnlySpan) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	err := s.export.ExportSpans(ctx, list)
	if err == nil {
		s.sent.Add(uint64(len(list)))
		return
	}
	s.dropped.Add(uint64(len(list)))
	if time.Since(s.told) > time.Minute {
		s.told = time.Now()
		s.log.Warn("spans are dropped: the collector does not take them; look at it, or at otlp in server.yaml",
			"spans", len(list), "error", fmt.Sprintf("%.200q", err.Error()))
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
