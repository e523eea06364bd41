package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vigil/jepsen/history"
)

// completion is who was told that a task is completed by it.
type completion struct {
	task        uint64
	attempt     uint32
	agent       string
	incarnation uint64
}

// told is where it was told.
type told struct {
	completion
	at    int64
	ops   []history.Op
	lives []string
}

// lifecycle compares the list of tasks at the end with what was acknowledged.
func lifecycle(t *trial, r *Result) {
	final := map[uint64]history.Op{}
	titles := map[string]history.Op{} // by workload and title
	states := map[string]int{}
	for _, op := range t.rec.Ops {
		if !listed(op) || op.Kind != "final" || op.Outcome != history.OK || op.Task == 0 {
			continue
		}
		title := op.Workload + " " + op.Value
		if first, ok := titles[title]; ok && first.Task != op.Task {
			r.found(Finding{From: first.Call, To: op.Return, Ops: []history.Op{first, op}},
				"%q is there twice: as task %d and as %d", op.Value, first.Task, op.Task)
		}
		titles[title], final[op.Task] = op, op
		states[op.State]++
	}
	if len(final) == 0 {
		t.completedInLog(r)
		return
	}
	t.created(r, final)
	for _, c := range t.completions() {
		end, ok := final[c.task]
		if !ok {
			continue // of another workload
		}
		r.judged(1)
		if got := (completion{end.Task, end.Attempt, end.Agent, end.Incarnation}); end.State != completed ||
			got != c.completion {
			r.found(Finding{From: c.at, To: end.Return, Ops: append(c.ops, end), Lives: c.lives},
				"task %d was acknowledged as completed by attempt %d of %s %d, but at the end it is %s by attempt %d of %s %d",
				c.task, c.attempt, c.agent, c.incarnation, end.State, end.Attempt, end.Agent, end.Incarnation)
		}
	}
	t.forgotten(r, final)
	t.completedInLog(r)
	for _, state := range slices.Sorted(maps.Keys(states)) {
		r.count("tasks that ended "+state, states[state])
	}
}

// listed tells that the tasks of its workload are listed at the end.
func listed(op history.Op) bool { return op.Workload == "outage" || byHand(op) }

// byHand tells that agents without a host work in its workload too, whose completions are calls of the record.
func byHand(op history.Op) bool { return op.Workload == "lifecycle" || op.Workload == "sdk" }

// created judges that every task that was acknowledged is there.
func (t *trial) created(r *Result, final map[uint64]history.Op) {
	for _, op := range t.rec.Ops {
		if !listed(op) || op.Kind != "create" || op.Outcome != history.OK {
			continue
		}
		r.judged(1)
		switch end, ok := final[op.Task]; {
		case !ok:
			r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}},
				"task %d (%q) was accepted and is lost", op.Task, op.Value)
		case end.Value != op.Value:
			r.found(Finding{From: op.Call, To: end.Return, Ops: []history.Op{op, end}},
				"task %d was accepted as %q and is %q at the end", op.Task, op.Value, end.Value)
		}
	}
}

// completions are all that anybody was told, by task.
func (t *trial) completions() (list []told) {
	for _, op := range t.rec.Ops {
		if byHand(op) && op.Kind == "complete" && op.Outcome == history.OK {
			list = append(list, told{completion{op.Task, op.Attempt, op.Agent, op.Incarnation}, op.Call,
				[]history.Op{op}, nil})
		}
	}
	for _, l := range t.lives {
		for _, w := range l.Said {
			if w.What == "complete" {
				list = append(list, told{completion{w.Task, w.Attempt, l.Agent, l.Incarnation}, w.Sent,
					nil, []string{l.File}})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b told) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.at, b.at))
	})
	return list
}

// forgotten finds tasks that nobody finished although an agent that could work on them
// waited until the end.
func (t *trial) forgotten(r *Result, final map[uint64]history.Op) {
	idle := map[string]history.Look{} // by role
	for _, look := range t.rec.Looks {
		delete(idle, role(look.Agent))
		if look.Participant == "WAITING" && look.Task == 0 && look.Sent > t.rec.Run.Ended-t.ttl {
			idle[role(look.Agent)] = look
		}
	}
	half := t.halfOpenAtEnd()
	for _, id := range slices.Sorted(maps.Keys(final)) {
		end := final[id]
		if finished(end.State) {
			continue
		}
		key := end.Key
		if !strings.Contains(key, "/") {
			key = end.Workload + "/" + key // its room has the same name
		}
		if half[key] && end.State == "QUEUED" {
			r.excuse("its role was half-open when the run ended")
			continue
		}
		look, waits := idle[key]
		if !waits || t.rec.Run.Ended-t.rec.Run.Calm < int64(t.bounds.Agents) {
			r.excuse("the run ended before the task was finished, and nobody idle could have taken it")
			continue
		}
		r.found(Finding{From: end.Call, To: end.Return, Ops: []history.Op{end}},
			"task %d is %s at the end although %s waits for a task", id, end.State, look.Agent)
	}
}

// completedInLog judges that the log completes no task twice.
func (t *trial) completedInLog(r *Result) {
	done := map[uint64]history.Event{}
	for i, e := range t.log {
		switch {
		case !t.follows(i) || e.Kind == "cluster.restored":
			clear(done)
		case e.Kind == "task.completed":
			r.judged(1)
			if first, ok := done[e.Task]; ok {
				r.found(Finding{From: first.Got, To: e.Got, Events: []history.Event{first, e}},
					"the log completes task %d twice", e.Task)
			}
			done[e.Task] = e
		}
	}
}

// halfOpenAtEnd gives the roles, as room/role, that the log leaves half-open: of these single tasks
// are tried, and the others wait however many agents are idle.
func (t *trial) halfOpenAtEnd() map[string]bool {
	half := map[string]bool{}
	for _, e := range t.log {
		name, _, _ := strings.Cut(e.Text, ":")
		switch e.Kind {
		case "role.half_open":
			half[e.Room+"/"+name] = true
		case "role.open":
			delete(half, e.Room+"/"+name)
		}
	}
	return half
}
