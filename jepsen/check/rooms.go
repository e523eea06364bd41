package check

import (
	"cmp"
	"maps"
	"slices"

	"vigil/jepsen/history"
)

// generations is one room that is deleted and declared again, by one owner.
type generations struct {
	now    int            // how often it was deleted
	titles map[string]int // generation of tasks that were acknowledged
	late   bool           // a declaration without an answer may still come
}

// rooms judges rooms that are deleted and declared again: nothing of the old one is in the new one.
func rooms(t *trial, r *Result) {
	byKey := map[string][]history.Op{}
	for _, op := range t.rec.Ops {
		if op.Workload == "rooms" {
			byKey[op.Key] = append(byKey[op.Key], op)
		}
	}
	deleted, words := 0, 0
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		ops := byKey[key]
		slices.SortStableFunc(ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
		g := &generations{titles: map[string]int{}}
		for _, op := range ops {
			g.judge(r, op)
			if op.Kind == "word" {
				words++
			}
		}
		deleted += g.now
	}
	r.count("rooms deleted", deleted)
	r.count("words of lives whose room was deleted", words)
}

// judge judges one call of the owner, who makes one at a time.
func (g *generations) judge(r *Result, op history.Op) {
	evidence := Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}}
	ok := op.Outcome == history.OK
	switch {
	case op.Kind == "declare" && op.Outcome == history.Unknown:
		g.late = true
	case op.Kind == "delete" && (op.Outcome == history.Unknown || ok || op.Error == "not_found"):
		// One without an answer is repeated until it is done, before anything else is asked.
		if ok || op.Error == "not_found" {
			r.judged(1)
		}
		g.now++
	case !ok:
	case op.Kind == "create":
		g.titles[op.Value] = g.now
	case op.Kind == "look":
		r.judged(1)
		if op.State != "gone" && !g.late {
			r.found(evidence, "%s is there after its deletion was acknowledged", op.Key)
		}
	case op.Kind == "word":
		r.judged(1)
		r.found(evidence, "%s %d was heard about task %d (%q) although its room was deleted", op.Agent,
			op.Incarnation, op.Task, op.Value)
	case op.Kind == "claim" || op.Kind == "list":
		g.shows(r, op, evidence)
	}
}

// shows judges that a list, or a claim, shows tasks of this generation, and the list all.
func (g *generations) shows(r *Result, op history.Op, evidence Finding) {
	r.judged(1)
	list := op.List
	if op.Kind == "claim" {
		list = []string{op.Value}
	}
	for _, title := range list {
		if born, known := g.titles[title]; known && born < g.now {
			r.found(evidence, "%s shows task %q of a room that was deleted", op.Key, title)
		}
	}
	if op.Kind == "claim" {
		return
	}
	for _, title := range slices.Sorted(maps.Keys(g.titles)) {
		if g.titles[title] == g.now && !slices.Contains(list, title) {
			r.found(evidence, "%s lacks task %q, which was acknowledged after it was declared again", op.Key, title)
		}
	}
}
