package check

import (
	"vigil/jepsen/history"
)

// startOrders replays the log: between two starts of an agent the first one must have
// been withdrawn, or its life must have ended (laws L4 and L7 in the order of the
// log, whatever the clocks say).
func startOrders(t *trial, r *Result) {
	type agent struct {
		open    *history.Event // the order, or the life, that is not over
		highest uint64
	}
	agents := map[string]*agent{}
	for i := range t.log {
		e := &t.log[i]
		if !t.follows(i) || e.Kind == "cluster.restored" {
			// What is missing, or what a backup took back, may have ended lives.
			for _, a := range agents {
				a.open = nil
			}
		}
		if e.Kind == "cluster.restored" {
			r.excuse("a backup was restored: what was open before is not compared")
		}
		if e.Agent == "" {
			continue
		}
		a := agents[e.Agent]
		if a == nil {
			a = &agent{}
			agents[e.Agent] = a
		}
		switch e.Kind {
		case "order.start":
			r.judged(1)
			if a.open != nil {
				r.found(Finding{From: a.open.Got, To: e.Got, Events: []history.Event{*a.open, *e}},
					"%s: start %d was ordered while %d was not over (events %d and %d)", e.Agent,
					e.Incarnation, a.open.Incarnation, a.open.Seq, e.Seq)
			}
			if e.Incarnation <= a.highest {
				r.found(Finding{From: e.Got, To: e.Got, Events: []history.Event{*e}},
					"%s: start %d was ordered after %d (event %d)", e.Agent, e.Incarnation, a.highest, e.Seq)
			}
			a.open = e
		case "agent.adopted":
			a.open = e
		case "order.canceled", "agent.exited", "agent.fence_ended":
			if a.open != nil && a.open.Incarnation == e.Incarnation {
				a.open = nil
			}
		}
		a.highest = max(a.highest, e.Incarnation)
	}
	r.count("start orders", r.Judged)
	r.count("agents", len(agents))
}
