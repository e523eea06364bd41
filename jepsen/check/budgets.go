package check

import "vigil/jepsen/history"

// budgets judges that nothing but a flood of new tasks is refused for want of room, and that only
// when its share is used up; and that a share is never used beyond its end.
func budgets(t *trial, r *Result) {
	var share, text uint64
	open, unsure := map[uint64]bool{}, uint64(0) // acknowledged and not canceled; may be there
	full, most := 0, 0
	for _, op := range t.rec.Ops { // of the flood one at a time
		evidence := Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}}
		if op.Error == "full" && op.Outcome == history.Failed && (op.Workload != "flood" || op.Kind != "create") {
			r.found(evidence, "%s of %s was refused as full: only new tasks of the flood may be", op.Kind, op.Workload)
		}
		if op.Workload != "flood" {
			continue
		}
		r.judged(1)
		switch {
		case op.Kind == "budget":
			share, text = op.Share, op.TextSize
		case op.Outcome == history.Unknown && op.Kind == "create":
			unsure++
		case op.Kind == "cancel" && op.Outcome != history.Failed:
			delete(open, op.Task)
			if op.Outcome == history.Unknown {
				unsure++
			}
		case op.Kind == "create" && op.Outcome == history.OK:
			open[op.Task] = true
			most = max(most, len(open))
			if used := uint64(len(open)) * text; used > share {
				r.found(evidence, "task %d was accepted: the texts of open tasks take %d bytes of a "+
					"share of %d", op.Task, used, share)
			}
		case op.Error == "full":
			full++
			// A tenth is in reserve.
			if used := (uint64(len(open)) + unsure) * text; used < share*6/10 {
				r.found(evidence,
					"a task was refused as full: the texts of open tasks take %d bytes of a share of %d", used, share)
			}
		}
	}
	if share > 0 {
		r.count("tasks refused as full", full)
		r.count("most open tasks of the flood", most)
	}
}
