package desk

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// figuresAge is for how long a look serves scrapes: it walks over all agents, and a scraper that comes
// every few seconds need not cost more than one that comes every minute.
const figuresAge = 10 * time.Second

var (
	verdictsDesc = prometheus.NewDesc("vigil_agent_verdicts",
		"Agents by verdict, looked at every 10 seconds at most.", []string{"verdict"}, nil)
	inboxDesc = prometheus.NewDesc("vigil_inbox_items",
		"Things that wait for a human by priority, at most 1000 in all.", []string{"priority"}, nil)
	wantedDesc = prometheus.NewDesc("vigil_agents_wanted", "Agents that should have a process by now.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Service) Describe(ch chan<- *prometheus.Desc) {
	ch <- verdictsDesc
	ch <- inboxDesc
	ch <- wantedDesc
}

// Collect implements prometheus.Collector: how the fleet is as people see it, the same on every server.
func (s *Service) Collect(ch chan<- prometheus.Metric) {
	seen, err := s.look(context.Background(), "", figuresAge)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(verdictsDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, n uint32, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, k := range judge.Kinds() {
		gauge(verdictsDesc, seen.overview.GetVerdicts()[k.String()], k.String())
	}
	for p := noun.MailNormal; p <= noun.MailLow; p++ {
		gauge(inboxDesc, seen.overview.GetInbox()[p.String()], p.String())
	}
	gauge(wantedDesc, seen.overview.GetAgentsWanted())
}
