package door

import (
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/rpc/door/who"
	"vigil/rpc/fault"
)

// How many refusals are written down: of one caller, and of all together, so many at once and then so
// many a second. The others are counted.
const (
	ownBurst    = 20
	ownRate     = 1
	denialBurst = 100
	denialRate  = 10
	maxDenied   = 1024 // callers that are told apart; the others share what one may have
	deniedLook  = time.Second
)

// denials counts refused calls, and writes some of them to a file of this server. They never go
// into the log of the cluster: strangers could fill it. Safe for concurrent use.
type denials struct {
	count *prometheus.CounterVec

	mu     sync.Mutex
	out    io.Writer // nil: they are counted only
	all    bucket
	of     map[string]*allowance // by caller
	others allowance
	looked time.Time // when of was gone through
}

// allowance is what may still be written of one caller.
type allowance struct {
	bucket
	who     string
	skipped uint64 // since the last line
}

// denial is one line. Nothing of the request is in it but its method. A line with nothing but who and
// skipped says what was left out of a caller who is quiet now.
type denial struct {
	Time    time.Time `json:"time"`
	Method  string    `json:"method,omitempty"`
	Who     string    `json:"who"`
	From    string    `json:"from,omitempty"`
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
	Skipped uint64    `json:"skipped,omitempty"` // refusals of this caller before that were not written
}

func newDenials(out io.Writer) *denials {
	now := time.Now()
	return &denials{out: out, all: bucket{denialBurst, now}, of: map[string]*allowance{},
		others: allowance{bucket: bucket{ownBurst, now}, who: "others"},
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vigil_rpc_denied_total", Help: "Calls refused for who has made them, by method.",
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
	d.tidy(now)
	a := d.allowance(p, from, now)
	if a.fill(now, ownBurst, ownRate); a.tokens < 1 || d.all.tokens < 1 {
		a.skipped++
		return
	}
	a.tokens--
	info := fault.Of(err).Info()
	d.write(&denial{Time: now.UTC(), Method: method, Who: p.String(), From: from,
		Code: info.GetCode(), Message: info.GetMessage(), Skipped: a.skipped})
	a.skipped = 0
}

// allowance finds that of a caller. Callers without an identity are told apart by their machines.
func (d *denials) allowance(p *who.Principal, from string, now time.Time) *allowance {
	name := p.String()
	if p.Kind == who.Nobody {
		host, _, err := net.SplitHostPort(from)
		if err != nil {
			host = from
		}
		name += " from " + host
	}
	a := d.of[name]
	switch {
	case a != nil:
	case len(d.of) >= maxDenied:
		a = &d.others
	default:
		a = &allowance{bucket: bucket{ownBurst, now}, who: name}
		d.of[name] = a
	}
	return a
}

// tidy forgets, now and then, callers who were quiet for long enough, and says what was left out of them.
func (d *denials) tidy(now time.Time) {
	d.all.fill(now, denialBurst, denialRate)
	if now.Sub(d.looked) < deniedLook {
		return
	}
	d.looked = now
	for name, a := range d.of {
		if now.Sub(a.at) < ownBurst/ownRate*time.Second {
			continue
		}
		if a.skipped > 0 {
			if d.all.tokens < 1 {
				continue // next time
			}
			d.write(&denial{Time: now.UTC(), Who: a.who, Skipped: a.skipped})
		}
		delete(d.of, name)
	}
}

func (d *denials) write(line *denial) {
	d.all.tokens--
	b, err := json.Marshal(line)
	if err != nil {
		return // plain texts and numbers: it cannot fail
	}
	_, _ = d.out.Write(append(b, '\n')) // a full disk must not keep anybody from being refused
}
