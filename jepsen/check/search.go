package check

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"vigil/jepsen/history"
)

// forever is the return of a call whose effect may come at any time.
const forever = math.MaxInt64

// part is the history of one key or task, to be explained by one order of its calls.
type part struct {
	name  string
	model porcupine.Model
	ops   []porcupine.Operation
	// wider gives the history with calls that only matter when ops alone cannot be
	// explained; nil: there are none. It may say under which excuse.
	wider func() ([]porcupine.Operation, string)
}

// search looks for an order for each part. Parts are independent, so that one that
// takes too long does not keep the others from being decided.
func (t *trial) search(r *Result, parts []part) {
	deadline := time.Now().Add(t.bounds.Search)
	outcome := make([]porcupine.CheckResult, len(parts))
	excuses := make([]string, len(parts))
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, p := range parts {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			outcome[i] = decide(p.model, p.ops, deadline)
			if outcome[i] == porcupine.Illegal && p.wider != nil {
				ops, why := p.wider()
				parts[i].ops = ops
				if outcome[i] = decide(p.model, ops, deadline); outcome[i] == porcupine.Ok {
					excuses[i] = why
				}
			}
		})
	}
	wait.Wait()
	undecided := 0
	for i, p := range parts {
		r.judged(len(p.ops))
		switch outcome[i] {
		case porcupine.Unknown:
			undecided++
		case porcupine.Illegal:
			t.unexplained(r, p, len(r.Timelines) < timelinesKept)
		}
		if excuses[i] != "" {
			r.excuse(excuses[i])
		}
	}
	if undecided > 0 {
		r.Verdict = Undecided
	}
	if len(parts) > 0 && len(r.Timelines) == 0 {
		t.show(r, largest(parts))
	}
	r.count("histories searched", len(parts))
	r.count("calls in them", r.Judged)
	r.count("not decided in time", undecided)
}

// timelinesKept is how many broken histories of a check are drawn.
const timelinesKept = 5

// drawn is how many calls a timeline shows at most; a browser chokes on more.
const drawn = 2000

// decide is one search. Without time left nothing is decided.
func decide(model porcupine.Model, ops []porcupine.Operation, deadline time.Time) porcupine.CheckResult {
	left := time.Until(deadline)
	if left <= 0 {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(model, ops, left)
}

// unexplained reports a history without an order, as small as it can quickly be made:
// up to the first call that cannot be explained together with all that returned
// before.
func (t *trial) unexplained(r *Result, p part, draw bool) {
	ops := slices.Clone(p.ops)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	deadline := time.Now().Add(t.bounds.Search / 10)
	fits, breaks := 0, len(ops)
	for breaks-fits > 1 { // a longer history explains nothing that a shorter one does not
		middle := (fits + breaks) / 2
		switch decide(p.model, prefix(p.ops, ops[middle-1].Return), deadline) {
		case porcupine.Ok:
			fits = middle
		case porcupine.Illegal:
			breaks = middle
		default:
			fits = breaks - 1 // no time: report what is known
		}
	}
	last := ops[breaks-1]
	f := Finding{From: last.Call, To: min(last.Return, t.rec.Run.Ended)}
	for _, op := range ops[max(0, breaks-8):breaks] {
		f.Ops = append(f.Ops, op.Metadata.(history.Op))
	}
	if draw {
		f.Timeline = t.show(r, part{p.name, p.model, prefix(p.ops, last.Return), nil})
	}
	r.found(f, "%s: no order explains what was answered up to %q of process %d, which returned at %s", p.name,
		p.model.DescribeOperation(last.Input, last.Output), last.ClientId, t.at(f.To))
}

// prefix gives the history as it was known at a time: calls that had not returned yet
// may have had an effect, but their answers are not known.
func prefix(ops []porcupine.Operation, until int64) []porcupine.Operation {
	var out []porcupine.Operation
	for _, op := range ops {
		switch {
		case op.Call > until:
		case op.Return > until:
			open := op
			open.Return = forever
			open.Output = nil
			out = append(out, open)
		default:
			out = append(out, op)
		}
	}
	return out
}

// show adds a timeline of the end of a history and gives its name.
func (t *trial) show(r *Result, p part) string {
	ops := slices.Clone(p.ops)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	ops = ops[max(0, len(ops)-drawn):]
	clients := map[int]int{} // the page has a row for each number up to the highest
	for i := range ops {
		if _, ok := clients[ops[i].ClientId]; !ok {
			clients[ops[i].ClientId] = len(clients)
		}
		ops[i].ClientId = clients[ops[i].ClientId]
	}
	// Two histories whose names differ only in what no file name should hold are told
	// apart by their number.
	name := fmt.Sprintf("%s-%d-%s", r.Name, len(r.Timelines)+1, strings.Map(plainly, p.name))
	limit := t.bounds.Search / 10
	r.Timelines = append(r.Timelines, Timeline{name, func(w io.Writer) error {
		_, info := porcupine.CheckOperationsVerbose(p.model, ops, limit)
		if err := porcupine.Visualize(p.model, info, w); err != nil {
			return fmt.Errorf("draw %s: %w", name, err)
		}
		return nil
	}})
	return name
}

// plainly keeps what may be in the name of any file.
func plainly(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
		return c
	}
	return '-'
}

func largest(parts []part) part {
	return slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(len(a.ops), len(b.ops)) })
}
