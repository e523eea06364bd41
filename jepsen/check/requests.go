package check

import (
	"cmp"
	"slices"

	"vigil/jepsen/history"
)

// requests judges that all copies of one write are one write.
func requests(t *trial, r *Result) {
	groups := map[string][]history.Op{}
	var ids []string
	final := map[string][]history.Op{}
	listed := map[uint64]history.Op{}
	olds := map[string]history.Op{} // a set that found this reason before its own
	for _, op := range t.rec.Ops {
		switch {
		case op.Workload != "requests":
		case op.Kind == "final":
			final[op.Value] = append(final[op.Value], op)
			listed[op.Task] = op
		case op.WriteID != "":
			if groups[op.WriteID] == nil {
				ids = append(ids, op.WriteID)
			}
			groups[op.WriteID] = append(groups[op.WriteID], op)
			if op.Kind == "set" && op.Outcome == history.OK {
				olds[op.Old] = op
			}
		}
	}
	copies := 0
	for _, id := range ids {
		group := groups[id]
		copies += len(group)
		slices.SortStableFunc(group, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
		r.judged(1)
		answer := sameAnswer(r, id, group)
		switch group[0].Kind {
		case "create":
			oneTask(r, id, group, answer, final)
		case "cancel":
			end := listed[group[0].Task]
			refusedAndDone(r, id, group, answer, end, end.State == canceled)
		case "set":
			after, ok := olds[group[0].Value]
			refusedAndDone(r, id, group, answer, after, ok)
		}
	}
	r.count("copies", copies)
	r.count("writes", len(ids))
}

// tells is whether an answer says what became of the write, and not only that this
// server would not take it.
func tells(op history.Op) bool {
	return op.Outcome == history.OK ||
		op.Outcome == history.Failed && op.Error != "not_leader" && op.Error != "too_old" &&
			op.Error != "unknown_session"
}

// sameAnswer compares the answers of all copies and gives the first; nil when none
// was answered.
func sameAnswer(r *Result, id string, group []history.Op) (first *history.Op) {
	for i := range group {
		op := &group[i]
		switch {
		case !tells(*op):
		case first == nil:
			first = op
		case op.Outcome != first.Outcome || op.Error != first.Error || op.Task != first.Task:
			r.found(Finding{From: first.Call, To: op.Return, Ops: []history.Op{*first, *op}},
				"two copies of %s %s were answered differently: %s", first.Kind, id, answers(*first, *op))
		}
	}
	return first
}

func answers(a, b history.Op) string {
	say := func(op history.Op) string {
		if op.Outcome == history.OK {
			return "done"
		}
		return op.Error
	}
	if a.Task != b.Task {
		return "the tasks differ"
	}
	return say(a) + " and " + say(b)
}

// oneTask judges that a task that was created by copies is there once.
func oneTask(r *Result, id string, group []history.Op, answer *history.Op, final map[string][]history.Op) {
	there := final[group[0].Value]
	switch {
	case len(final) == 0: // the list was not read
	case len(there) > 1:
		r.found(Finding{From: group[0].Call, To: there[1].Return, Ops: append(slices.Clone(group), there...)},
			"create %s made %d tasks called %q", id, len(there), group[0].Value)
	case answer != nil && answer.Outcome == history.OK && len(there) == 0:
		r.found(Finding{From: group[0].Call, To: answer.Return, Ops: group},
			"create %s was acknowledged as task %d, which is not there at the end", id, answer.Task)
	case answer != nil && answer.Outcome == history.OK && there[0].Task != answer.Task:
		r.found(Finding{From: group[0].Call, To: there[0].Return, Ops: append(slices.Clone(group), there...)},
			"create %s was acknowledged as task %d, but is task %d", id, answer.Task, there[0].Task)
	case answer != nil && answer.Outcome == history.Failed && len(there) == 1:
		r.found(Finding{From: group[0].Call, To: there[0].Return, Ops: append(slices.Clone(group), there...)},
			"create %s was refused with %s, but made task %d", id, answer.Error, there[0].Task)
	}
}

// refusedAndDone finds writes of which every copy was refused and that took effect:
// a repetition was taken for a write of its own.
func refusedAndDone(r *Result, id string, group []history.Op, answer *history.Op, proof history.Op, done bool) {
	switch {
	case answer == nil || answer.Outcome != history.Failed:
	case done:
		r.found(Finding{From: group[0].Call, To: answer.Return, Ops: append(slices.Clone(group), proof)},
			"%s %s was refused with %s, but it took effect", group[0].Kind, id, answer.Error)
	case answer.Error == "conflict":
		r.excuse("refused with conflict: its condition may not have held any more")
	}
}
