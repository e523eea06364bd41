package check

import (
	"maps"
	"slices"

	"vigil/jepsen/history"
)

// flooded is one budget that is filled, by one process.
type flooded struct {
	share, floor, text uint64
	open               map[uint64]bool // acknowledged and not taken out
	unsure             uint64          // may be there
	full, most         int
}

// budgets judges that nothing but a flood is refused for want of room, and that only when its
// share is used up; and that a share is never used beyond its end.
func budgets(t *trial, r *Result) {
	floods := map[string]*flooded{}
	for _, op := range t.rec.Ops { // of each flood one at a time
		evidence := Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}}
		if op.Error == "full" && op.Outcome == history.Failed && (op.Workload != "flood" || op.Kind != "create") {
			r.found(evidence, "%s of %s was refused as full: only what is new of the flood may be", op.Kind,
				op.Workload)
		}
		if op.Workload != "flood" {
			continue
		}
		r.judged(1)
		f := floods[op.Key]
		switch {
		case op.Kind == "budget":
			floods[op.Key] = &flooded{share: op.Share, floor: op.Floor, text: op.TextSize, open: map[uint64]bool{}}
		case f != nil:
			f.judge(r, op, evidence)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(floods)) {
		f := floods[key]
		r.count(key+" refused as full", f.full)
		r.count("most "+key+" of the flood", f.most)
	}
}

func (f *flooded) judge(r *Result, op history.Op, evidence Finding) {
	switch {
	case op.Outcome == history.Unknown && op.Kind == "create":
		f.unsure++
	case op.Kind == "cancel" && op.Outcome != history.Failed:
		delete(f.open, op.Task)
		if op.Outcome == history.Unknown {
			f.unsure++
		}
	case op.Kind == "create" && op.Outcome == history.OK:
		f.open[op.Task] = true
		f.most = max(f.most, len(f.open))
		if used := uint64(len(f.open)) * f.text; used > f.share {
			r.found(evidence, "%s: number %d was accepted: the texts that are open take %d bytes of a "+
				"share of %d", op.Key, op.Task, used, f.share)
		}
	case op.Error == "full" && op.Kind == "create":
		f.full++
		if used := (uint64(len(f.open)) + f.unsure) * f.text; used < f.floor {
			r.found(evidence, "%s: it was refused as full: the texts that are open take %d bytes of a share of %d",
				op.Key, used, f.share)
		}
	}
}
