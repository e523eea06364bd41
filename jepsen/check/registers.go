package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"vigil/jepsen/history"
)

// register is the state of one key. Before the first call that shows or sets it,
// nothing is known of it.
type register struct {
	known bool
	value string
	rev   uint64 // of the last read: revisions of one key never fall
}

// registerModel is the promise of workload register. An output of nil is a call
// without an answer: it takes effect when it can.
var registerModel = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) {
		s, op := state.(register), input.(history.Op)
		answer, answered := output.(history.Op)
		switch {
		case op.Kind == "write":
			return true, register{true, op.Value, s.rev}
		case op.Kind == "read" && !answered:
			return true, s
		case op.Kind == "read":
			if s.known && s.value != answer.Value || answer.Rev < s.rev {
				return false, s
			}
			return true, register{true, answer.Value, answer.Rev}
		case answered && answer.Outcome == history.Failed: // a cas that met another value
			return !s.known || s.value != op.Old, s
		case s.known && s.value != op.Old:
			return !answered, s
		}
		return true, register{true, op.Value, s.rev}
	},
	DescribeOperation: func(input, output any) string {
		op := input.(history.Op)
		answer, answered := output.(history.Op)
		how := "no answer"
		if answered {
			how = answer.Outcome
		}
		switch op.Kind {
		case "write":
			return fmt.Sprintf("write %s: %s", op.Value, how)
		case "cas":
			return fmt.Sprintf("cas %s to %s: %s", op.Old, op.Value, how)
		}
		return fmt.Sprintf("read %s at %d", answer.Value, answer.Rev)
	},
	DescribeState: func(state any) string {
		if s := state.(register); s.known {
			return s.value
		}
		return "unknown"
	},
}

func registers(t *trial, r *Result) {
	byKey := map[string][]history.Op{}
	for _, op := range t.rec.Ops {
		if op.Workload == "register" && op.Key != "" {
			byKey[op.Key] = append(byKey[op.Key], op)
		}
	}
	var parts []part
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		parts = append(parts, t.registerPart(key, byKey[key]))
		t.revisions(r, key, byKey[key])
	}
	t.search(r, parts)
	kinds := map[string]int{}
	for _, list := range byKey {
		for _, op := range list {
			kinds[op.Kind+" "+op.Outcome]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		r.count(kind, kinds[kind])
	}
}

// registerPart makes the history of one key. Values are written once: a write of
// unknown outcome whose value was seen was done before it was first seen, and one
// that nobody saw explains at most why a cas was refused.
func (t *trial) registerPart(key string, list []history.Op) part {
	seen := map[string]int64{} // by value: when a call that shows it first returned
	for _, op := range list {
		value := op.Value
		if op.Kind == "cas" {
			value = op.Old
		}
		if op.Outcome != history.OK || op.Kind == "write" {
			continue
		}
		if at, ok := seen[value]; !ok || op.Return < at {
			seen[value] = op.Return
		}
	}
	var ops, unseen []porcupine.Operation
	for _, op := range list {
		entry := porcupine.Operation{ClientId: op.Process, Input: op, Call: op.Call, Output: op,
			Return: op.Return, Metadata: op}
		writes := op.Kind != "read"
		switch {
		case op.Outcome == history.OK, op.Kind == "cas" && op.Outcome == history.Failed && op.Error == "conflict":
			ops = append(ops, entry)
		case op.Outcome == history.Unknown && writes:
			entry.Output = nil
			entry.Return = forever
			if at, ok := seen[op.Value]; ok && at >= op.Call {
				entry.Return = at
				ops = append(ops, entry)
			} else {
				unseen = append(unseen, entry)
			}
		}
	}
	wider := func() ([]porcupine.Operation, string) {
		all := slices.Concat(ops, unseen)
		if t.rec.Run.Older == "" {
			return all, ""
		}
		return append(all, repeats(list, seen)...),
			"older servers do not know repetitions of a declaration: a write took effect twice"
	}
	if len(unseen) == 0 && t.rec.Run.Older == "" {
		wider = nil
	}
	return part{name: key, model: registerModel, ops: ops, wider: wider}
}

// repeats are the second effects that unconditional writes may have on servers of
// builds that do not know their repetitions.
func repeats(list []history.Op, seen map[string]int64) (more []porcupine.Operation) {
	last := map[string]int64{}
	for _, op := range list {
		if op.Kind == "read" && op.Outcome == history.OK {
			last[op.Value] = max(last[op.Value], op.Return)
		}
	}
	for _, op := range list {
		if _, ok := seen[op.Value]; ok && op.Kind == "write" && op.Outcome != history.Failed {
			more = append(more, porcupine.Operation{ClientId: op.Process, Input: op, Call: op.Call,
				Return: max(last[op.Value], op.Call), Metadata: op})
		}
	}
	return more
}

// revisions judges that one revision of a key has one value.
func (t *trial) revisions(r *Result, key string, list []history.Op) {
	values := map[uint64]history.Op{}
	for _, op := range list {
		if op.Kind != "read" || op.Outcome != history.OK {
			continue
		}
		if first, ok := values[op.Rev]; !ok {
			values[op.Rev] = op
		} else if first.Value != op.Value {
			r.found(Finding{From: first.Call, To: op.Return, Ops: []history.Op{first, op}},
				"%s: revision %d was read as %q and as %q", key, op.Rev, first.Value, op.Value)
		}
	}
}
