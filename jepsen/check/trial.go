package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

// trial is a record as the checks look at it. Checks only read it.
type trial struct {
	rec    *history.Record
	lives  []*ledger.Life
	bounds Bounds
	ttl    int64

	effects map[string][]history.Effect // by machine
	log     []history.Event             // every event once, by sequence number, as it was first heard
	whole   bool                        // the log begins with the first event and has no gap
	byAgent map[string][]*ledger.Life
	byTask  map[uint64][]history.Op // operations on a task, by call

	marks []mark // by log index

	judge func() *ledger.Verdict // the ledger's laws, judged once
}

// mark ties a log index to time: entries above index were written after, those up to
// index before.
type mark struct {
	index         uint64
	after, before int64
}

func newTrial(rec *history.Record, lives []*ledger.Life, bounds Bounds) *trial {
	t := &trial{rec: rec, lives: lives, bounds: bounds, ttl: rec.Run.TTL,
		effects: map[string][]history.Effect{}, byAgent: map[string][]*ledger.Life{}, byTask: map[uint64][]history.Op{}}
	for _, f := range rec.Faults {
		for _, e := range f.Effects {
			t.effects[e.Machine] = append(t.effects[e.Machine], e)
		}
	}
	for _, l := range lives {
		t.byAgent[l.Agent] = append(t.byAgent[l.Agent], l)
	}
	for _, op := range rec.Ops {
		if op.Task != 0 {
			t.byTask[op.Task] = append(t.byTask[op.Task], op)
		}
	}
	for _, list := range t.byTask {
		slices.SortStableFunc(list, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	}
	t.log, t.whole = merge(rec.Events)
	t.marks = marks(rec.Ops)
	t.judge = sync.OnceValue(t.judgeLedger)
	return t
}

// merge makes one log of what the watchers saw, and tells whether it is whole.
func merge(events []history.Event) ([]history.Event, bool) {
	log := slices.Clone(events)
	slices.SortStableFunc(log, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Got, b.Got))
	})
	log = slices.CompactFunc(log, func(a, b history.Event) bool { return a.Seq == b.Seq })
	whole := len(log) > 0 && log[0].Seq == 1
	for i := 1; i < len(log); i++ {
		whole = whole && log[i].Seq == log[i-1].Seq+1
	}
	return log, whole
}

// marks takes from the answers what they tell about when log entries were written.
func marks(ops []history.Op) []mark {
	var list []mark
	for _, op := range ops {
		if op.Index != 0 && op.Outcome == history.OK && !op.Stale && op.Workload != "watch" { // watchers name events
			list = append(list, mark{op.Index, op.Call, op.Return})
		}
	}
	slices.SortFunc(list, func(a, b mark) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(list); i++ {
		list[i].after = max(list[i].after, list[i-1].after)
	}
	for i := len(list) - 2; i >= 0; i-- {
		list[i].before = min(list[i].before, list[i+1].before)
	}
	return list
}

// happened says when an event took place, as closely as answers that name a log index
// tell; else shortly before it was heard.
func (t *trial) happened(e history.Event) span {
	s := span{e.Got - t.ttl, e.Got}
	i, _ := slices.BinarySearchFunc(t.marks, e.Index, func(m mark, index uint64) int {
		return cmp.Compare(m.index, index)
	})
	if i < len(t.marks) {
		s.to = min(s.to, t.marks[i].before)
	}
	if i > 0 {
		s.from = min(t.marks[i-1].after, s.to)
	}
	return s
}

// marked tells whether an answer tells before which moment an event had not happened. What is there before
// the first one is heard when somebody listens, which may be late.
func (t *trial) marked(e history.Event) bool { return len(t.marks) > 0 && t.marks[0].index < e.Index }

// follows tells whether the i-th event of the log is the one after the event before
// it: nothing is missing between them.
func (t *trial) follows(i int) bool { return i == 0 || t.log[i].Seq == t.log[i-1].Seq+1 }

// life finds the first life with an incarnation.
func (t *trial) life(agent string, incarnation uint64) *ledger.Life {
	for _, l := range t.byAgent[agent] {
		if l.Incarnation == incarnation {
			return l
		}
	}
	return nil
}

// ticked tells whether a life ran at some moment of a time.
func ticked(l *ledger.Life, from, to int64) bool {
	i, _ := slices.BinarySearch(l.Ticks, from)
	return i < len(l.Ticks) && l.Ticks[i] <= to
}

// lastTick is the last moment before a time at which a life ran.
func lastTick(l *ledger.Life, before int64) int64 {
	i, _ := slices.BinarySearch(l.Ticks, before)
	if i == 0 {
		return l.Start
	}
	return l.Ticks[i-1]
}

// role is the role of an agent: room/role of room/role.2.
func role(agent string) string {
	room, name, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, ".")
	return room + "/" + name
}

// at says a time for people: seconds since the first fault could strike.
func (t *trial) at(ns int64) string {
	return fmt.Sprintf("%.3f s", time.Duration(ns-t.rec.Run.Began).Seconds())
}

// seconds says a duration in nanoseconds for people.
func seconds(ns int64) string { return fmt.Sprintf("%.2f s", time.Duration(ns).Seconds()) }

func compare(a, b int64) int { return cmp.Compare(a, b) }
