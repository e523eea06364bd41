package check

import (
	"slices"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

// judgeLedger judges the lives by their own accounts. A life may run on for a moment
// after its shim was stopped and went on (law L7 leaves that out), nothing else is
// excused.
func (t *trial) judgeLedger() *ledger.Verdict {
	var pauses []ledger.Pause
	for _, list := range t.effects {
		for _, e := range list {
			if e.What == history.Stopped {
				pauses = append(pauses, ledger.Pause{Host: e.Machine, Agent: e.Agent, From: e.From, To: e.To})
			}
		}
	}
	fenced := func(agent string) bool { return slices.Contains(t.rec.Run.Fenced, role(agent)) }
	return ledger.Judge(t.lives, ledger.Rules{Fenced: fenced, Pauses: pauses, Slack: t.bounds.Slack})
}

// take adds findings of the ledger.
func (r *Result) take(list []ledger.Finding) {
	for _, f := range list {
		found := Finding{From: f.From, To: f.To}
		for _, l := range []*ledger.Life{f.Older, f.Newer} {
			if l != nil {
				found.Lives = append(found.Lives, l.File)
			}
		}
		how := ""
		if f.To > f.From {
			how = " for " + seconds(f.To-f.From)
		}
		r.found(found, "%s: %s%s (lives %d on %s and %d on %s)", f.Agent, f.What, how, f.Older.Incarnation,
			f.Older.Host, f.Newer.Incarnation, f.Newer.Host)
	}
}

func oneLife(t *trial, r *Result) {
	v := t.judge()
	for _, l := range t.lives {
		if slices.Contains(t.rec.Run.Fenced, role(l.Agent)) {
			r.judged(1)
		}
	}
	r.take(v.Overlaps)
	r.take(v.Late)
	for range v.Excused {
		r.excuse("its shim had been stopped from outside and had just gone on")
	}
	r.count("lives", v.Lives)
	r.count("records of lives", v.Ticks)
	r.count("freezes after which a life went on", v.Freezes)
	r.count("ends that were seen", v.Exits)
	r.took("longest excused time", v.Longest)
}

func fencing(t *trial, r *Result) {
	v := t.judge()
	r.judged(v.Words)
	r.take(v.Spoken)
	r.count("words that were acknowledged", v.Words)
}

func completedOnce(t *trial, r *Result) {
	v := t.judge()
	r.judged(v.Completed)
	r.take(v.Twice)
	r.count("tasks completed by lives", v.Completed)
}

// doubleStarts compares lives with each other and with the orders in the log.
func doubleStarts(t *trial, r *Result) {
	r.judged(len(t.lives))
	r.take(t.judge().Doubles)
	if !t.whole {
		return
	}
	type start struct {
		agent       string
		incarnation uint64
	}
	ordered := map[start]history.Event{}
	for _, e := range t.log {
		if e.Kind == "order.start" {
			ordered[start{e.Agent, e.Incarnation}] = e
		}
	}
	heard := t.log[len(t.log)-1].Got // an order that is younger may be missing
	matched := 0
	for _, l := range t.lives {
		e, ok := ordered[start{l.Agent, l.Incarnation}]
		switch {
		case l.Host == history.Client: // started by hand
		case ok:
			matched++
			switch at := t.happened(e); {
			case at.from <= l.Start || l.Start == 0:
			case t.marked(e):
				r.found(Finding{From: l.Start, To: at.from, Lives: []string{l.File}, Events: []history.Event{e}},
					"%s: life %d began %s before its start was ordered", l.Agent, l.Incarnation,
					seconds(at.from-l.Start))
			default:
				r.excuse("its order was heard late, and no answer tells when it was given")
			}
		case l.Start < heard-int64(t.bounds.Lag):
			r.found(Finding{From: l.Start, To: l.Last(), Lives: []string{l.File}},
				"%s: life %d ran on %s without an order", l.Agent, l.Incarnation, l.Host)
		default:
			r.excuse("it began after the last event that a watcher got")
		}
	}
	r.count("lives whose order was seen", matched)
}

// guards takes over what nemeses saw that must not be.
func guards(t *trial, r *Result) {
	r.judged(len(t.rec.Faults))
	for _, f := range t.rec.Faults {
		if f.Broken != "" {
			r.found(Finding{From: f.From, To: f.To}, "%s: %s", f.Kind, f.Broken)
		}
	}
}

// silence is how long before a time a life was last known to run.
func silence(l *ledger.Life, at int64) time.Duration { return time.Duration(at - lastTick(l, at)) }
