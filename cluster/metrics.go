package cluster

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// metrics are the figures of one replica. They always count; they are registered
// only when the configuration names a registerer.
type metrics struct {
	entries       *prometheus.CounterVec // by kind: commands, beats, mixed, tick
	bytes         *prometheus.CounterVec // by kind
	commands      prometheus.Counter
	beats         prometheus.Counter
	batch         prometheus.Histogram
	commit        prometheus.Histogram
	recent        prometheus.Summary // of the same in the last minute, not registered
	apply         prometheus.Histogram
	snapshotPause prometheus.Histogram
	snapshotTime  prometheus.Histogram
	installed     prometheus.Counter
	barriers      prometheus.Counter
	barrierRounds prometheus.Counter
	ticks         prometheus.Counter
	stints        prometheus.Counter
	kinds         [4]entryKind
}

// entryKind holds the counters of one kind of entry.
type entryKind struct{ entries, bytes prometheus.Counter }

const (
	kindTick = iota
	kindBeats
	kindCommands
	kindMixed
)

var kindNames = [4]string{"tick", "beats", "commands", "mixed"}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		entries:  counters("log_entries_total", "Log entries applied, by what they carry."),
		bytes:    counters("log_bytes_total", "Bytes of log entries applied, by what they carry."),
		commands: counter("commands_total", "Commands applied."),
		beats:    counter("beat_batches_total", "Batches of beats applied, one for each host that beat."),
		batch: histogram("batch_commands", "Commands in one proposed log entry.",
			prometheus.ExponentialBuckets(1, 16, 4)),
		commit: histogram("commit_seconds", "From sealing an entry to its answer, on the leader.", latency()),
		recent: newCommitTimes(),
		apply:  histogram("apply_seconds", "Time to apply one log entry.", latency()),
		snapshotPause: histogram("snapshot_pause_seconds",
			"Time that a snapshot or copy kept entries from being applied.", []float64{.001, .01, .1}),
		snapshotTime: histogram("snapshot_seconds", "Time to write a snapshot, in the background.",
			[]float64{.1, 1, 10}),
		installed: counter("snapshots_installed_total",
			"Snapshots that replaced the state of this server while it ran: sent by the leader, or restored from a backup."),
		barriers:      counter("barriers_total", "Linearizable reads asked for."),
		barrierRounds: counter("barrier_rounds_total", "Log entries that served linearizable reads."),
		ticks:         counter("ticks_total", "Entries proposed only because a deadline was due."),
		stints:        counter("stints_total", "Stints that this server has opened."),
	}
	for i, name := range kindNames {
		m.kinds[i] = entryKind{m.entries.WithLabelValues(name), m.bytes.WithLabelValues(name)}
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.entries, m.bytes, m.commands, m.beats, m.batch, m.commit, m.apply,
		m.snapshotPause, m.snapshotTime, m.installed, m.barriers, m.barrierRounds, m.ticks, m.stints} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) applied(e *fsm.Entry, bytes int, clock noun.Time, took time.Duration) {
	kind := kindTick
	switch {
	case len(e.Beats) > 0 && len(e.Requests) > 0:
		kind = kindMixed
	case len(e.Beats) > 0:
		kind = kindBeats
	case len(e.Requests) > 0:
		kind = kindCommands
	}
	m.kinds[kind].entries.Inc()
	m.kinds[kind].bytes.Add(float64(bytes))
	m.commands.Add(float64(len(e.Requests)))
	m.beats.Add(float64(len(e.Beats)))
	m.apply.Observe(took.Seconds())
}

func counters(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "vigil", Subsystem: "cluster",
		Name: name, Help: help}, []string{"kind"})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "vigil", Subsystem: "cluster", Name: name,
		Help: help})
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "vigil", Subsystem: "cluster",
		Name: name, Help: help, Buckets: buckets})
}

func latency() []float64 { return prometheus.ExponentialBuckets(0.0001, 5, 7) }
