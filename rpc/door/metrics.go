package door

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/rpc/code"
)

// metrics counts calls. The vectors are resolved once for each method and code, with the first
// such call, so that a call costs two atomic additions and what nobody calls takes no line.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec

	forwarded prometheus.Counter
}

// methodStats are the figures of one method.
type methodStats struct {
	name   string
	m      *metrics
	parked bool // answered when its caller likes: how long it took says nothing of the server

	first   sync.Once
	seconds prometheus.Observer
	ok      prometheus.Counter

	mu     sync.RWMutex
	failed map[string]prometheus.Counter // by code
}

func newMetrics() *metrics {
	return &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vigil_rpc_calls_total", Help: "Calls answered, by method and code of the answer.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vigil_rpc_duration_seconds",
			Help:    "Time from a call's arrival to its answer, by method; streams and waits are left out.",
			Buckets: []float64{.001, .005, .025, .25, 2.5},
		}, []string{"method"}),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "vigil_rpc_forwarded_total", Help: "Calls sent on to the leader, each try counted.",
		}),
	}
}

func (m *metrics) method(name string, parked bool) *methodStats {
	return &methodStats{name: name, m: m, parked: parked, failed: map[string]prometheus.Counter{}}
}

// count notes one answer, by its code.
func (s *methodStats) count(answer string, seconds float64) {
	s.first.Do(func() {
		s.ok = s.m.calls.WithLabelValues(s.name, "ok")
		if !s.parked {
			s.seconds = s.m.seconds.WithLabelValues(s.name)
		}
		s.failures(code.Internal) // at 0: an alert on its increase would not see the first one otherwise
	})
	if !s.parked {
		s.seconds.Observe(seconds)
	}
	if answer == "ok" {
		s.ok.Inc()
		return
	}
	s.failures(answer).Inc()
}

func (s *methodStats) failures(answer string) prometheus.Counter {
	s.mu.RLock()
	c := s.failed[answer]
	s.mu.RUnlock()
	if c == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c = s.failed[answer]; c == nil {
			c = s.m.calls.WithLabelValues(s.name, answer)
			s.failed[answer] = c
		}
	}
	return c
}
