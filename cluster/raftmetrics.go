package cluster

import (
	"fmt"

	gometrics "github.com/armon/go-metrics"
	metricsprom "github.com/armon/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
)

// RaftMetrics makes the figures of the raft library itself (vigil_raft_*: commit
// times, elections, contact, log store) available in reg. The library keeps them in
// a variable of the process, so a program calls this once, before it opens a replica.
func RaftMetrics(reg prometheus.Registerer) error {
	sink, err := metricsprom.NewPrometheusSinkFrom(metricsprom.PrometheusOpts{Registerer: reg})
	if err != nil {
		return fmt.Errorf("collect raft's metrics: %w", err)
	}
	conf := gometrics.DefaultConfig("vigil")
	conf.EnableHostname = false
	conf.EnableRuntimeMetrics = false
	if _, err := gometrics.NewGlobal(conf, sink); err != nil {
		return fmt.Errorf("collect raft's metrics: %w", err)
	}
	return nil
}
