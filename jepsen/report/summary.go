package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

// summary writes what fits a terminal.
func (v *view) summary(w io.Writer) error {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("%s", v.Sentence)
	if v.Advice != "" {
		say("%s", v.Advice)
	}
	say("\nrepeat: %s\n", v.Run.Command)
	for _, f := range v.Figures {
		note := f.Note
		if note != "" {
			note = "  (" + note + ")"
		}
		say("%12s  %s%s", f.Value, f.Name, note)
	}
	say("\nchecks")
	for _, c := range v.Checks {
		say("  %s %-16s %-16s %-7s judged %s, findings %d, excused %d", c.Mark, c.Name, c.Verdict, c.Law,
			thousands(c.Judged), len(c.Findings), c.Spared)
	}
	if len(v.Findings) > 0 {
		say("\nfindings")
	}
	for _, f := range v.Findings {
		say("  %s %s: %s", f.Law, f.Check, f.What)
	}
	if len(v.Kinds) > 0 {
		say("\nfaults                        count   longest time without a write   healed to the next write")
	}
	for _, k := range v.Kinds {
		say("  %-26s %6s   %-28s   %s", k.Kind, k.Count, k.StallLongest, k.HealLongest)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// findingsKept is how many findings of one check verdict.json has.
const findingsKept = 200

// verdict writes the results for programs.
func (v *view) verdict(w io.Writer) error {
	type kind struct {
		Kind    string `json:"kind"`
		Count   int    `json:"count"`
		Stall   int64  `json:"longest_stall_ns"`
		Heal    int64  `json:"longest_heal_ns"`
		Forever int    `json:"never_healed,omitempty"`
	}
	type result struct {
		check.Result
		Found int `json:"found"` // Findings may hold fewer
	}
	out := struct {
		Verdict    string         `json:"verdict"`
		Sentence   string         `json:"sentence"`
		Run        history.Run    `json:"run"`
		Operations int            `json:"operations"`
		Outcomes   map[string]int `json:"outcomes"`
		Faults     int            `json:"faults"`
		Kinds      []kind         `json:"faults_by_kind"`
		Stall      int64          `json:"longest_stall_ns"`
		Calm       int64          `json:"calm_to_write_ns"` // -1: no write followed
		Results    []result       `json:"results"`
	}{Verdict: v.Verdict, Sentence: v.Sentence, Run: v.Run, Operations: len(v.rec.Ops),
		Outcomes: map[string]int{}, Faults: len(v.rec.Faults), Stall: int64(v.progress.Stall),
		Calm: int64(v.progress.Calm)}
	for _, op := range v.rec.Ops {
		out.Outcomes[op.Outcome]++
	}
	for _, k := range v.Kinds {
		one := kind{Kind: k.Kind, Count: k.count, Stall: int64(quantile(k.stall, 100)), Forever: k.unhealed}
		if len(k.heal) > 0 {
			one.Heal = int64(quantile(k.heal, 100))
		}
		out.Kinds = append(out.Kinds, one)
	}
	for _, r := range v.results {
		found := len(r.Findings)
		r.Findings = r.Findings[:min(found, findingsKept)]
		out.Results = append(out.Results, result{r, found})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}
