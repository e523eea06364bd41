package rpc

import (
	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
)

// budgetFigures are the metrics of the budgets; the same on every server.
type budgetFigures struct {
	used, limit   *prometheus.Desc // in bytes
	have, allowed *prometheus.Desc // in numbers
}

func newBudgetFigures() *budgetFigures {
	of := []string{"budget"}
	return &budgetFigures{
		used: prometheus.NewDesc("vigil_budget_used_bytes",
			"Memory that what is replicated takes, as budgets count it.", of, nil),
		limit: prometheus.NewDesc("vigil_budget_limit_bytes",
			"Memory that what is replicated may take. What is new is refused when nine tenths are used.", of, nil),
		have:    prometheus.NewDesc("vigil_budget_used", "How many there are of what is bounded in number.", of, nil),
		allowed: prometheus.NewDesc("vigil_budget_limit", "How many there may be of what is bounded in number.", of, nil),
	}
}

func (b *budgetFigures) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.used, b.limit, b.have, b.allowed} {
		ch <- d
	}
}

func (b *budgetFigures) collect(ch chan<- prometheus.Metric, list []fsm.BudgetUse) {
	for _, u := range list {
		used, limit := b.used, b.limit
		if u.Counted {
			used, limit = b.have, b.allowed
		}
		ch <- prometheus.MustNewConstMetric(used, prometheus.GaugeValue, float64(u.Used), u.Name)
		ch <- prometheus.MustNewConstMetric(limit, prometheus.GaugeValue, float64(u.Budget), u.Name)
	}
}
