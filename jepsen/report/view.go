package report

import (
	"cmp"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

// view is what the page shows. Times are relative to the moment at which the first
// fault could strike.
type view struct {
	Style  template.CSS
	Script template.JS
	Data   chartData

	Verdict, Sentence, Advice string
	Run                       history.Run
	Facts                     []fact
	Figures                   []figure

	Chart    chart
	Lives    livesView
	Findings []findingView
	Checks   []checkRow

	Operations []operationRow
	Errors     []errorRow
	Kinds      []kindRow
	Faults     []faultRow
	Machines   []string // that have a folder of logs

	folder   string
	rec      *history.Record
	results  []check.Result
	progress *check.Progress
	from, to int64 // what the charts span
}

// fact is one line about the run.
type fact struct{ Name, Value string }

// figure is one number that is shown large.
type figure struct{ Name, Value, Note string }

func newView(folder string, rec *history.Record, lives []*ledger.Life, results []check.Result) *view {
	v := &view{Style: template.CSS(styleText), Script: template.JS(scriptText),
		Run: rec.Run, folder: folder, rec: rec, results: results, progress: check.MeasureProgress(rec)}
	v.span(lives)
	v.Verdict = check.Worst(results)
	v.Sentence, v.Advice = v.sentences()
	v.Operations, v.Errors = operationRows(rec.Ops)
	v.Kinds, v.Faults = v.faultRows()
	v.Chart, v.Data = v.draw()
	v.Lives = v.drawLives(lives)
	v.Findings = v.findingViews()
	v.Checks = v.checkRows()
	v.Facts = v.facts()
	v.Figures = v.figures(lives)
	for _, m := range slices.Concat(rec.Run.Servers, rec.Run.Hosts) {
		if v.exists(m) {
			v.Machines = append(v.Machines, m)
		}
	}
	return v
}

// span finds what the charts have to show.
func (v *view) span(lives []*ledger.Life) {
	add := func(from, to int64) {
		if from == 0 {
			return
		}
		if v.from == 0 || from < v.from {
			v.from = from
		}
		v.to = max(v.to, to)
	}
	for _, op := range v.rec.Ops {
		add(op.Call, op.Return)
	}
	for _, f := range v.rec.Faults {
		add(f.From, f.To)
	}
	if v.from == 0 {
		for _, l := range lives {
			add(l.Start, l.Last())
		}
	}
	add(v.Run.Began, v.Run.Ended)
	v.to = max(v.to, v.from+int64(time.Second))
}

// zero is the moment from which times are counted.
func (v *view) zero() int64 {
	if v.Run.Began != 0 {
		return v.Run.Began
	}
	return v.from
}

// at says when, in seconds.
func (v *view) at(ns int64) string {
	return fmt.Sprintf("%.3f s", time.Duration(ns-v.zero()).Seconds())
}

// percent says where, on the charts.
func (v *view) percent(ns int64) float64 {
	p := 100 * float64(ns-v.from) / float64(v.to-v.from)
	return min(100, max(0, p))
}

// sentences say the verdict, and what to do with it.
func (v *view) sentences() (sentence, advice string) {
	by := map[string][]string{}
	findings := 0
	var laws []string
	for _, r := range v.results {
		by[r.Verdict] = append(by[r.Verdict], r.Name)
		findings += len(r.Findings)
		if r.Verdict == check.Broken {
			laws = append(laws, promise(r))
		}
	}
	how := fmt.Sprintf("in %s with %s and %s", round(time.Duration(v.to-v.from)),
		plural(len(v.rec.Ops), "operation"), plural(len(v.rec.Faults), "fault"))
	idle := ""
	if n := len(by[check.Nothing]); n > 0 {
		idle = fmt.Sprintf(" %s had nothing to judge: %s.", plural(n, "check"), strings.Join(by[check.Nothing], ", "))
	}
	switch v.Verdict {
	case check.Broken:
		return fmt.Sprintf("Broken: %s (%s %s).", list(laws), plural(findings, "finding"), how),
			"Begin with the first finding below: it shows what was asked and answered, and where the " +
				"logs are. The command repeats the run."
	case check.Undecided:
		return fmt.Sprintf("Undecided: nothing broken was found %s, but %s did not come to an end: %s.", how,
				plural(len(by[check.Undecided]), "search"), list(by[check.Undecided])),
			"A longer limit for the search may decide it." + idle
	case check.Nothing:
		return "Nothing to judge: the record holds nothing that a check is about.", ""
	}
	return fmt.Sprintf("Kept: no law was broken %s.", how),
		fmt.Sprintf("%s kept.%s", plural(len(by[check.Kept]), "check"), idle)
}

// promise names what a check is about.
func promise(r check.Result) string {
	if r.Law == "" {
		return r.Name
	}
	return fmt.Sprintf("%s (%s)", r.Law, r.Name)
}

func (v *view) facts() []fact {
	run := v.Run
	list := []fact{
		{"Revision", run.Revision},
		{"Older build", run.Older},
		{"Seed", fmt.Sprint(run.Seed)},
		{"Began", run.BeganAt},
		{"Machines", fmt.Sprintf("%s, %s", plural(len(run.Servers), "server"), plural(len(run.Hosts), "host"))},
		{"TTL of leases and fences", round(time.Duration(run.TTL)).String()},
		{"Fenced roles", strings.Join(run.Fenced, ", ")},
		{"Faults that could be drawn", strings.Join(run.Kinds, ", ")},
	}
	for _, key := range sortedKeys(run.Settings) {
		list = append(list, fact{"Setting " + key, run.Settings[key]})
	}
	return slices.DeleteFunc(list, func(f fact) bool { return f.Value == "" })
}

func (v *view) figures(lives []*ledger.Life) []figure {
	done, unknown := 0, 0
	for _, op := range v.rec.Ops {
		switch op.Outcome {
		case history.OK:
			done++
		case history.Unknown:
			unknown++
		}
	}
	agents := map[string]bool{}
	for _, l := range lives {
		agents[l.Agent] = true
	}
	list := []figure{
		{"operations tried", thousands(len(v.rec.Ops)),
			fmt.Sprintf("%s done, %s without an answer", thousands(done), thousands(unknown))},
		{"faults", thousands(len(v.rec.Faults)), plural(len(v.Kinds), "kind")},
		{"lives of agents", thousands(len(lives)), plural(len(agents), "agent")},
		{"longest time without an acknowledged write", v.stall(), "whatever the fault was"},
	}
	if v.Run.Calm != 0 {
		list = append(list,
			figure{"last fault healed to the next write", duration(v.progress.Calm), ""},
			figure{"last fault healed to all agents at work",
				v.stat("recovery", "last fault healed to the last agent at work"), ""})
	}
	return list
}

func (v *view) stall() string {
	if v.progress.Stall == 0 {
		return "none"
	}
	return duration(v.progress.Stall)
}

// stat is a number of a check as the page shows it.
func (v *view) stat(name, number string) string {
	for _, r := range v.results {
		for _, s := range r.Stats {
			if r.Name == name && s.Name == number {
				return statText(s)
			}
		}
	}
	return "not judged"
}

func (v *view) exists(name string) bool {
	_, err := os.Stat(filepath.Join(v.folder, filepath.FromSlash(name)))
	return err == nil
}

func statText(s check.Stat) string {
	if s.Unit == "s" {
		return duration(time.Duration(s.Value * float64(time.Second)))
	}
	return thousands(int(s.Value))
}

// duration says a time with three digits; a negative one never came.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "never"
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d == 0:
		return "0 s"
	}
	return fmt.Sprintf("%.2g ms", float64(d)/1e6)
}

func round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// thousands groups digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	}
	return thousands(n) + " " + noun + "s"
}

func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
