package check

import (
	"slices"
	"strconv"
	"time"

	"vigil/jepsen/history"
)

// watch follows every watcher through what it got.
func watch(t *trial, r *Result) {
	last := map[int]*history.Event{}
	first := map[uint64]*history.Event{}
	var order []int
	resumes := 0
	restored := slices.ContainsFunc(t.log, func(e history.Event) bool { return e.Kind == "cluster.restored" })
	for i := range t.rec.Events {
		e := &t.rec.Events[i]
		r.judged(1)
		if e.Resumed {
			resumes++
		}
		same := first[e.Seq]
		switch {
		case same == nil:
			first[e.Seq] = e
		case sameEvent(same, e):
		case t.rec.Run.Older != "" && sameEvent(wordless(same), wordless(e)):
			r.excuse("two versions word an event differently")
		case restored:
			r.excuse("a backup was restored: its numbers were used again")
		default:
			r.found(Finding{From: same.Got, To: e.Got, Events: []history.Event{*same, *e}},
				"watchers %d and %d got different events with number %d", same.Watcher, e.Watcher, e.Seq)
		}
		before := last[e.Watcher]
		last[e.Watcher] = e
		if before == nil {
			order = append(order, e.Watcher)
			continue
		}
		t.next(r, before, e)
	}
	t.reached(r, order, last)
	r.count("watchers", len(order))
	r.count("events", len(t.log))
	r.count("resumed streams", resumes)
}

// next judges two events that a watcher got one after the other.
func (t *trial) next(r *Result, before, e *history.Event) {
	how := ""
	if e.Resumed {
		how = " after it resumed"
	}
	evidence := Finding{From: before.Got, To: e.Got, Events: []history.Event{*before, *e}}
	switch {
	case e.Seq == before.Seq:
		r.found(evidence, "watcher %d got event %d twice%s", e.Watcher, e.Seq, how)
	case e.Seq < before.Seq:
		r.found(evidence, "watcher %d got event %d after %d%s", e.Watcher, e.Seq, before.Seq, how)
	case e.Seq > before.Seq+1:
		r.found(evidence, "watcher %d missed %d events between %d and %d%s", e.Watcher, e.Seq-before.Seq-1,
			before.Seq, e.Seq, how)
	case e.Index < before.Index:
		r.found(evidence, "event %d is of log index %d, the one before it of %d", e.Seq, e.Index, before.Index)
	}
}

// reached judges that no watcher was left behind. What it had to reach is what the
// workload read as the newest event at the end, or else what some watcher got early
// enough.
func (t *trial) reached(r *Result, watchers []int, last map[int]*history.Event) {
	ended := map[int]bool{}
	due, at := uint64(0), int64(0)
	for _, op := range t.rec.Ops {
		switch {
		case op.Workload != "watch":
		case op.Kind == "open" && op.Outcome != history.OK && (op.Error == "compacted" || op.Error == "invalid"):
			ended[op.Process] = true
		case op.Kind == "last" && op.Outcome == history.OK:
			due, at = op.Index, op.Call
		}
	}
	if due == 0 && t.rec.Run.Ended-t.rec.Run.Calm >= int64(t.bounds.Lag) {
		for _, e := range t.log {
			if e.Got <= t.rec.Run.Ended-int64(t.bounds.Lag) {
				due, at = e.Seq, e.Got
			}
		}
	}
	slices.Sort(watchers)
	for _, w := range watchers {
		switch e := last[w]; {
		case e.Seq >= due:
		case ended[w]:
			r.excuse("the watcher was told that what comes next is not kept")
		default:
			r.found(Finding{From: at, To: t.rec.Run.Ended, Events: []history.Event{*e}},
				"watcher %d got nothing after event %d, but event %d was there %s before the end", w, e.Seq,
				due, seconds(t.rec.Run.Ended-at))
		}
	}
	r.took("longest way of an event to the slowest watcher", t.slowestWay())
}

// slowestWay is the longest time between the first and the last watcher that got an
// event.
func (t *trial) slowestWay() (worst time.Duration) {
	first := map[uint64]int64{}
	for _, e := range t.log {
		first[e.Seq] = e.Got
	}
	for _, e := range t.rec.Events {
		worst = max(worst, time.Duration(e.Got-first[e.Seq]))
	}
	return worst
}

// sameEvent compares what the product said, not how it came.
func sameEvent(a, b *history.Event) bool {
	x, y := *a, *b
	x.Watcher, x.Got, x.Resumed = y.Watcher, y.Got, y.Resumed
	return x == y
}

// wordless is an event without its words, which are for people: a newer version may tell the same in others.
func wordless(e *history.Event) *history.Event {
	x := *e
	x.Text = ""
	return &x
}

// agreement looks for a server that the cluster itself found to differ. Servers compare
// their states every so many log entries; a run with fewer shows nothing.
func agreement(t *trial, r *Result) {
	terms := 0
	for _, e := range t.log {
		switch e.Kind {
		case "server.diverged":
			r.found(Finding{From: e.Got, To: e.Got, Events: []history.Event{e}},
				"the state of server %s differs from that of the majority", e.Text)
		case "leader.established":
			terms++
		}
	}
	if every := marksEvery(t.rec.Run.Settings); len(t.log) > 0 && every > 0 {
		r.judged(int((t.log[len(t.log)-1].Index - t.log[0].Index) / every))
	}
	r.count("comparisons of all states, at least due", r.Judged)
	r.count("changes of leaders", max(0, terms-1))
}

// marksEvery is how many log entries are between two comparisons, from the settings of
// the run or the default of the product; 0: there are none.
func marksEvery(settings map[string]string) uint64 {
	if n, err := strconv.ParseUint(settings["mark_every"], 10, 64); err == nil {
		return n
	}
	return 8192
}
