package door

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/rpc/door/who"
	"vigil/rpc/fault"
)

// How many refusals are written down: so many at once, and then so many a second. The others are
// counted.
const (
	denialBurst = 100
	denialRate  = 10
)

// denials counts refused calls, and writes some of them to a file of this server. They never go
// into the log of the cluster: strangers could fill it. Safe for concurrent use.
type denials struct {
	count *prometheus.CounterVec

	mu      sync.Mutex
	out     io.Writer // nil: they are counted only
	tokens  float64
	at      time.Time // when tokens was right
	skipped uint64    // since the last line
}

// denial is one line. Nothing of the request is in it but its method.
type denial struct {
	Time    time.Time `json:"time"`
	Method  string    `json:"method"`
	Who     string    `json:"who"`
	From    string    `json:"from,omitempty"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Skipped uint64    `json:"skipped,omitempty"` // refusals before this one that were not written
}

func newDenials(out io.Writer) *denials {
	return &denials{out: out, tokens: denialBurst, at: time.Now(), count: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vigil_denied_total", Help: "Calls refused for who has made them, by method.",
	}, []string{"method"})}
}

// note counts a refusal; method is one that the server knows, so that strangers make up no names.
func (d *denials) note(method string, p *who.Principal, from string, err error) {
	d.count.WithLabelValues(method).Inc()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out == nil {
		return
	}
	now := time.Now()
	d.tokens = min(denialBurst, d.tokens+denialRate*now.Sub(d.at).Seconds())
	d.at = now
	if d.tokens < 1 {
		d.skipped++
		return
	}
	d.tokens--
	info := fault.Of(err).Info()
	line, err := json.Marshal(denial{Time: now.UTC(), Method: method, Who: p.String(), From: from,
		Code: info.GetCode(), Message: info.GetMessage(), Skipped: d.skipped})
	if err != nil {
		return // plain texts and numbers: it cannot fail
	}
	d.skipped = 0
	_, _ = d.out.Write(append(line, '\n')) // a full disk must not keep anybody from being refused
}
