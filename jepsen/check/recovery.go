package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"vigil/jepsen/history"
)

// reasons are why an agent may be right not to run, as codes and as their texts begin.
var reasons = []string{"parked", "back_off", "back-off", "stopped", "paused", "room_paused", "all_paused",
	"its room is paused", "no_task", "on demand", "retired", "deleting", "no_runner", "by_hand"}

// recovery looks at the times after faults were healed, the last one above all.
func recovery(t *trial, r *Result) {
	run := t.rec.Run
	slowest := time.Duration(0)
	for _, rest := range run.Rests {
		slowest = max(slowest, t.settled(r, span{rest.From, rest.To}))
	}
	if run.Calm == 0 {
		return
	}
	rest := time.Duration(run.Ended - run.Calm)
	if p := MeasureProgress(t.rec); len(p.tried) > 0 && p.last > run.Calm {
		r.judged(1)
		switch {
		case p.Calm < 0 && rest <= t.bounds.Stall, p.Calm < 0 &&
			p.asked(span{run.Calm, run.Ended}) <= int64(t.bounds.Stall):
			r.excuse("the run ended before writes could succeed")
		case p.Calm < 0:
			r.found(Finding{From: run.Calm, To: run.Ended},
				"no write that began after the last fault was acknowledged within %s", rest)
		case p.Calm > t.bounds.Stall:
			r.found(Finding{From: run.Calm, To: run.Calm + int64(p.Calm)},
				"the first write after the last fault was acknowledged after %s", p.Calm)
		}
		r.took("last fault healed to the first write", p.Calm)
	}
	slowest = max(slowest, t.settled(r, span{run.Calm, run.Ended}))
	r.took("last fault healed to the last agent at work", slowest)
	r.took("bound for writes", t.bounds.Stall)
	r.took("bound for agents", t.bounds.Agents)
}

// settled judges when each agent that should run did so again in a time without
// faults, and gives the longest time that one took.
func (t *trial) settled(r *Result, rest span) (slowest time.Duration) {
	back, last := map[string]int64{}, map[string]history.Look{}
	excused := map[string]bool{}
	unwanted := map[string]int64{} // when nobody wanted it to run, last
	for _, look := range t.rec.Looks {
		if look.Sent < rest.from || look.Sent > rest.to {
			continue
		}
		last[look.Agent] = look
		if _, ok := back[look.Agent]; ok {
			continue
		}
		if t.runs(look) {
			back[look.Agent] = look.At
			continue
		}
		excused[look.Agent] = excused[look.Agent] || excusable(look)
		if excusable(look) && !troubled(look) {
			unwanted[look.Agent] = look.At
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(last)) {
		r.judged(1)
		look := last[agent]
		when, ok := back[agent]
		until, idle := unwanted[agent]
		took := time.Duration(when - rest.from)
		if ok {
			slowest = max(slowest, took)
		}
		switch {
		case ok && took <= t.bounds.Agents:
		case ok && !excused[agent]:
			r.found(Finding{From: rest.from, To: when}, "%s ran again only %s after the last fault", agent, took)
		case ok:
			r.excuse("it did not run for a reason that was shown, and runs")
		case excusable(look):
			r.excuse("it does not run, for a reason that is shown: " + reasonOf(look))
		case idle && look.At-until <= int64(t.bounds.Agents) || rest.length() <= int64(t.bounds.Agents):
			r.excuse("the faults went on, or the run ended, before the agent had to run")
		default:
			r.found(Finding{From: rest.from, To: look.At},
				"%s does not run %s after the last fault: incarnation %d is %s and %s on %q (%s)", agent,
				time.Duration(look.At-rest.from), look.Incarnation, look.Process, look.Participant, look.Host, look.Why)
		}
	}
	return slowest
}

// runs tells whether an agent is at work by the word of the cluster and, where it
// keeps a ledger, by its own.
func (t *trial) runs(l history.Look) bool {
	if !atWork(l) || len(t.byAgent[l.Agent]) == 0 {
		return atWork(l)
	}
	life := t.life(l.Agent, l.Incarnation)
	return life != nil && ticked(life, l.Sent-t.ttl/3, l.At+t.ttl/3)
}

// atWork tells whether an agent is at work.
func atWork(l history.Look) bool { return l.Process == "running" && l.Participant != "DISCONNECTED" }

// excusable tells whether an agent is right not to run.
func excusable(l history.Look) bool { return reasonOf(l) != "" }

// troubled tells whether an agent does not run because its lives end too soon: that excuses it while it
// is so, and says nothing about a life that does not come up afterwards.
func troubled(l history.Look) bool {
	reason := reasonOf(l)
	return reason == "parked" || strings.HasPrefix(reason, "back")
}

func reasonOf(l history.Look) string {
	if l.Desired != "" && l.Desired != "running" {
		return l.Desired
	}
	for _, reason := range reasons {
		if strings.HasPrefix(l.Why, reason) {
			return reason
		}
	}
	return ""
}
