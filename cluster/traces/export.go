package traces

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// export brings spans to the collector, by OTLP over HTTP. It tries again until ctx ends while the collector is
// away or busy. refused are the spans that it did not take, with an error if there are any.
func (s *Sender) export(ctx context.Context, list []*otlp.Span) (refused int, err error) {
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource: s.about, ScopeSpans: []*otlp.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: "vigil/cluster/traces"}, Spans: list}}}}})
	if err != nil {
		return len(list), fmt.Errorf("write spans: %w", err)
	}
	for pause := firstPause; ; pause *= 2 {
		again, refused, err := s.post(ctx, body)
		switch {
		case err == nil:
			return 0, nil
		case refused > 0:
			return min(refused, len(list)), err
		case !again:
			return len(list), err
		}
		select {
		case <-ctx.Done():
			return len(list), err
		case <-time.After(pause):
		}
	}
}

// post sends one message. With an error: whether another try may help, and else how many spans of it were
// refused; 0: all.
func (s *Sender) post(ctx context.Context, body []byte) (again bool, refused int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header = s.headers.Clone()
	res, err := s.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, 0, err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, mostAnswer)) // what is missing tells nothing of spans
	if res.StatusCode/100 == 2 {
		var answer collector.ExportTraceServiceResponse
		if proto.Unmarshal(text, &answer) != nil || answer.GetPartialSuccess().GetRejectedSpans() <= 0 {
			return false, 0, nil
		}
		p := answer.GetPartialSuccess()
		return false, int(min(p.GetRejectedSpans(), mostAtOnce)),
			fmt.Errorf("the collector refuses some: %s", p.GetErrorMessage())
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, 0, fmt.Errorf("the collector answered %s", res.Status)
}
