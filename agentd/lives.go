package agentd

import (
	"fmt"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
)

// hangLimit is how long journal and fork of one life may take before the daemon
// gives up on them: a shim that has not started its program in StartLimit is killed,
// so what takes longer waits for a disk or a process that does not react.
const hangLimit = 2 * shim.StartLimit

// lives is the part that owns the table of lives: each from its start to the report of its
// end.
type lives struct {
	base
	outbox *outbox

	all    map[uint32]*life
	ended  map[uint32]uint64 // newest incarnation of each agent that is gone
	warned map[string]bool   // what shims found missing on this host, and its troubles
	// closing: the daemon ends its lives, and waits for no answer to an acceptance.
	closing bool
	// keepUsage keeps what a life that is over has used for the next beat.
	keepUsage func(disk.Life, telemetry.Usage)
}

// look notes what has happened to each life without a word.
func (v *lives) look(now time.Duration) time.Duration {
	nap := longestNap
	for _, l := range v.all {
		v.watchFrost(l)
		v.watchStart(now, l)
		nap = min(nap, v.watchSize(now, l))
	}
	v.count()
	return nap
}

// watchFrost notes what the dead-man's switch of a life has done.
func (v *lives) watchFrost(l *life) {
	if l.phase != running || l.process.Frozen() == l.frozen {
		return
	}
	l.frozen = !l.frozen
	if !l.frozen {
		v.log.Info("beats are acknowledged again: the agent goes on", "agent", l.order.GetAgentName(),
			"incarnation", l.inc)
		return
	}
	v.metrics.freezes.Inc()
	v.log.Warn("no beat was acknowledged: the agent is frozen", "agent", l.order.GetAgentName(),
		"incarnation", l.inc, "silent", l.silent(v.config.Clock()))
}

// watchStart gives up on a start that hangs: its slot and its fence are not held
// for ever. Should it come to an end after all, the life is taken up or buried then.
func (v *lives) watchStart(now time.Duration, l *life) {
	if l.phase != starting || l.hung || now-l.begun <= hangLimit {
		return
	}
	l.hung = true
	v.unkillable(l, fmt.Sprintf("its start has not come to an end within %s: a disk of this host or the "+
		"machine itself does not react", hangLimit))
}

// count sets the gauges.
func (v *lives) count() {
	var phases [running + 1]int
	frozen := 0
	for _, l := range v.all {
		phases[l.phase]++
		if l.frozen {
			frozen++
		}
	}
	v.metrics.agents.WithLabelValues("accepting").Set(float64(phases[accepting] + phases[accepted]))
	v.metrics.agents.WithLabelValues("starting").Set(float64(phases[starting]))
	v.metrics.agents.WithLabelValues("running").Set(float64(phases[running]))
	v.metrics.frozen.Set(float64(frozen))
}
