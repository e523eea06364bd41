package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/cmd/vigil/bench/ledger"
)

// livesView is every life of every agent over time.
type livesView struct {
	Agents []lane
	Hosts  []legend
}

// hostClasses is how many hosts have a color of their own.
const hostClasses = 6

// drawLives draws when lives ran, by their own account.
func (v *view) drawLives(lives []*ledger.Life) livesView {
	var out livesView
	hosts := slices.Clone(v.Run.Hosts)
	for _, l := range lives {
		if !slices.Contains(hosts, l.Host) {
			hosts = append(hosts, l.Host)
		}
	}
	class := func(host string) string { return fmt.Sprintf("host%d", slices.Index(hosts, host)%hostClasses) }
	for _, h := range hosts {
		out.Hosts = append(out.Hosts, legend{class(h), h})
	}
	byAgent := map[string][]*ledger.Life{}
	for _, l := range lives {
		byAgent[l.Agent] = append(byAgent[l.Agent], l)
	}
	// What is thinner than a line on the screen is not drawn apart.
	gap := max(3*ledger.TickEvery, (v.to-v.from)/mostBuckets)
	for _, agent := range slices.SortedFunc(maps.Keys(byAgent), byNumber) {
		row := lane{Name: agent}
		list := byAgent[agent]
		slices.SortStableFunc(list, func(a, b *ledger.Life) int { return int(max(-1, min(1, a.Start-b.Start))) })
		var rows rowsInUse
		for _, l := range list {
			y := rows.take(l.Start, l.Last()+1)
			text := v.lifeText(l)
			for i, s := range ran(l, gap) {
				b := v.bar(s[0], s[1], y, class(l.Host), "", v.ledgerFile(l))
				if i == 0 {
					b.Text = text
				} else {
					b.Text = fmt.Sprintf("%s %d on %s, gone on", l.Agent, l.Incarnation, l.Host)
				}
				if i == 0 && b.W > 6 {
					b.Label = fmt.Sprint(l.Incarnation)
				}
				row.Bars = append(row.Bars, b)
			}
		}
		row.Height = max(1, len(rows)) * rowHeight
		out.Agents = append(out.Agents, row)
	}
	return out
}

// byNumber sorts role.2 before role.10.
func byNumber(a, b string) int {
	split := func(agent string) (string, int) {
		name, number, _ := strings.Cut(agent, ".")
		n, _ := strconv.Atoi(number)
		return name, n
	}
	nameA, a1 := split(a)
	nameB, b1 := split(b)
	return cmp.Or(cmp.Compare(nameA, nameB), cmp.Compare(a1, b1), cmp.Compare(a, b))
}

// ran gives the times in which a life ran without a gap.
func ran(l *ledger.Life, gap int64) (spans [][2]int64) {
	for _, at := range l.Ticks {
		if n := len(spans); n > 0 && at-spans[n-1][1] <= gap {
			spans[n-1][1] = at
			continue
		}
		spans = append(spans, [2]int64{at, at})
	}
	return spans
}

// lifeText says all of a life that fits beside a pointer.
func (v *view) lifeText(l *ledger.Life) string {
	end := "killed, or still running"
	if l.Exit != 0 {
		end = "ended by itself"
	}
	if l.Term != 0 {
		end += fmt.Sprintf(", told to end at %s", v.at(l.Term))
	}
	said := map[string]int{}
	for _, w := range l.Said {
		said[w.What]++
	}
	var words []string
	for _, what := range sortedKeys(said) {
		words = append(words, fmt.Sprintf("%s %d", what, said[what]))
	}
	text := fmt.Sprintf("%s, life %d on %s\nran from %s for %s, %s", l.Agent, l.Incarnation, l.Host, v.at(l.Start),
		duration(time.Duration(l.Last()-l.Start)), end)
	if len(words) > 0 {
		text += "\nacknowledged: " + strings.Join(words, ", ")
	}
	return text
}

// ledgerFile is where the account of a life is, empty when it is not beside the report.
func (v *view) ledgerFile(l *ledger.Life) string {
	if name := "ledger/" + l.File; l.File != "" && v.exists(name) {
		return escape(name)
	}
	return ""
}
