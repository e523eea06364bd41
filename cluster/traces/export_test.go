package traces

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// answers is a collector that answers one after the other, and the last one for ever.
type answers struct {
	list  []func() (*http.Response, error)
	asked int
	last  *http.Request
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	at := min(a.asked, len(a.list)-1)
	a.asked++
	return a.list[at]()
}

func says(status int, body []byte) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status),
			Body: io.NopCloser(bytes.NewReader(body))}, nil
	}
}

func gone() (*http.Response, error) { return nil, errors.New("nobody there") }

// What a collector takes, refuses in part or not at all is counted, and one that is busy or away is asked
// again for a while.
func TestEverySpanIsSentOrCounted(t *testing.T) {
	some, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{
		RejectedSpans: 2, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	many, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{
		RejectedSpans: 1 << 60}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		answers       []func() (*http.Response, error)
		sent, dropped uint64
		asked         int // tries in the time for one message: at 0, 1, 3, 7, 15 s
	}{
		"taken":           {[]func() (*http.Response, error){says(200, nil)}, 3, 0, 1},
		"busy, then away": {[]func() (*http.Response, error){says(503, nil), gone, says(200, nil)}, 3, 0, 3},
		"away for ever":   {[]func() (*http.Response, error){gone}, 0, 3, 5},
		"refused":         {[]func() (*http.Response, error){says(400, nil)}, 0, 3, 1},
		"elsewhere":       {[]func() (*http.Response, error){says(302, nil)}, 0, 3, 1},
		"refused in part": {[]func() (*http.Response, error){says(200, some)}, 1, 2, 1},
		"counts wrong":    {[]func() (*http.Response, error){says(200, many)}, 0, 3, 1},
		"babbles":         {[]func() (*http.Response, error){says(200, []byte("<html>"))}, 3, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := NewSender("http://c.example/", "s1", hclog.NewNullLogger())
			if err != nil {
				t.Fatal(err)
			}
			c := &answers{list: tt.answers}
			s.client.Transport = c
			for n := range uint64(3) {
				s.take(spanFor(n))
			}
			s.bring(t.Context(), s.batch(t.Context()))
			if s.sent.Load() != tt.sent || s.dropped.Load() != tt.dropped || c.asked != tt.asked {
				t.Errorf("%s: %d sent, %d dropped, asked %d times", name, s.sent.Load(), s.dropped.Load(), c.asked)
			}
			if got := c.last.URL.String(); got != "http://c.example/v1/traces" {
				t.Errorf("%s: sent to %s", name, got)
			}
		})
	}
}

func TestHeadersForTheCollector(t *testing.T) {
	t.Setenv(headersVar, "authorization=Bearer%20a%2Cb, x-tenant = 7 ,")
	s, err := NewSender("http://c.example", "s1", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if h := s.headers; h.Get("Authorization") != "Bearer a,b" || h.Get("X-Tenant") != "7" ||
		h.Get("Content-Type") != "application/x-protobuf" || len(h) != 3 {
		t.Errorf("headers %v", h)
	}
	for _, wrong := range []string{"secret", "=secret", "a=%zzsecret", "a=b,secret"} {
		t.Setenv(headersVar, wrong)
		if _, err := NewSender("http://c.example", "s1", hclog.NewNullLogger()); err == nil ||
			!strings.Contains(err.Error(), headersVar) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
