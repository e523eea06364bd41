package sim

import (
	"slices"
	"strings"
	"time"

	"vigil/fsm"
	"vigil/jepsen/check"
	"vigil/jepsen/history"
	jepsen "vigil/jepsen/ledger"
)

// account is the record of a run in the words of package history, so that the checks
// of real clusters judge the simulation too. Times are simulated nanoseconds.
type account struct {
	story  *story
	events []history.Event
}

func (s *story) now() int64 { return int64(time.Since(s.begun)) + 1 }

// told takes events that were seen for the first time.
func (a *account) told(events []fsm.Event) {
	for i := range events {
		e := &events[i]
		a.events = append(a.events, history.Event{Got: a.story.now(), Seq: e.Seq, Index: e.Index, Kind: e.Kind, Room: e.Room,
			Agent: e.Agent, Incarnation: uint64(e.Inc), Task: uint64(e.Task), Attempt: e.Attempt, Host: e.Host, Text: e.Text})
	}
}

// ledgerOf makes the lives' own accounts from what hosts did. What ran in between, the
// ledger of the simulation judges itself.
func (s *story) ledgerOf() (lives []*jepsen.Life) {
	open := map[string]*jepsen.Life{}
	for _, o := range s.ops {
		if o.Workload != "lives" {
			continue
		}
		name := o.Agent + " " + fsm.Incarnation(o.Incarnation).String()
		switch {
		case o.Kind == "start":
			l := &jepsen.Life{Agent: o.Agent, Incarnation: o.Incarnation, Host: o.Via, Start: o.Return, Ticks: []int64{o.Return}, File: name}
			open[name], lives = l, append(lives, l)
		case strings.HasPrefix(o.Kind, "end: ") && open[name] != nil:
			open[name].Gone = o.Return
		}
	}
	slices.SortFunc(lives, func(a, b *jepsen.Life) int {
		if c := strings.Compare(a.Agent, b.Agent); c != 0 {
			return c
		}
		return int(max(-1, min(1, int64(a.Incarnation)-int64(b.Incarnation))))
	})
	return lives
}

// checked has the checks of package check judge the run, as far as it went before the
// restore of a backup, after which numbers of events begin again.
func (w *world) checked() {
	s, l := w.ledger.story, w.ledger
	if w.ledger.counts["backups restored"] > 0 {
		return
	}
	run := history.Run{Seed: w.cfg.seed, TTL: int64(time.Minute), Began: 1, Ended: int64(l.length)}
	rec := &history.Record{Run: run, Ops: s.ops, Events: w.watch.account.events}
	for _, r := range check.All(rec, s.ledgerOf()) {
		if r.Verdict != check.Nothing {
			l.counts["checked: "+r.Name] = r.Judged
		}
		for i, f := range r.Findings {
			if i < 3 {
				l.breach("check", "%s (%s): %s", r.Name, r.Law, f.What)
			}
		}
	}
}
