package check

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"vigil/jepsen/history"
)

// looking are the kinds of calls that change nothing.
var looking = map[string]bool{"read": true, "get": true, "final": true, "index": true, "look": true,
	"open": true, "last": true}

// Writes tells whether a call wants to change something.
func Writes(op history.Op) bool { return !looking[op.Kind] }

// Progress is when writes were acknowledged.
type Progress struct {
	// Stall is the longest time without an acknowledged write, from From on.
	Stall time.Duration
	From  int64
	// Faults are about the faults of the record, in its order.
	Faults []FaultProgress
	// Calm is how long after the last fault was healed a write took that began after
	// it; negative: none was acknowledged.
	Calm time.Duration

	first, last int64   // the first call of a write, and the last return
	acked       []int64 // when writes were acknowledged
	tried       []span  // every write, by call
	reach       []int64 // the latest return of the writes up to each
}

// FaultProgress is what one fault did to progress.
type FaultProgress struct {
	// Stall is the longest time without an acknowledged write that overlaps the fault.
	Stall time.Duration
	// Heal is how long after the fault was undone a write took that began after it;
	// negative: none was acknowledged.
	Heal time.Duration
}

// MeasureProgress measures how long nothing went on.
func MeasureProgress(rec *history.Record) *Progress {
	p := &Progress{Calm: -1}
	type call struct{ call, back int64 }
	var done []call
	for _, op := range rec.Ops {
		if !Writes(op) {
			continue
		}
		p.tried = append(p.tried, span{op.Call, op.Return})
		if op.Outcome == history.OK {
			p.acked = append(p.acked, op.Return)
			done = append(done, call{op.Call, op.Return})
		}
	}
	p.Faults = make([]FaultProgress, len(rec.Faults))
	if len(p.tried) == 0 {
		for i := range p.Faults {
			p.Faults[i].Heal = -1
		}
		return p
	}
	slices.Sort(p.acked)
	slices.SortFunc(p.tried, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	p.first = p.tried[0].from
	for _, s := range p.tried {
		p.last = max(p.last, s.to)
		p.reach = append(p.reach, p.last)
	}
	slices.SortFunc(done, func(a, b call) int { return cmp.Compare(a.call, b.call) })
	soonest := make([]int64, len(done)) // the earliest return of a call from here on
	for i := len(done) - 1; i >= 0; i-- {
		soonest[i] = done[i].back
		if i+1 < len(done) {
			soonest[i] = min(soonest[i], soonest[i+1])
		}
	}
	after := func(at int64) time.Duration {
		i := sort.Search(len(done), func(i int) bool { return done[i].call >= at })
		if i == len(done) {
			return -1
		}
		return time.Duration(soonest[i] - at)
	}
	s := p.gap(span{p.first, p.last})
	p.Stall, p.From = time.Duration(s.length()), s.from
	for i, f := range rec.Faults {
		p.Faults[i] = FaultProgress{time.Duration(p.around(f.From, f.To).length()), after(f.To)}
	}
	if rec.Run.Calm != 0 {
		p.Calm = after(rec.Run.Calm)
	}
	return p
}

// gap is the longest time within a window in which no write was acknowledged.
func (p *Progress) gap(w span) (best span) {
	w = span{max(w.from, p.first), min(w.to, p.last)}
	if w.to <= w.from {
		return span{w.from, w.from}
	}
	from := w.from
	i, _ := slices.BinarySearch(p.acked, w.from)
	for ; i < len(p.acked) && p.acked[i] <= w.to; i++ {
		if s := (span{from, p.acked[i]}); s.length() > best.length() {
			best = s
		}
		from = p.acked[i]
	}
	if s := (span{from, w.to}); s.length() > best.length() {
		best = s
	}
	return best
}

// around is the longest time without an acknowledged write that overlaps a window.
func (p *Progress) around(from, to int64) span {
	if i, _ := slices.BinarySearch(p.acked, from); i > 0 {
		from = p.acked[i-1]
	}
	if i, _ := slices.BinarySearch(p.acked, to); i < len(p.acked) {
		to = p.acked[i]
	}
	return p.gap(span{from, to})
}

// asked is for how long within a time some write was on its way.
func (p *Progress) asked(s span) (sum int64) {
	end := sort.Search(len(p.tried), func(i int) bool { return p.tried[i].from > s.to })
	from := end
	for from > 0 && p.reach[from-1] >= s.from {
		from--
	}
	for _, busy := range union(within(p.tried[from:end], s)) {
		sum += busy.length()
	}
	return sum
}

// changing is how many times longer writes may take while the majority that is
// untouched keeps changing.
const changing = 3

// availability looks at the times in which the same majority of servers was untouched
// for longer than the bound.
func availability(t *trial, r *Result) {
	p := MeasureProgress(t.rec)
	if len(p.tried) == 0 || len(t.rec.Run.Servers) == 0 {
		return
	}
	bound := int64(t.bounds.Stall)
	majority := len(t.rec.Run.Servers)/2 + 1
	worst := int64(0)
	var together []span // times with a majority untouched, though not always by the same servers
	for _, s := range t.stretches(span{p.first, p.last}, harms) {
		if s.whole < majority {
			if p.gap(s.span).length() > bound {
				r.excuse("no majority of servers was untouched")
			}
			continue
		}
		r.judged(1)
		together = append(together, s.span)
		g := p.gap(s.span)
		worst = max(worst, g.length())
		switch {
		case g.length() <= bound:
		case p.asked(g) <= bound:
			r.excuse("nobody asked for a write meanwhile")
		default:
			r.found(Finding{From: g.from, To: g.to},
				"no write was acknowledged for %s, from %s on, though %d of %d servers were untouched",
				seconds(g.length()), t.at(g.from), s.whole, len(t.rec.Run.Servers))
		}
	}
	for _, s := range union(together) {
		if g := p.gap(s); g.length() > changing*bound && p.asked(g) > changing*bound && len(r.Findings) == 0 {
			r.found(Finding{From: g.from, To: g.to},
				"no write was acknowledged for %s, from %s on, though at every moment a majority of "+
					"servers was untouched", seconds(g.length()), t.at(g.from))
		}
	}
	r.took("longest time without an acknowledged write", p.Stall)
	r.took("longest of them with a majority untouched", time.Duration(worst))
	r.took("bound", t.bounds.Stall)
}
