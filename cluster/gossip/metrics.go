package gossip

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	membersDesc = prometheus.NewDesc("vigil_gossip_members",
		"Members as this one hears them, by kind and state.", []string{"kind", "state"}, nil)
	healthDesc = prometheus.NewDesc("vigil_gossip_health_score",
		"How late this member is with its own probes: 0 is well, up to 7; it then waits longer before "+
			"it doubts others.", nil, nil)
)

// Describe implements prometheus.Collector.
func (g *Gossip) Describe(ch chan<- *prometheus.Desc) {
	ch <- membersDesc
	ch <- healthDesc
}

// Collect implements prometheus.Collector.
func (g *Gossip) Collect(ch chan<- prometheus.Metric) {
	for kind, states := range g.table.counts(time.Now()) {
		for s := Unknown; s <= Left; s++ {
			ch <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(states[s]),
				string(kind), s.String())
		}
	}
	g.mu.Lock()
	list := g.list
	g.mu.Unlock()
	score := 0
	if list != nil {
		score = list.GetHealthScore()
	}
	ch <- prometheus.MustNewConstMetric(healthDesc, prometheus.GaugeValue, float64(score))
}
