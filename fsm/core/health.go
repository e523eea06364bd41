package core

import "vigil/fsm/noun"

// MissedReports counts the whole intervals of cluster time since the last report, or
// since the end of what excused the agent. Without a leader cluster time stands still,
// so an outage of the servers misses nothing. An agent that never reported has missed
// none: perhaps nothing in it reports at all (incident I33).
func (v *View) MissedReports(a *noun.Agent, spec *noun.RoleSpec) uint32 {
	d := a.Declared
	if d == nil || spec.HealthEvery == 0 {
		return 0
	}
	since := max(d.At, a.ExcusedUntil())
	silence := v.Meta.Clock.Sub(since) - v.Absent(a, min(since, v.Meta.Clock))
	return uint32(min(max(silence, 0)/spec.HealthEvery, 1<<31))
}
