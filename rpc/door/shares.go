package door

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// share is what one identity may use of one server, so that a credential that was stolen, or a program that
// went mad, takes nothing from the others. Servers and the owner of this one have no bound. Who shows no
// identity shares with all such on the same machine: there may be thousands of agents with their tokens.
type share struct {
	calls int     // under way at once, parked ones and streams among them
	burst float64 // bytes of requests, streams left out, ...
	rate  float64 // ... and how many come back a second
}

const mib = 1 << 20

// Shares by what the identity is of. A host speaks for hundreds of agents at times, each of which has a
// share of its own for what it says through its socket.
var shares = map[who.Kind]share{
	who.Host:     {calls: 8192, burst: 256 * mib, rate: 64 * mib},
	who.User:     {calls: 1024, burst: 128 * mib, rate: 16 * mib},
	who.APIToken: {calls: 1024, burst: 128 * mib, rate: 16 * mib},
	who.Agent:    {calls: 64, burst: 32 * mib, rate: 4 * mib},
	who.Nobody:   {calls: 8192, burst: 32 * mib, rate: mib},
}

// perWrite is what each write of a stranger's batch counts beside its bytes: what the log and the disk have
// of a short one.
const perWrite = 256

// sharer has whom a call is of.
type sharer struct {
	kind  who.Kind
	name  string
	agent string       // full name, with Agent
	from  netip.Prefix // with Nobody; zero: unknown
}

// use is what one identity uses now.
type use struct {
	calls int
	bucket
}

// quotas count what each identity uses. They hold those that do something now or did so within seconds:
// an identity that the state does not know comes not so far, and a machine of strangers is forgotten as
// soon as any other. Safe for concurrent use.
type quotas struct {
	limited *prometheus.CounterVec

	mu   sync.Mutex
	of   map[sharer]*use
	tidy int // how many there may be before the idle ones are let go
}

func newQuotas() *quotas {
	return &quotas{of: map[sharer]*use{}, tidy: 1024, limited: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vigil_rpc_limited_total",
		Help: "Calls refused because their identity uses its whole share of this server, by kind of identity; " +
			"none: their machine.",
	}, []string{"kind"})}
}

// take counts a call of ctx until done; req is nil for a stream. The error says what is used up.
func (q *quotas) take(ctx context.Context, p *who.Principal, req any) (done func(), err error) {
	kind := p.As()
	most, bounded := shares[kind]
	if !bounded {
		return func() {}, nil
	}
	bytes := 0.0
	if m, ok := req.(proto.Message); ok {
		bytes = float64(proto.Size(m))
	}
	key, label := sharer{kind: kind, name: p.Name}, string(kind)
	switch kind {
	case who.Agent:
		key.agent = p.Life.Agent
	case who.Nobody:
		key.from, label = machineOf(remote(ctx)), "none"
		if b, ok := req.(*vigilv1.BatchRequest); ok {
			bytes += perWrite * float64(len(b.GetWrites()))
		}
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.of[key]
	if u == nil {
		q.letGo(now)
		u = &use{bucket: bucket{most.burst, now}}
		q.of[key] = u
	}
	u.fill(now, most.burst, most.rate)
	switch {
	case u.calls >= most.calls:
		q.limited.WithLabelValues(label).Inc()
		return nil, fault.New(code.Unavailable, "%s has %d calls under way at this server, the most that one identity "+
			"may have, or one machine without any; end some, or wait for answers.", p, most.calls)
	case u.tokens < bytes:
		q.limited.WithLabelValues(label).Inc()
		return nil, fault.New(code.Unavailable, "%s has sent more than %d MiB a second to this server, the most that "+
			"one identity may send, or one machine without any; send it again later, or less.", p, int(most.rate/mib))
	}
	u.tokens -= bytes
	u.calls++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		u.calls--
	}, nil
}

// letGo forgets who does nothing and has a whole share again. The caller holds mu.
func (q *quotas) letGo(now time.Time) {
	if len(q.of) < q.tidy {
		return
	}
	for key, u := range q.of {
		most := shares[key.kind]
		if u.fill(now, most.burst, most.rate); u.calls == 0 && u.tokens >= most.burst {
			delete(q.of, key)
		}
	}
	q.tidy = max(1024, 2*len(q.of))
}
