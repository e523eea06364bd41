package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

// operationRow counts the calls of one kind.
type operationRow struct {
	Workload, Kind                  string
	Tried, Done, Failed, NoAnswer   string
	P50, P99, Longest               string
	tried, done, failed, unanswered int
	took                            []int64
}

// errorRow counts one code of errors.
type errorRow struct {
	Code, Outcome string
	Count         string
	count         int
}

// kindRow is about the faults of one kind.
type kindRow struct {
	Kind, Lane, Count         string
	Total                     string
	StallMedian, StallLongest string
	HealMedian, HealLongest   string
	stall, heal               []time.Duration
	count                     int
	total                     time.Duration
	unhealed                  int
	lanes                     map[string]bool
}

// faultRow is one fault.
type faultRow struct {
	ID                       string
	Kind, Lane, From, Length string
	Note, Effects            string
	Stall, Heal              string
}

// checkRow is one check.
type checkRow struct {
	check.Result
	Count   string // of what was judged
	Mark    string // of the verdict, beside the word
	Class   string
	Numbers []fact
	Spared  int // excused
	Links   []link
}

type link struct{ Text, To string }

func operationRows(ops []history.Op) ([]operationRow, []errorRow) {
	type key struct{ workload, kind string }
	type problem struct{ code, outcome string }
	rows, errors := map[key]*operationRow{}, map[problem]int{}
	for _, op := range ops {
		k := key{op.Workload, op.Kind}
		r := rows[k]
		if r == nil {
			r = &operationRow{Workload: op.Workload, Kind: op.Kind}
			rows[k] = r
		}
		r.tried++
		switch op.Outcome {
		case history.OK:
			r.done++
			r.took = append(r.took, op.Return-op.Call)
		case history.Failed:
			r.failed++
		default:
			r.unanswered++
		}
		if op.Outcome != history.OK {
			errors[problem{op.Error, op.Outcome}]++
		}
	}
	var list []operationRow
	for _, r := range rows {
		r.Tried, r.Done, r.Failed, r.NoAnswer = thousands(r.tried), thousands(r.done), thousands(r.failed),
			thousands(r.unanswered)
		if len(r.took) > 0 {
			slices.Sort(r.took)
			r.P50, r.P99 = duration(time.Duration(quantile(r.took, 50))), duration(time.Duration(quantile(r.took, 99)))
			r.Longest = duration(time.Duration(r.took[len(r.took)-1]))
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b operationRow) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Kind, b.Kind))
	})
	var problems []errorRow
	for p, n := range errors {
		problems = append(problems, errorRow{p.code, p.outcome, thousands(n), n})
	}
	slices.SortFunc(problems, func(a, b errorRow) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Outcome, b.Outcome))
	})
	return list, problems
}

// quantile takes one of a sorted list that is not empty.
func quantile[T any](sorted []T, percent int) T { return sorted[(len(sorted)-1)*percent/100] }

func (v *view) faultRows() ([]kindRow, []faultRow) {
	kinds := map[string]*kindRow{}
	var faults []faultRow
	for i, f := range v.rec.Faults {
		k := kinds[f.Kind]
		if k == nil {
			k = &kindRow{Kind: f.Kind, lanes: map[string]bool{}}
			kinds[f.Kind] = k
		}
		k.lanes[f.Lane] = true
		p := v.progress.Faults[i]
		k.count++
		k.total += time.Duration(f.To - f.From)
		k.stall = append(k.stall, p.Stall)
		if p.Heal >= 0 {
			k.heal = append(k.heal, p.Heal)
		} else {
			k.unhealed++
		}
		faults = append(faults, faultRow{fmt.Sprintf("fault%d", i+1), f.Kind, f.Lane, v.at(f.From),
			duration(time.Duration(f.To - f.From)),
			f.Note, effects(f), duration(p.Stall), duration(p.Heal)})
	}
	var list []kindRow
	for _, k := range kinds {
		slices.Sort(k.stall)
		slices.Sort(k.heal)
		k.Lane = strings.Join(sortedKeys(k.lanes), ", ")
		k.Count, k.Total = thousands(k.count), duration(k.total)
		k.StallMedian, k.StallLongest = duration(quantile(k.stall, 50)), duration(quantile(k.stall, 100))
		if len(k.heal) > 0 {
			k.HealMedian, k.HealLongest = duration(quantile(k.heal, 50)), duration(quantile(k.heal, 100))
		}
		if k.unhealed > 0 {
			k.HealLongest = fmt.Sprintf("never, %s", plural(k.unhealed, "time"))
		}
		list = append(list, *k)
	}
	slices.SortFunc(list, func(a, b kindRow) int {
		return cmp.Or(cmp.Compare(quantile(b.stall, 100), quantile(a.stall, 100)), cmp.Compare(a.Kind, b.Kind))
	})
	return list, faults
}

// effects says what a fault touched: "s1, s2: cut off; h1: killed".
func effects(f history.Fault) string {
	var whats []string
	touched := map[string][]string{}
	for _, e := range f.Effects {
		if touched[e.What] == nil {
			whats = append(whats, e.What)
		}
		name := e.Machine
		if e.Agent != "" {
			name = e.Agent + " on " + e.Machine
		}
		if !slices.Contains(touched[e.What], name) {
			touched[e.What] = append(touched[e.What], name)
		}
	}
	for i, what := range whats {
		word := words[what]
		if word == "" {
			word = what
		}
		whats[i] = strings.Join(touched[what], ", ") + ": " + word
	}
	return strings.Join(whats, "; ")
}

// marks stand beside the word of a verdict, so that no color is needed.
var marks = map[string][2]string{check.Kept: {"✓", "kept"}, check.Broken: {"✗", "broken"},
	check.Undecided: {"?", "undecided"}, check.Nothing: {"–", "nothing"}}

func (v *view) checkRows() (rows []checkRow) {
	for _, r := range v.results {
		row := checkRow{Result: r, Count: thousands(r.Judged), Mark: marks[r.Verdict][0], Class: marks[r.Verdict][1]}
		for _, s := range r.Stats {
			row.Numbers = append(row.Numbers, fact{s.Name, statText(s)})
		}
		for _, e := range r.Excused {
			row.Spared += e.Count
		}
		for _, line := range r.Timelines {
			row.Links = append(row.Links, link{line.Name, timelineFile(line.Name)})
		}
		rows = append(rows, row)
	}
	return rows
}
