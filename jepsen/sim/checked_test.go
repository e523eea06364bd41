package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	jepsen "vigil/cmd/vigil/bench/ledger"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

// account is the record of a run in the words of package history, so that the checks
// of real clusters judge the simulation too. Times are simulated nanoseconds.
type account struct {
	story  *story
	events []history.Event
}

func (s *story) now() int64 { return int64(time.Since(s.begun)) + 1 }

// told takes events that were seen for the first time.
func (a *account) told(events []noun.Event) {
	for i := range events {
		e := &events[i]
		a.events = append(a.events, history.Event{Got: a.story.now(), Seq: e.Seq, Index: e.Index, Kind: e.Kind,
			Room:  e.Room,
			Agent: e.Agent, Incarnation: uint64(e.Inc), Task: uint64(e.Task), Attempt: e.Attempt, Host: e.Host,
			Text: e.Text})
	}
}

// ledgerOf makes the lives' own accounts from what hosts did: a record every quarter of
// the TTL while the life is neither frozen nor over.
func (s *story) ledgerOf(end int64) (lives []*jepsen.Life) {
	open := map[string]*jepsen.Life{}
	ran := map[string]bool{} // not frozen
	until := func(name string, to int64) {
		for l := open[name]; l != nil && ran[name] && l.Last() < to; {
			l.Ticks = append(l.Ticks, min(to, l.Last()+int64(15*time.Second)))
		}
	}
	for _, o := range s.ops {
		if o.Workload != "lives" {
			continue
		}
		name := o.Agent + " " + noun.Incarnation(o.Incarnation).String()
		switch {
		case o.Kind == "start":
			l := &jepsen.Life{Agent: o.Agent, Incarnation: o.Incarnation, Host: o.Via, Start: o.Return,
				Ticks: []int64{o.Return}, File: name}
			open[name], ran[name], lives = l, true, append(lives, l)
		case open[name] == nil: // of a clone, or frozen before it ran
		case o.Kind == "freeze":
			until(name, o.Return)
			ran[name] = false
		case o.Kind == "thaw":
			ran[name] = true
			open[name].Ticks = append(open[name].Ticks, o.Return)
		case strings.HasPrefix(o.Kind, "end: "):
			until(name, o.Return)
			open[name].Gone = o.Return
			delete(open, name)
		}
	}
	for name := range open {
		until(name, end)
	}
	slices.SortFunc(lives, func(a, b *jepsen.Life) int {
		if c := strings.Compare(a.Agent, b.Agent); c != 0 {
			return c
		}
		return int(max(-1, min(1, int64(a.Incarnation)-int64(b.Incarnation))))
	})
	return lives
}

// runOf describes the run of so many hours.
func (w *world) runOf(hours float64) history.Run {
	run := history.Run{Command: repeats(w.cfg.seed, hours), Seed: w.cfg.seed, TTL: int64(time.Minute), Began: 1,
		Calm: w.ledger.story.calm, Ended: int64(w.ledger.length)}
	for _, s := range w.servers {
		run.Servers = append(run.Servers, s.cfg.ID)
	}
	for _, h := range w.hosts {
		run.Hosts = append(run.Hosts, h.key)
	}
	return run
}

// calmed: nothing is broken any more, for good.
func (o *watch) calmed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.account.story.calm = o.account.story.now()
}

// looked notes how the agents are once nothing is broken, as the leader has it. One that
// flaps may be anywhere.
func (o *watch) looked(st *fsm.View) {
	s := o.account.story
	if s.calm == 0 || time.Since(o.looks) < 10*time.Second {
		return
	}
	o.looks = time.Now()
	for a := range st.Agents("") {
		if o.w.role(a.Name).flaps(a.Name, o.w.since()) {
			continue
		}
		why := st.Why(a.ID)
		s.looks = append(s.looks, history.Look{Sent: s.now(), At: s.now(), Agent: a.Name,
			Incarnation: uint64(a.Inc), Process: why.Code,
			Participant: a.Part.String(), Task: uint64(a.Task), Why: why.Code})
	}
}

// checked has the checks of package check judge the run, as far as it went before the
// restore of a backup, after which numbers of events begin again.
func (w *world) checked() {
	s, l := w.ledger.story, w.ledger
	if w.ledger.counts["backups restored"] > 0 {
		return
	}
	rec := &history.Record{Run: w.runOf(0), Faults: s.faults, Looks: s.looks, Events: w.watch.account.events}
	for _, o := range s.ops {
		if o.Call != 0 { // the others are what hosts and agents did, of which only the end is known
			rec.Ops = append(rec.Ops, o)
		}
	}
	bounds := check.DefaultBounds(time.Duration(rec.Run.TTL))
	bounds.Stall = recovery
	for _, r := range check.Judge(rec, s.ledgerOf(rec.Run.Ended), bounds) {
		if r.Verdict != check.Nothing {
			l.counts["checked: "+r.Name] = r.Judged
		}
		for i, f := range r.Findings {
			if i < 3 {
				l.breaches = append(l.breaches,
					breach{"check", fmt.Sprintf("at %v: %s (%s): %s", time.Duration(f.From), r.Name, r.Law, f.What)})
			}
		}
	}
}

// The checks can fail: a majority that is down although no fault is in the record is
// noticed.
func TestChecksNoticeAStandstill(t *testing.T) {
	w := simulate(t, config{seed: 7, n: 3, length: 10 * time.Minute, mutant: staysDown, until: "check"})
	w.checked()
	for _, b := range w.ledger.breaches {
		if b.law == "check" && strings.Contains(b.text, "availability") {
			return
		}
	}
	t.Errorf("nobody noticed that nothing could be written: %v", w.ledger.breaches)
}
