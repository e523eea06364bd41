package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vigil/jepsen/history"
)

// intent judges what humans asked for, from what they were answered and the ledger,
// and again from the order of the log.
func intent(t *trial, r *Result) {
	scopes := map[string][]history.Op{}
	looks := map[string][]history.Op{} // by agent
	for _, op := range t.rec.Ops {
		switch {
		case op.Workload != "intent":
		case op.Kind == "look":
			looks[op.Agent] = append(looks[op.Agent], op)
		case op.Key != "":
			scopes[op.Key] = append(scopes[op.Key], op)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(scopes)) {
		ops := scopes[key]
		slices.SortStableFunc(ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
		for i, op := range ops {
			if op.Outcome != history.OK {
				continue
			}
			switch op.Kind {
			case "stop":
				r.judged(1)
				t.stopped(r, op, t.until(ops[i+1:], "start"))
			case "pause":
				t.paused(r, op, looks, t.until(ops[i+1:], "resume"))
			}
		}
	}
	r.count("acknowledged stops and looks under a pause", r.Judged)
	t.intentInLog(r)
}

// until is when a human may have wanted the opposite: the next call of a kind that was
// not refused.
func (t *trial) until(later []history.Op, kind string) int64 {
	for _, op := range later {
		if op.Kind == kind && op.Outcome != history.Failed {
			return op.Call
		}
	}
	return t.rec.Run.Ended
}

// stopped judges the time between an acknowledged stop and the next start.
func (t *trial) stopped(r *Result, stop history.Op, until int64) {
	t.noneBegins(r, stop, stop.Incarnation, stop.Agent, until)
	limit := stop.Return + int64(t.bounds.Stop)
	l := t.life(stop.Agent, stop.Incarnation)
	if l == nil || !ticked(l, limit, until-1) {
		return
	}
	w := span{stop.Call, min(l.Last(), until)}
	switch {
	case t.touched(l.Host, l.Agent, w.from, limit) != nil:
		r.excuse("the agent's host was touched while it was to be stopped")
	case longest(t.headless(span{w.from, limit})).length() > 0:
		r.excuse("for a time no majority of servers was whole while an agent was to be stopped")
	default:
		r.found(Finding{From: stop.Call, To: w.to, Ops: []history.Op{stop}, Lives: []string{l.File}},
			"%s: life %d still ran %s after its stop was acknowledged", stop.Agent, stop.Incarnation,
			seconds(w.to-stop.Return))
	}
}

// noneBegins judges that no life begins that is newer than the one that an answer
// showed.
func (t *trial) noneBegins(r *Result, op history.Op, incarnation uint64, agent string, until int64) {
	for _, l := range t.byAgent[agent] {
		if l.Incarnation > incarnation && l.Start > op.Return && l.Start < until {
			r.found(Finding{From: op.Call, To: l.Start, Ops: []history.Op{op}, Lives: []string{l.File}},
				"%s: life %d began %s after the %s of %s was acknowledged, which knew life %d", agent, l.Incarnation,
				seconds(l.Start-op.Return), op.Kind, op.Key, incarnation)
		}
	}
}

// paused judges the time between an acknowledged pause and the next call that lifts
// it, for all agents at which somebody looked.
func (t *trial) paused(r *Result, pause history.Op, looks map[string][]history.Op, until int64) {
	for _, agent := range slices.Sorted(maps.Keys(looks)) {
		if agent != pause.Key && !strings.HasPrefix(agent, pause.Key+"/") {
			continue
		}
		for _, look := range looks[agent] {
			if look.Outcome != history.OK || look.Call < pause.Return || look.Return > until {
				continue
			}
			r.judged(1)
			t.noneBegins(r, pause, look.Incarnation, agent, until)
			t.goesOn(r, look, until)
			break
		}
	}
}

// goesOn judges that a pause ends no life.
func (t *trial) goesOn(r *Result, look history.Op, until int64) {
	l := t.life(look.Agent, look.Incarnation)
	if l == nil || look.State != "running" || l.Term <= look.Return || l.Term >= until {
		return
	}
	switch {
	case t.touched(l.Host, l.Agent, look.Call-t.ttl, l.Term) != nil:
		r.excuse("the host of a paused agent was touched")
	case slices.ContainsFunc(t.rec.Ops, func(op history.Op) bool {
		return op.Agent == look.Agent && (op.Kind == "stop" || op.Kind == "restart") && op.Outcome != history.Failed &&
			op.Call < l.Term && op.Return > look.Call-int64(t.bounds.Stop)
	}):
		r.excuse("a paused agent was stopped or restarted by a human")
	default:
		r.found(Finding{From: look.Call, To: l.Term, Ops: []history.Op{look}, Lives: []string{l.File}},
			"%s: life %d was told to end under a pause", look.Agent, look.Incarnation)
	}
}

// scopeOf is what an event of intent is about: an agent, a room, or everything.
func scopeOf(e history.Event) string {
	switch {
	case strings.HasPrefix(e.Kind, "agent."):
		return e.Agent
	case strings.HasPrefix(e.Kind, "room."):
		return e.Room
	}
	return ""
}

// intentInLog replays the log: no start is ordered of what is stopped or paused.
func (t *trial) intentInLog(r *Result) {
	held := map[string]history.Event{} // by kind of hold and scope
	orders := 0
	for i, e := range t.log {
		if !t.follows(i) || e.Kind == "cluster.restored" {
			clear(held)
		}
		_, verb, _ := strings.Cut(e.Kind, ".")
		switch e.Kind {
		case "agent.stopped", "agent.paused", "room.paused", "cluster.paused":
			held[verb+" "+scopeOf(e)] = e
		case "agent.wanted":
			delete(held, "stopped "+e.Agent)
		case "agent.resumed", "room.resumed", "cluster.resumed":
			delete(held, "paused "+scopeOf(e))
		case "agent.removed":
			delete(held, "stopped "+e.Agent)
			delete(held, "paused "+e.Agent)
		case "room.deleted":
			delete(held, "paused "+e.Room)
		case "order.start":
			orders++
			room, _, _ := strings.Cut(e.Agent, "/")
			for _, hold := range []string{"stopped " + e.Agent, "paused " + e.Agent, "paused " + room, "paused "} {
				if by, ok := held[hold]; ok {
					r.found(Finding{From: by.Got, To: e.Got, Events: []history.Event{by, e}},
						"%s: start %d was ordered (event %d) while it was %s (event %d)", e.Agent,
						e.Incarnation, e.Seq, strings.TrimSuffix(hold, " "), by.Seq)
				}
			}
		}
	}
	if len(held) > 0 || r.Judged > 0 {
		r.judged(orders)
	}
	r.count("start orders compared with what humans wanted", orders)
}
