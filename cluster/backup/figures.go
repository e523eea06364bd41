package backup

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are what Prometheus reads of backups.
type figures struct {
	lastGood, every prometheus.Gauge
	failures        prometheus.Counter
}

func newFigures(every time.Duration) figures {
	f := figures{
		lastGood: prometheus.NewGauge(prometheus.GaugeOpts{Name: "vigil_backup_last_good_timestamp_seconds",
			Help: "When the newest backup was made that this server has read and found whole, in seconds since 1970; 0: none."}),
		every: prometheus.NewGauge(prometheus.GaugeOpts{Name: "vigil_backup_every_seconds",
			Help: "Time between backups, as configured."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "vigil_backup_failures_total",
			Help: "Looks at backups that failed, and damaged backups found."}),
	}
	f.every.Set(every.Seconds())
	return f
}

func (f figures) all() []prometheus.Collector {
	return []prometheus.Collector{f.lastGood, f.every, f.failures}
}
