package report

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

// findingsShown is how many findings of one check are shown with their evidence.
const findingsShown = 20

// findingView is one broken law.
type findingView struct {
	ID, Law, Check, What string
	From, Length         string
	Ops                  []opRow
	Events               []eventRow
	Files                []link
	More                 string // on the last one shown, how many follow
	Faults               []string
}

type opRow struct {
	At, Took, Workload, Kind, Process, Via, Outcome, About string
}

type eventRow struct {
	At, Seq, Index, Kind, About, Watcher string
}

func (v *view) findingViews() (list []findingView) {
	for i, r := range v.results {
		for j, f := range r.Findings {
			if j == findingsShown {
				list[len(list)-1].More = fmt.Sprintf("%s more of this check are in verdict.json.",
					plural(len(r.Findings)-j, "finding"))
				break
			}
			list = append(list, v.findingView(findingID(i, j), r, f))
		}
	}
	return list
}

func (v *view) findingView(id string, r check.Result, f check.Finding) findingView {
	out := findingView{ID: id, Law: r.Law, Check: r.Name, What: f.What}
	if f.From != 0 {
		out.From = v.at(f.From)
		if f.To > f.From {
			out.Length = duration(time.Duration(f.To - f.From))
		}
	}
	for _, op := range f.Ops {
		out.Ops = append(out.Ops, v.opRow(op))
	}
	for _, e := range f.Events {
		out.Events = append(out.Events, v.eventRow(e))
	}
	for _, life := range f.Lives {
		out.Files = append(out.Files, v.file("ledger/"+life))
	}
	if f.Timeline != "" {
		out.Files = append(out.Files, link{"timeline of the search", escape(timelineFile(f.Timeline))})
	}
	for _, fault := range v.rec.Faults {
		if f.From != 0 && fault.From <= f.To && fault.To >= f.From && len(out.Faults) < findingsShown {
			out.Faults = append(out.Faults, fmt.Sprintf("%s (%s, %s for %s)", fault.Kind, effects(fault),
				v.at(fault.From), duration(time.Duration(fault.To-fault.From))))
		}
	}
	return out
}

// file links to a file of the run when it is there.
func (v *view) file(name string) link {
	if !v.exists(name) {
		return link{Text: name}
	}
	return link{name, escape(name)}
}

// escape makes a relative address of the name of a file.
func escape(name string) string { return (&url.URL{Path: name}).EscapedPath() }

func (v *view) opRow(op history.Op) opRow {
	outcome := op.Outcome
	if op.Error != "" {
		outcome += ": " + op.Error
	}
	return opRow{v.at(op.Call), duration(time.Duration(op.Return - op.Call)), op.Workload, op.Kind,
		fmt.Sprint(op.Process), op.Via, outcome, aboutOp(op)}
}

// aboutOp says all fields of a call that are filled.
func aboutOp(op history.Op) string {
	var words []string
	add := func(name string, value any, filled bool) {
		if filled {
			words = append(words, fmt.Sprintf("%s %v", name, value))
		}
	}
	add("key", op.Key, op.Key != "")
	add("value", op.Value, op.Value != "")
	add("old", op.Old, op.Old != "")
	add("task", op.Task, op.Task != 0)
	add("attempt", op.Attempt, op.Attempt != 0)
	add("agent", op.Agent, op.Agent != "")
	add("incarnation", op.Incarnation, op.Incarnation != 0)
	add("state", op.State, op.State != "")
	add("rev", op.Rev, op.Rev != 0)
	add("index", op.Index, op.Index != 0)
	add("write id", op.WriteID, op.WriteID != "")
	add("list", strings.Join(op.List, " "), len(op.List) > 0)
	if op.Stale {
		words = append(words, "stale")
	}
	return strings.Join(words, ", ")
}

func (v *view) eventRow(e history.Event) eventRow {
	var words []string
	add := func(name string, value any, filled bool) {
		if filled {
			words = append(words, fmt.Sprintf("%s %v", name, value))
		}
	}
	add("agent", e.Agent, e.Agent != "")
	add("incarnation", e.Incarnation, e.Incarnation != 0)
	add("task", e.Task, e.Task != 0)
	add("attempt", e.Attempt, e.Attempt != 0)
	add("host", e.Host, e.Host != "")
	add("room", e.Room, e.Room != "" && e.Agent == "")
	if e.Text != "" {
		words = append(words, e.Text)
	}
	return eventRow{v.at(e.Got), fmt.Sprint(e.Seq), fmt.Sprint(e.Index), e.Kind, strings.Join(words, ", "),
		fmt.Sprint(e.Watcher)}
}
