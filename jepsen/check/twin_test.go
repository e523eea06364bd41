package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vigil/jepsen/history"
)

// twin decides by trying every order of every choice of calls without an answer
// whether reads, writes and conditional writes of one key fit an order. It knows
// nothing of the search, nor of what the check leaves out of it.
func twin(ops []history.Op) bool {
	var place func(left []history.Op, s register) bool
	place = func(left []history.Op, s register) bool {
		done := true
		for _, op := range left {
			done = done && op.Outcome != history.OK && !refused(op)
		}
		if done {
			return true // the others never happened, or were reads
		}
		for i, op := range left {
			first := true
			for j, other := range left {
				first = first && (j == i || other.Return >= op.Call || other.Outcome == history.Unknown)
			}
			next, ok := naive(op, s)
			if first && ok && place(append(append([]history.Op{}, left[:i]...), left[i+1:]...), next) {
				return true
			}
		}
		return false
	}
	var relevant []history.Op
	for _, op := range ops {
		if op.Outcome == history.OK || refused(op) || op.Outcome == history.Unknown && op.Kind != "read" {
			relevant = append(relevant, op)
		}
	}
	return place(relevant, register{})
}

func refused(op history.Op) bool { return op.Kind == "cas" && op.Outcome == history.Failed }

// naive is one call as the promise has it.
func naive(op history.Op, s register) (register, bool) {
	switch {
	case op.Kind == "read":
		ok := (!s.known || s.value == op.Value) && op.Rev >= s.rev
		return register{true, op.Value, op.Rev}, ok
	case refused(op):
		return s, !s.known || s.value != op.Old
	case op.Kind == "cas" && s.known && s.value != op.Old:
		return s, false
	}
	return register{true, op.Value, s.rev}, true
}

// randomCalls makes a history in which many calls overlap and some answers are wrong.
func randomCalls(r *rand.Rand) *book {
	b := newBook().op("register", "write", 0, 1, history.Op{Key: "k", Value: "5"})
	value := func() string { return fmt.Sprint(r.IntN(6)) }
	for n := range 3 + r.IntN(5) {
		if n == 5 {
			n = 7
		}
		call := 2 + r.Int64N(60)
		op := history.Op{Key: "k", Process: n, Outcome: []string{history.OK, history.OK, history.OK,
			history.Unknown}[r.IntN(4)]}
		kind := []string{"write", "cas", "read", "read"}[r.IntN(4)]
		switch kind {
		case "read":
			op.Value, op.Rev = value(), uint64(r.IntN(2)) // one revision of two values is another finding
		case "cas":
			op.Value, op.Old = fmt.Sprint(n), value()
			if r.IntN(3) == 0 {
				op.Outcome, op.Error = history.Failed, "conflict"
			}
		default:
			op.Value = fmt.Sprint(n)
		}
		b.op("register", kind, call, call+1+r.Int64N(30), op)
	}
	return b
}

// The search, and what is left out of it to make it fast, decide as the twin does.
func TestRegistersAgreeWithTwin(t *testing.T) {
	explained := map[bool]int{}
	for seed := range uint64(1500) {
		b := randomCalls(rand.New(rand.NewPCG(seed, 1)))
		r := Result{Name: "registers"}
		tr := newTrial(b.rec, nil, DefaultBounds(2e9))
		tr.search(&r, []part{tr.registerPart("k", b.rec.Ops)})
		r.conclude()
		want := twin(b.rec.Ops)
		explained[want]++
		if got := r.Verdict != Broken; got != want {
			for _, op := range b.rec.Ops {
				t.Logf("%+v", op)
			}
			t.Fatalf("seed %d: the check says %s, the twin %v", seed, r.Verdict, want)
		}
	}
	if explained[true] < 100 || explained[false] < 100 {
		t.Errorf("explained and not: %v; one of them is hardly tried", explained)
	}
}
