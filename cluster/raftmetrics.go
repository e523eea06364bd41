package cluster

import (
	"fmt"

	gometrics "github.com/armon/go-metrics"
	metricsprom "github.com/armon/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// RaftMetrics makes figures of the raft library itself (vigil_raft_*: commit times,
// elections, votes, log store) available in reg. The library keeps them in a variable of
// the process, so a program calls this before it opens a replica, and DropRaftMetrics when it has ended.
func RaftMetrics(reg prometheus.Registerer) error {
	own := prometheus.NewRegistry()
	sink, err := metricsprom.NewPrometheusSinkFrom(metricsprom.PrometheusOpts{Registerer: own})
	if err != nil {
		return fmt.Errorf("collect raft's metrics: %w", err)
	}
	if _, err := gometrics.NewGlobal(raftMetricsConf(), sink); err != nil {
		return fmt.Errorf("collect raft's metrics: %w", err)
	}
	if err := reg.Register(raftFigures{own}); err != nil {
		return fmt.Errorf("register raft's metrics: %w", err)
	}
	return nil
}

// DropRaftMetrics has the figures of the library kept nowhere. Those of a replica that has ended would go on
// counting for the next one of the process: a summary that began in simulated time takes half a minute to
// turn to the present.
func DropRaftMetrics() {
	_, _ = gometrics.NewGlobal(raftMetricsConf(), &gometrics.BlackholeSink{}) // it cannot fail
}

func raftMetricsConf() *gometrics.Config {
	conf := gometrics.DefaultConfig("vigil")
	conf.EnableHostname, conf.EnableRuntimeMetrics = false, false // the latter would begin a goroutine
	return conf
}

// raftFigure says how a figure of the library is shown: under which name, with which help,
// and by what it is multiplied.
type raftFigure struct {
	name, help string
	scale      float64
}

const milli = 1e-3 // the library measures in milliseconds

// raftShown are the figures that are shown, by the library's name of each. The others tell
// little, or stand beside a figure of ours that says the same.
var raftShown = map[string]raftFigure{
	"vigil_raft_commitTime": {"vigil_raft_commit_seconds",
		"Time from an entry's arrival at the leader to its commit.", milli},
	"vigil_raft_rpc_appendEntries_storeLogs": {"vigil_raft_store_seconds",
		"Time that a follower took to write entries to its disk.", milli},
	"vigil_raft_leader_lastContact": {"vigil_raft_last_contact_seconds",
		"Silence of the followers as the leader saw it when it checked its lease.", milli},
	"vigil_raft_fsm_enqueue": {"vigil_raft_apply_wait_seconds",
		"Time that committed entries waited to be applied.", milli},
	"vigil_raft_fsm_restore": {"vigil_raft_restore_seconds", "Time to load a snapshot.", milli},
	"vigil_raft_compactLogs": {"vigil_raft_compact_seconds",
		"Time to remove entries that a snapshot covers.", milli},
	"vigil_raft_boltdb_storeLogs": {"vigil_raft_log_write_seconds",
		"Time of one write to the log store, with its sync.", milli},
	"vigil_raft_boltdb_freePageBytes": {"vigil_raft_log_free_bytes",
		"Bytes in the file of the log store that hold nothing.", 1},
	"vigil_raft_thread_main_saturation": {"vigil_raft_main_saturation_ratio",
		"Share of time in which raft's main loop was busy.", 1},
	"vigil_raft_thread_fsm_saturation": {"vigil_raft_apply_saturation_ratio",
		"Share of time in which the loop that applies entries was busy.", 1},
	"vigil_raft_peers":           {"vigil_raft_peers", "Servers in the configuration of raft.", 1},
	"vigil_raft_apply":           {"vigil_raft_proposals_total", "Entries proposed here.", 1},
	"vigil_raft_state_candidate": {"vigil_raft_candidacies_total", "Times that this server stood for election.", 1},
	"vigil_raft_state_leader":    {"vigil_raft_elections_won_total", "Times that this server was elected.", 1},
	"vigil_raft_transition_heartbeat_timeout": {"vigil_raft_heartbeat_timeouts_total",
		"Times that a follower missed its leader and wanted an election.", 1},
	"vigil_raft_transition_leader_lease_timeout": {"vigil_raft_lease_timeouts_total",
		"Times that a leader stepped down since too few servers answered it.", 1},
}

// raftFigures shows the figures of the library under names, units and help of ours.
type raftFigures struct{ from prometheus.Gatherer }

// Describe implements prometheus.Collector: which figures there are is known only once they are.
func (raftFigures) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f raftFigures) Collect(ch chan<- prometheus.Metric) {
	families, err := f.from.Gather()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, family := range families {
		shown, ok := raftShown[family.GetName()]
		if !ok || len(family.GetMetric()) == 0 {
			continue
		}
		ch <- shown.metric(family.GetType(), family.GetMetric()[0])
	}
}

func (f raftFigure) metric(kind dto.MetricType, m *dto.Metric) prometheus.Metric {
	desc := prometheus.NewDesc(f.name, f.help, nil, nil)
	switch kind {
	case dto.MetricType_COUNTER:
		return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, m.GetCounter().GetValue()*f.scale)
	case dto.MetricType_SUMMARY:
		s, quantiles := m.GetSummary(), map[float64]float64{}
		for _, q := range s.GetQuantile() {
			quantiles[q.GetQuantile()] = q.GetValue() * f.scale
		}
		return prometheus.MustNewConstSummary(desc, s.GetSampleCount(), s.GetSampleSum()*f.scale, quantiles)
	default:
		return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, m.GetGauge().GetValue()*f.scale)
	}
}
