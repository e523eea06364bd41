package check

import (
	"fmt"
	"slices"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

// falseDeaths looks at every lease and fence that ended by itself. Nothing that
// happens to servers explains one while a single server can be reached: without a
// leader the clock stands still (law L10).
func falseDeaths(t *trial, r *Result) {
	if len(t.log) == 0 {
		return
	}
	r.judged(len(t.lives))
	ended := 0
	for _, e := range t.log {
		if e.Kind != "agent.lease_ended" && e.Kind != "agent.fence_ended" {
			continue
		}
		ended++
		if why := t.deathExplained(e); why != "" {
			r.excuse(why)
			continue
		}
		l := t.life(e.Agent, e.Incarnation)
		at := t.happened(e)
		r.found(Finding{From: at.from, To: at.to, Events: []history.Event{e}, Lives: []string{l.File}},
			"%s: the %s of life %d on %s ended, though no fault touched that host and a server was in reach (%s)",
			e.Agent, e.Kind[len("agent."):len(e.Kind)-len("_ended")], e.Incarnation, l.Host, e.Text)
	}
	r.count("leases and fences that ended by themselves", ended)
}

// deathExplained says why a lease was right to end; empty: it was not.
func (t *trial) deathExplained(e history.Event) string {
	l := t.life(e.Agent, e.Incarnation)
	if l == nil {
		return "no life of it is in the ledger: it was started by hand, or died before it could write"
	}
	at := t.happened(e)
	w := t.stretched(span{at.from - t.ttl*3/2, at.to})
	if touch := t.touched(l.Host, l.Agent, w.from, w.to); touch != nil {
		return fmt.Sprintf("its host, or it, had been touched: %s", touch.What)
	}
	if !ticked(l, at.to-t.ttl*3/4, l.Last()) {
		return "the life had ended by its own account"
	}
	if l.Term != 0 && l.Term < at.to || t.told(l, at.to) {
		return "the life had been told to end"
	}
	if longest(t.deaf(w)).length() > t.ttl/4 {
		return "no server was whole for more than a quarter of the TTL"
	}
	if run := t.rec.Run; run.Older != "" && (run.Upgraded == 0 || at.from < run.Upgraded) {
		return "a server of the older build may have led, which charges more to leases"
	}
	return ""
}

// told says that a worker was told to end before that time: it works no more, and its good-bye may find no leader.
func (t *trial) told(l *ledger.Life, before int64) bool {
	return slices.ContainsFunc(t.effects[l.Host], func(e history.Effect) bool {
		return e.What == history.Told && e.Agent == l.Agent && e.From >= l.Start && e.From < before
	})
}

// outage is the longest time without servers that stretched looks for.
const outage = int64(time.Minute)

// stretched begins a window earlier by the time in it in which most servers were
// dead: cluster time stood still, and what was before counts as just before.
func (t *trial) stretched(w span) span {
	dead := t.dead(span{w.from - outage, w.to})
	for _, s := range slices.Backward(dead) {
		if s.to >= w.from {
			w.from -= s.length()
		}
	}
	return w
}

// deaf are the times in a window in which no server was whole, but for those in which
// so many were dead that none could lead and count.
func (t *trial) deaf(w span) (out []span) {
	dead := t.dead(w)
	for _, s := range t.fewer(w, 1) {
		for _, d := range within(dead, s) {
			if d.from > s.from {
				out = append(out, span{s.from, d.from})
			}
			s.from = d.to
		}
		if s.to > s.from {
			out = append(out, s)
		}
	}
	return out
}

// dead are the times in a window in which no majority of servers was alive.
func (t *trial) dead(w span) []span {
	var out []span
	for _, s := range t.stretches(w, func(e history.Effect) bool { return e.What == history.Killed }) {
		if s.whole <= len(t.rec.Run.Servers)/2 {
			out = append(out, s.span)
		}
	}
	return union(out)
}

// leaseEnds compares the lives with what the cluster held of them: in its log, and as
// it showed agents. Cluster time may stand still, which is excused.
func leaseEnds(t *trial, r *Result) {
	limit := t.ttl + int64(t.bounds.Lease)
	t.leftInLog(r, limit)
	looked := 0
	told := map[*ledger.Life]bool{}
	for _, look := range t.rec.Looks {
		l := t.life(look.Agent, look.Incarnation)
		if look.Incarnation == 0 || l == nil || look.Sent < l.Start || int64(silence(l, look.Sent)) <= limit {
			continue
		}
		looked++
		if look.Participant == "DISCONNECTED" || look.Participant == "" {
			continue
		}
		if why := t.leaseExplained(l, span{look.Sent - limit, look.Sent},
			span{lastTick(l, look.Sent), look.Sent}); why != "" {
			r.excuse(why)
			continue
		}
		if told[l] {
			continue
		}
		told[l] = true
		r.found(Finding{From: lastTick(l, look.Sent), To: look.At, Lives: []string{l.File}},
			"%s: life %d has not run for %s, but is still %s", look.Agent, look.Incarnation,
			silence(l, look.Sent), look.Participant)
	}
	r.judged(looked)
	r.count("looks at lives that did not run any more", looked)
}

// leaves are the kinds of events after which an incarnation has no lease.
var leaves = map[string]bool{"agent.left": true, "agent.lease_ended": true, "agent.exited": true,
	"agent.fence_ended": true, "agent.removed": true}

// leftInLog judges when the log lets go of lives that had joined and run no more.
func (t *trial) leftInLog(r *Result, limit int64) {
	if !t.whole {
		return
	}
	type membership struct {
		joined, left *history.Event // the last time it joined, and left after that
	}
	members := map[*ledger.Life]*membership{}
	for i := range t.log {
		e := &t.log[i]
		if e.Kind != "agent.joined" && !leaves[e.Kind] {
			continue
		}
		l := t.life(e.Agent, e.Incarnation)
		if l == nil {
			continue
		}
		m := members[l]
		switch {
		case e.Kind == "agent.joined":
			members[l] = &membership{joined: e}
		case m != nil && m.left == nil:
			m.left = e
		}
	}
	slowest := int64(0)
	for _, l := range t.lives {
		m := members[l]
		if m == nil || l.Last()+limit > t.rec.Run.Ended {
			continue
		}
		r.judged(1)
		after := t.rec.Run.Ended - l.Last()
		evidence := []history.Event{*m.joined}
		if m.left != nil {
			after = t.happened(*m.left).from - l.Last()
			evidence = append(evidence, *m.left)
		}
		if after <= limit {
			slowest = max(slowest, after)
			continue
		}
		if why := t.leaseExplained(l, span{l.Last(), l.Last() + limit}, span{l.Last(), l.Last() + after}); why != "" {
			r.excuse(why)
			continue
		}
		r.found(Finding{From: l.Last(), To: l.Last() + after, Lives: []string{l.File}, Events: evidence},
			"%s: life %d had a lease for %s after it had run for the last time", l.Agent, l.Incarnation, seconds(after))
	}
	r.took("longest lease of a life that did not run any more", time.Duration(slowest))
	r.took("bound", time.Duration(limit))
}

// takeover is how long cluster time may stand still after a server was struck that led.
const takeover = int64(2 * time.Second)

// leaseExplained says why a lease may last longer than what w spans; empty: it may not.
// silent is all of the time in which the life did not run and had it.
func (t *trial) leaseExplained(l *ledger.Life, w, silent span) string {
	if longest(t.headless(w)).length() > 0 {
		return "for a time no majority of servers was whole: cluster time stood still"
	}
	// Each leader that is struck stops the time until another one leads.
	if struck := t.fewer(silent, len(t.rec.Run.Servers)); len(struck) > 0 {
		left := silent.length()
		for i := range struck {
			struck[i].to += takeover
		}
		for _, s := range within(union(struck), silent) {
			left -= s.length()
		}
		if left <= w.length() {
			return "servers were struck: cluster time stood still until others led"
		}
	}
	// The shim vouches for a process that only the fault keeps from running.
	if slices.ContainsFunc(t.effects[l.Host], func(e history.Effect) bool {
		return e.What == history.Stopped && e.Agent == l.Agent && e.From <= w.to && e.To >= w.from
	}) {
		return "only its process was stopped, and its shim vouched for it"
	}
	return ""
}
