package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"vigil/jepsen/history"
)

// chart is what is drawn over time. Places from left to right are percentages of the
// width, so that the page fits every screen; inside a panel the curves have 1000 by
// 100 units.
type chart struct {
	Ticks   []tick
	Rate    panel
	Latency panel
	Lanes   []lane
	Legend  []legend
	Found   []marker
	Calm    float64 // when the last fault was healed; negative: unknown
}

// tick is a mark of an axis, in percent of its length.
type tick struct {
	At   float64
	Text string
}

// panel is one diagram.
type panel struct {
	Ticks  []tick // of the vertical axis, from the top
	Curves []curve
	Empty  bool
}

type curve struct{ Class, Path string }

// lane is a row of faults, or several where they overlap.
type lane struct {
	Name   string
	Height int // px
	Bars   []bar
}

// bar is something that lasted.
type bar struct {
	X, W float64 // percent
	Y    int     // px
	// Class names its color, Text says everything, Label is written on it.
	Class, Text, Label, ID string
}

type legend struct{ Class, Text string }

// marker marks a finding.
type marker struct {
	X        float64
	Text, To string
}

// chartData is what the script needs to say what happened at a moment.
type chartData struct {
	From float64     `json:"from"` // seconds
	To   float64     `json:"to"`
	Step float64     `json:"step"`
	Rows [][4]string `json:"rows"` // done, not done, p50, p99 of each step
	// Faults are from, to in seconds, kind and what they touched.
	Faults []faultData `json:"faults"`
}

type faultData struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Kind string  `json:"kind"`
	What string  `json:"what"`
}

// mostBuckets is how many points a curve has at most.
const mostBuckets = 2000

// bucket is one step of time.
type bucket struct {
	done, other int
	took        []int64
}

// buckets sorts operations by when they returned.
func (v *view) buckets() ([]bucket, time.Duration) {
	step := time.Second
	for time.Duration(v.to-v.from)/step > mostBuckets {
		step += time.Second
	}
	list := make([]bucket, (v.to-v.from)/int64(step)+1)
	for _, op := range v.rec.Ops {
		i := (op.Return - v.from) / int64(step)
		if op.Kind == "final" { // the lists at the end would dwarf all that was asked before
			continue
		}
		if i < 0 || i >= int64(len(list)) {
			continue
		}
		if op.Outcome != history.OK {
			list[i].other++
			continue
		}
		list[i].done++
		if op.Kind != "open" { // a stream answers when something happens
			list[i].took = append(list[i].took, op.Return-op.Call)
		}
	}
	for i := range list {
		slices.Sort(list[i].took)
	}
	return list, step
}

// draw makes the chart and what the script says about it.
func (v *view) draw() (chart, chartData) {
	list, step := v.buckets()
	rel := func(ns int64) float64 { return math.Round(float64(ns-v.zero())/1e6) / 1e3 }
	data := chartData{From: rel(v.from), To: rel(v.to), Step: step.Seconds()}
	for _, b := range list {
		row := [4]string{thousands(b.done), thousands(b.other), "–", "–"}
		if len(b.took) > 0 {
			row[2], row[3] = duration(time.Duration(quantile(b.took, 50))),
				duration(time.Duration(quantile(b.took, 99)))
		}
		data.Rows = append(data.Rows, row)
	}
	for _, f := range v.rec.Faults {
		data.Faults = append(data.Faults, faultData{rel(f.From), rel(f.To), f.Kind, effects(f)})
	}
	c := chart{Ticks: v.timeTicks(), Rate: v.ratePanel(list, step), Latency: v.latencyPanel(list, step), Calm: -1}
	c.Lanes, c.Legend = v.lanes()
	if v.Run.Calm != 0 {
		c.Calm = v.percent(v.Run.Calm)
	}
	for i, r := range v.results {
		for j, f := range r.Findings {
			if f.From != 0 && j < findingsShown {
				c.Found = append(c.Found, marker{v.percent(f.From), promise(r) + ": " + f.What, findingID(i, j)})
			}
		}
	}
	return c, data
}

// timeTicks are at most seven round times.
func (v *view) timeTicks() (ticks []tick) {
	const most = 6
	length := float64(v.to-v.from) / 1e9
	step := 1.0
	for _, s := range []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 36000} {
		if step = s; length/s <= most {
			break
		}
	}
	start := float64(v.from-v.zero()) / 1e9
	for at := math.Ceil(start/step) * step; at <= start+length; at += step {
		text := fmt.Sprintf("%g s", at+0) // + 0: there is no -0
		if step >= 60 {
			text = fmt.Sprintf("%g min", at/60+0)
		}
		ticks = append(ticks, tick{100 * (at - start) / length, text})
	}
	return ticks
}

// x is the place of the middle of a bucket.
func (v *view) x(i int, step time.Duration) float64 {
	return v.percent(v.from+int64(i)*int64(step)+int64(step)/2) * 10
}

func (v *view) ratePanel(list []bucket, step time.Duration) panel {
	most := 1
	for _, b := range list {
		most = max(most, b.done, b.other)
	}
	top := niceTop(float64(most) / step.Seconds())
	var p panel
	for _, part := range []float64{1, 0.5, 0} {
		p.Ticks = append(p.Ticks, tick{100 * (1 - part), fmt.Sprintf("%g/s", top*part)})
	}
	y := func(n int) float64 { return 100 * (1 - float64(n)/step.Seconds()/top) }
	var area, other strings.Builder
	fmt.Fprintf(&area, "M%.1f 100", v.x(0, step))
	for i, b := range list {
		fmt.Fprintf(&area, "L%.1f %.1f", v.x(i, step), y(b.done))
		fmt.Fprintf(&other, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], v.x(i, step), y(b.other))
	}
	fmt.Fprintf(&area, "L%.1f 100Z", v.x(len(list)-1, step))
	p.Curves = []curve{{"done", area.String()}, {"other", other.String()}}
	return p
}

// niceTop is the smallest of 1, 2, 4, 5, 8, 10, 20, ... that is not below.
func niceTop(most float64) float64 {
	for unit := 1.0; ; unit *= 10 {
		for _, n := range []float64{1, 2, 4, 5, 8} {
			if n*unit >= most {
				return n * unit
			}
		}
	}
}

func (v *view) latencyPanel(list []bucket, step time.Duration) panel {
	low, high := math.Inf(1), math.Inf(-1)
	for _, b := range list {
		if len(b.took) > 0 {
			low = min(low, float64(max(1, quantile(b.took, 50))))
			high = max(high, float64(max(1, quantile(b.took, 99))))
		}
	}
	if math.IsInf(low, 1) {
		return panel{Empty: true}
	}
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	to = max(to, from+1)
	var p panel
	for d := to; d >= from; d-- {
		text := duration(time.Duration(math.Pow(10, d)))
		if d > 10 {
			text = fmt.Sprintf("%.0f s", math.Pow(10, d-9))
		}
		p.Ticks = append(p.Ticks, tick{100 * (to - d) / (to - from), text})
	}
	for _, c := range []struct {
		class   string
		percent int
	}{{"p99", 99}, {"p50", 50}} {
		var path strings.Builder
		pen := "M"
		for i, b := range list {
			if len(b.took) == 0 {
				pen = "M" // nothing was answered: no line
				continue
			}
			at := math.Log10(float64(max(1, quantile(b.took, c.percent))))
			fmt.Fprintf(&path, "%s%.1f %.1f", pen, v.x(i, step), 100*(to-at)/(to-from))
			pen = "L"
		}
		p.Curves = append(p.Curves, curve{c.class, path.String()})
	}
	return p
}

// words say for people what an effect did to a machine.
var words = map[string]string{
	history.Killed: "killed", history.Stopped: "stopped", history.Cut: "cut off",
	history.Slow: "slowed down", history.Disk: "disk harmed", history.Clock: "clock changed",
	history.Away: "no member or replaced", history.Leading: "leadership moved",
	history.Unheard: "out of reach of hosts", history.Told: "told to end", "none": "nothing that a machine felt",
}

// rowHeight is what one row of bars takes, in pixels.
const rowHeight = 16

// lanes draws faults in the lanes in which they were let loose.
func (v *view) lanes() ([]lane, []legend) {
	names := slices.Clone(v.Run.Lanes)
	for _, f := range v.rec.Faults {
		if !slices.Contains(names, f.Lane) {
			names = append(names, f.Lane)
		}
	}
	var lanes []lane
	used := map[string]bool{}
	for _, name := range names {
		l := lane{Name: name}
		var rows rowsInUse
		for i, f := range v.rec.Faults {
			if f.Lane != name {
				continue
			}
			class := "none"
			if len(f.Effects) > 0 {
				class = f.Effects[0].What
			}
			used[class] = true
			text := fmt.Sprintf("%s (%s)\n%s, from %s for %s", f.Kind, f.Lane, effects(f), v.at(f.From),
				duration(time.Duration(f.To-f.From)))
			if f.Note != "" {
				text += "\n" + f.Note
			}
			p := v.progress.Faults[i]
			text += fmt.Sprintf("\nlongest time without a write %s, healed to next write %s",
				duration(p.Stall), duration(p.Heal))
			l.Bars = append(l.Bars, v.bar(f.From, f.To, rows.take(f.From, f.To), class, text,
				fmt.Sprintf("#fault%d", i+1)))
		}
		l.Height = max(1, len(rows)) * rowHeight
		lanes = append(lanes, l)
	}
	var shown []legend
	for _, what := range []string{history.Killed, history.Stopped, history.Cut, history.Slow, history.Disk,
		history.Clock, history.Away, history.Leading, history.Unheard, history.Told, "none"} {
		if used[what] {
			shown = append(shown, legend{what, words[what]})
		}
	}
	return lanes, shown
}

func (v *view) bar(from, to int64, row int, class, text, id string) bar {
	x := v.percent(from)
	return bar{X: x, W: max(v.percent(to)-x, 0.05), Y: row * rowHeight, Class: class, Text: text, ID: id}
}

// rowsInUse are the rows of bars, by when each is free again.
type rowsInUse []int64

// take finds the first row that is free.
func (r *rowsInUse) take(from, to int64) int {
	for i, free := range *r {
		if free <= from {
			(*r)[i] = to
			return i
		}
	}
	*r = append(*r, to)
	return len(*r) - 1
}

// findingID is the anchor of a finding on the page.
func findingID(result, finding int) string { return fmt.Sprintf("finding%d-%d", result+1, finding+1) }
