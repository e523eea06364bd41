package check

import (
	"cmp"
	"slices"
	"strconv"

	"vigil/jepsen/history"
)

// counter is a key of workload reads: one writer, growing numbers.
type counter struct {
	sent, acked []step // by call, and by return
}

// step is a value and the time from which it counts.
type step struct {
	at    int64
	value int64
	op    history.Op
}

// reads judges what readers of growing numbers were shown.
func reads(t *trial, r *Result) {
	counters := map[string]*counter{}
	for _, op := range t.rec.Ops {
		if op.Workload != "reads" || op.Kind != "write" || op.Outcome == history.Failed {
			continue
		}
		c := counters[op.Key]
		if c == nil {
			c = &counter{}
			counters[op.Key] = c
		}
		v, _ := strconv.ParseInt(op.Value, 10, 64)
		c.sent = append(c.sent, step{op.Call, v, op})
		if op.Outcome == history.OK {
			c.acked = append(c.acked, step{op.Return, v, op})
		}
	}
	for _, c := range counters {
		c.sent, c.acked = rising(c.sent), rising(c.acked)
	}
	latest, stale := 0, 0
	for _, op := range t.rec.Ops {
		if op.Workload != "reads" || op.Outcome != history.OK || op.Kind != "read" && op.Kind != "final" {
			continue
		}
		c := counters[op.Key]
		if c == nil {
			continue
		}
		r.judged(1)
		if op.Stale {
			stale++
		} else {
			latest++
		}
		c.judge(r, op)
	}
	t.fallsBack(r)
	r.count("linearizable reads", latest)
	r.count("stale reads", stale)
}

// rising sorts steps by time and makes each show the greatest value so far.
func rising(list []step) []step {
	slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(list); i++ {
		if list[i-1].value > list[i].value {
			list[i].value, list[i].op = list[i-1].value, list[i-1].op
		}
	}
	return list
}

// before gives the greatest value whose time is before another one, nil when there is
// none.
func before(list []step, at int64) *step {
	i, _ := slices.BinarySearchFunc(list, at, func(s step, at int64) int { return cmp.Compare(s.at, at) })
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// judge compares one read with the writes.
func (c *counter) judge(r *Result, op history.Op) {
	v, err := strconv.ParseInt(op.Value, 10, 64)
	if err != nil && op.Value != "" {
		r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}},
			"%s was read as %q, which nobody wrote", op.Key, op.Value)
		return
	}
	// A stale read at the end comes after its server was seen to have come so far.
	if acked := before(c.acked, op.Call); acked != nil && acked.value > v && (!op.Stale || op.Kind == "final") {
		r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{acked.op, op}},
			"%s was read as %d through %s after %d had been acknowledged", op.Key, v, via(op), acked.value)
	}
	if sent := before(c.sent, op.Return+1); v != 0 && (sent == nil || sent.value < v) {
		r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}},
			"%s was read as %d through %s before that was written", op.Key, v, via(op))
	}
}

// ends tells whether an effect may end the process of a server. A disk that refuses or
// hangs ends it too.
func ends(e history.Effect) bool {
	return e.What == history.Killed || e.What == history.Away || e.What == history.Disk || e.What == history.Slow
}

// fallsBack compares stale answers of one server, as long as its process was not
// ended.
func (t *trial) fallsBack(r *Result) {
	type place struct {
		key, via, kind string
		life           int
	}
	type seen struct {
		steps []step
		ops   []history.Op
	}
	places := map[place]*seen{}
	var order []place
	for _, op := range t.rec.Ops {
		if op.Workload != "reads" || !op.Stale || op.Outcome != history.OK || op.Via == "" || op.Kind == "write" {
			continue
		}
		life, ended := 0, false
		for _, e := range t.effects[op.Via] {
			if ends(e) && e.To < op.Call {
				life++
			} else if ends(e) && e.From <= op.Return {
				ended = true
			}
		}
		if ended {
			r.excuse("the process of the server may have ended meanwhile")
			continue
		}
		p := place{op.Key, op.Via, map[bool]string{true: "index", false: "value"}[op.Kind == "index"], life}
		if places[p] == nil {
			places[p] = &seen{}
			order = append(order, p)
		}
		places[p].steps = append(places[p].steps, step{op.Return, shown(op), op})
		places[p].ops = append(places[p].ops, op)
	}
	for _, p := range order {
		s := places[p]
		s.steps = rising(s.steps)
		for _, op := range s.ops {
			if earlier := before(s.steps, op.Call); earlier != nil && earlier.value > shown(op) {
				r.found(Finding{From: earlier.op.Call, To: op.Return, Ops: []history.Op{earlier.op, op}},
					"%s went back: a stale answer showed the %s %d of %q, a later one %d", p.via, p.kind,
					earlier.value, p.key, shown(op))
			}
		}
	}
}

// shown is the number that a stale answer shows.
func shown(op history.Op) int64 {
	if op.Kind == "index" {
		return int64(op.Index)
	}
	v, _ := strconv.ParseInt(op.Value, 10, 64)
	return v
}

func via(op history.Op) string {
	if op.Via == "" {
		return "some server"
	}
	return op.Via
}
