package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"vigil/jepsen/history"
)

// States of tasks that checks look at.
const (
	completed   = "COMPLETED"
	failed      = "FAILED"
	canceled    = "CANCELED"
	quarantined = "QUARANTINED"
)

func finished(state string) bool {
	return state == completed || state == failed || state == canceled || state == quarantined
}

// task is what is known of a task in one order of the calls on it. That a task is
// taken back from its holder is told to nobody, so a newer claim is always possible;
// what is impossible is an older one, or a holder beside the newest.
type task struct {
	exists      bool
	attempt     uint32
	agent       string
	incarnation uint64
	free        bool   // the last attempt does not hold it any more
	end         string // state in which it is finished; empty: it is not
	result      string
}

// taskCall is a call on a task, with what may have happened before it without an
// answer.
type taskCall struct {
	history.Op
	hidden uint32 // claims whose outcome is unknown and that were sent before it returned
	born   bool   // the call that made the task; tasks without one exist from the beginning
}

// taskModel is the promise of workload claim for one task. An output of nil is a call
// without an answer: it takes effect when it can.
func taskModel(exists bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return task{exists: exists} },
		Step: func(state, input, output any) (bool, any) {
			s, c := state.(task), input.(taskCall)
			next, ok := s.step(c)
			if output == nil { // it may have been refused
				if !ok {
					next = s
				}
				return true, next
			}
			return ok, next
		},
		DescribeOperation: func(input, output any) string {
			c := input.(taskCall)
			how := c.State
			if output == nil {
				how = "no answer"
			}
			return fmt.Sprintf("%s attempt %d by %s %d %s %s", c.Kind, c.Attempt, c.Agent, c.Incarnation, c.Value, how)
		},
		DescribeState: func(state any) string {
			s := state.(task)
			return fmt.Sprintf("attempt %d of %s %d %s%s", s.attempt, s.agent, s.incarnation, s.end,
				map[bool]string{true: " free"}[s.free])
		},
	}
}

// step gives the state after a call, and whether the call was possible.
func (s task) step(c taskCall) (task, bool) {
	if c.born {
		ok := !s.exists
		s.exists = true
		return s, ok
	}
	if !s.exists {
		return s, false
	}
	switch c.Kind {
	case "claim", "next":
		return s.claim(c)
	case "start", "fail", "complete", "handoff":
		return s.work(c)
	case "cancel":
		if s.end != "" && s.end != canceled {
			return s, false
		}
		s.end = canceled
		return s, true
	}
	return s.shown(c)
}

func (s task) holder(c taskCall) bool {
	return s.attempt == c.Attempt && s.agent == c.Agent && s.incarnation == c.Incarnation
}

// claim is granted with the next number, or with the same one to who holds the task.
func (s task) claim(c taskCall) (task, bool) {
	switch {
	case s.end != "":
		return s, false
	case s.attempt != 0 && s.holder(c):
		return s, !s.free
	case c.Attempt <= s.attempt || c.Attempt-s.attempt-1 > c.hidden:
		return s, false
	}
	s.attempt, s.agent, s.incarnation, s.free = c.Attempt, c.Agent, c.Incarnation, false
	return s, true
}

func (s task) work(c taskCall) (task, bool) {
	ends := c.Kind == "complete" || c.Kind == "handoff"
	switch {
	case !s.holder(c):
		return s, false
	case s.end != "": // what was accepted as the end is accepted again
		return s, ends && s.end == completed || c.Kind == "fail" && s.end == failed && c.State == failed
	case ends: // also when it was just taken back: nobody else has it yet
		s.end, s.result = completed, c.Value
	case s.free:
		return s, false
	case c.Kind == "fail" && c.State == failed:
		s.end = failed
	case c.Kind == "fail":
		s.free = true
	}
	return s, true
}

// shown is a read.
func (s task) shown(c taskCall) (task, bool) {
	if c.Attempt < s.attempt || c.Attempt-s.attempt > c.hidden {
		return s, false
	}
	if c.Attempt > s.attempt { // by a claim that had no answer, maybe before the end
		if s.end == completed {
			return s, false
		}
		s.attempt, s.agent, s.incarnation, s.free = c.Attempt, c.Agent, c.Incarnation, false
	}
	if s.attempt != 0 && !s.holder(c) {
		return s, false
	}
	switch {
	case s.end != "" && c.State != s.end:
		return s, false
	case c.State == completed:
		return s, s.end == completed && s.result == c.Value
	case c.State == canceled:
		return s, s.end == canceled
	case finished(c.State): // by the cluster: a limit was reached
		s.end = c.State
	case c.State == "QUEUED", c.State == "PENDING":
		s.free = true
	case s.free:
		return s, false
	}
	return s, true
}

func claims(t *trial, r *Result) {
	byTask := map[uint64][]history.Op{}
	var lost []history.Op // claims of whatever task, without an answer
	handed := map[uint64]history.Op{}
	for _, op := range t.rec.Ops {
		switch {
		case op.Workload != "claim":
		case op.Task != 0:
			byTask[op.Task] = append(byTask[op.Task], op)
		case op.Kind == "next" && op.Outcome == history.Unknown:
			lost = append(lost, op)
		}
		if op.Workload == "claim" && op.Kind == "handoff" && op.Outcome == history.OK {
			for _, number := range op.List {
				var id uint64
				if _, err := fmt.Sscan(number, &id); err == nil {
					handed[id] = op
				}
			}
		}
	}
	var parts []part
	for _, id := range slices.Sorted(maps.Keys(byTask)) {
		parts = append(parts, taskPart(id, byTask[id], lost, handed))
	}
	t.search(r, parts)
	t.claimsInLog(r)
}

// taskPart makes the history of one task. It exists from the beginning when nobody was
// told that it was made.
func taskPart(id uint64, list, lost []history.Op, handed map[uint64]history.Op) part {
	unknown := slices.Clone(lost)
	seen := map[string]int64{} // results and ends, by when they were first shown
	note := func(what string, at int64) {
		if first, ok := seen[what]; !ok || at < first {
			seen[what] = at
		}
	}
	for _, op := range list {
		switch {
		case op.Kind == "claim" && op.Outcome == history.Unknown:
			unknown = append(unknown, op)
		case op.Outcome == history.OK && (op.Kind == "get" || op.Kind == "final"):
			note(op.Value, op.Return)
			note(op.State, op.Return)
		}
	}
	p, exists := part{name: fmt.Sprintf("task %d", id)}, true
	add := func(op history.Op, c taskCall, back int64) {
		o := porcupine.Operation{ClientId: op.Process, Input: c, Call: op.Call, Output: op, Return: back, Metadata: op}
		if op.Outcome != history.OK {
			o.Output = nil
		}
		p.ops = append(p.ops, o)
	}
	if op, ok := handed[id]; ok {
		exists = false
		add(op, taskCall{Op: op, born: true}, op.Return)
	}
	for _, op := range list {
		c := taskCall{Op: op}
		for _, u := range unknown {
			if u.Call <= op.Return {
				c.hidden++
			}
		}
		switch {
		case op.Outcome == history.OK && op.Kind == "create":
			exists, c.born = false, true
			add(op, c, op.Return)
		case op.Outcome == history.OK:
			add(op, c, op.Return)
		case op.Outcome == history.Failed, op.Kind != "complete" && op.Kind != "handoff" && op.Kind != "cancel":
		case op.Kind == "cancel":
			if at, ok := seen[canceled]; ok {
				add(op, c, max(at, op.Call))
			}
		default:
			if at, ok := seen[op.Value]; ok && op.Value != "" {
				add(op, c, max(at, op.Call))
			}
		}
	}
	p.model = taskModel(exists)
	return p
}

// claimsInLog replays what the log says of each task: a claim has the next number,
// and only after the last attempt was over.
func (t *trial) claimsInLog(r *Result) {
	type last struct {
		attempt uint32
		held    bool
		event   history.Event
	}
	tasks := map[uint64]*last{}
	seen := 0
	for i, e := range t.log {
		if !t.follows(i) || e.Kind == "cluster.restored" {
			clear(tasks)
		}
		a := tasks[e.Task]
		switch e.Kind {
		case "task.created":
			tasks[e.Task] = &last{event: e}
		case "task.claimed":
			seen++
			if a != nil && (a.held || e.Attempt != a.attempt+1) {
				r.found(Finding{From: a.event.Got, To: e.Got, Events: []history.Event{a.event, e}},
					"task %d: the log says that %s %d claimed it as attempt %d while attempt %d "+
						"was not over", e.Task, e.Agent, e.Incarnation, e.Attempt, a.attempt)
			}
			tasks[e.Task] = &last{e.Attempt, true, e}
		case "agent.adopted": // a life that is back has its task again
			if a != nil {
				a.held = true
			}
		case "task.recovered", "task.failed", "task.quarantined", "task.completed", "task.canceled":
			if a != nil && e.Attempt <= a.attempt {
				a.held = false
			}
		}
	}
	r.judged(seen)
	r.count("claims in the log", seen)
}
