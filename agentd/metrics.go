package agentd

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/agentd/runner"
)

// metrics are this daemon's own figures.
type metrics struct {
	agents      *prometheus.GaugeVec
	frozen      prometheus.Gauge
	reports     prometheus.Gauge
	letters     prometheus.Gauge
	kept        prometheus.Gauge
	removable   prometheus.Gauge
	oldest      prometheus.Gauge
	removed     *prometheus.CounterVec // bytes
	starts      prometheus.Counter
	exits       *prometheus.CounterVec
	freezes     prometheus.Counter
	stuck       prometheus.Counter
	adopted     prometheus.Counter
	orphans     prometheus.Counter
	refused     prometheus.Counter
	superseded  prometheus.Counter
	beatsSent   prometheus.Counter
	beatsFailed prometheus.Counter
	reconnects  prometheus.Counter
	looks       prometheus.Counter
	captures    prometheus.Counter
	lookErrors  prometheus.Counter
	prompts     *prometheus.CounterVec

	telemetry        *prometheus.CounterVec
	telemetryDropped prometheus.Counter
}

// newMetrics registers the figures; a nil registerer keeps them to themselves.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	const space = "vigil_agentd_"
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: space + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: space + name, Help: help})
	}
	m := &metrics{
		agents: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: space + "agents",
			Help: "Agents on this host by phase."}, []string{"phase"}),
		frozen:  gauge("agents_frozen", "Agents that are frozen because no beat was acknowledged."),
		reports: gauge("reports_pending", "Exit reports that the cluster has not taken yet."),
		letters: gauge("dead_letters", "Results that the cluster refused and this host keeps."),
		kept:    gauge("kept_bytes", "Logs, folders and refused results of agents in the data directory."),
		removable: gauge("kept_removable_bytes",
			"What lives that are over have left of it, and goes by age, by size or for a full disk (keep)."),
		oldest: gauge("kept_oldest_seconds", "Since the oldest of what may go was used last."),
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: space + "removed_bytes_total",
			Help: "What lives that are over had left and was removed, by reason: age, size, disk (it was full)."},
			[]string{"reason"}),
		starts: counter("starts_total", "Agents started."),
		exits: prometheus.NewCounterVec(prometheus.CounterOpts{Name: space + "exits_total",
			Help: "Agents that ended, by kind as seen here: clean, crash, ordered, start_failed, " +
				"timed_out, usage_limit."}, []string{"kind"}),
		freezes: counter("freezes_total", "Times that an agent was frozen."),
		stuck:   counter("stuck_total", "Agents of which something outlived SIGKILL for five seconds."),
		adopted: counter("adopted_total", "Agents that an earlier agentd had started and that were taken over."),
		orphans: counter("orphans_total",
			"Agents of an earlier agentd that were killed because their shim was gone."),
		refused: counter("accepts_refused_total",
			"Start orders that were no longer open when this host accepted them."),
		superseded:  counter("superseded_total", "Agents that were stopped because the cluster had given them up."),
		beatsSent:   counter("beats_total", "Beats that were acknowledged."),
		beatsFailed: counter("beats_failed_total", "Beats that were not acknowledged."),
		reconnects:  counter("stream_reconnects_total", "Times that the order stream was opened again."),
		looks:       counter("looks_total", "Looks at agents whose runner recognizes prompts."),
		captures: counter("captures_total",
			"Looks that had to read a terminal or output, since something was printed."),
		lookErrors: counter("look_errors_total", "Looks that failed."),
		prompts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: space + "prompts_total",
			Help: "Prompts that were recognized, by kind: permission, usage_limit, error, idle."}, []string{"kind"}),
		telemetry: prometheus.NewCounterVec(prometheus.CounterOpts{Name: space + "telemetry_messages_total",
			Help: "Messages of telemetry of agents, by what became of them: taken, repeated, denied, too_large, " +
				"too_many, unreadable, series_left_out."}, []string{"outcome"}),
		telemetryDropped: counter("telemetry_dropped_total",
			"Messages of telemetry of agents that did not reach the collector."),
	}
	for _, kind := range runner.PromptKinds() {
		m.prompts.WithLabelValues(kind)
	}
	for _, why := range []string{goneByAge, goneBySize, goneByDisk} {
		m.removed.WithLabelValues(why)
	}
	for _, kind := range []string{"clean", "crash", "ordered", "start_failed", "timed_out", "usage_limit"} {
		m.exits.WithLabelValues(kind)
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.agents, m.frozen, m.reports, m.letters, m.kept, m.removable, m.oldest,
		m.removed, m.starts, m.exits,
		m.freezes, m.stuck, m.adopted, m.orphans, m.refused, m.superseded, m.beatsSent, m.beatsFailed,
		m.reconnects, m.looks, m.captures, m.lookErrors, m.prompts, m.telemetry, m.telemetryDropped} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}
