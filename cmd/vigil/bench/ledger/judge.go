package ledger

import (
	"fmt"
	"slices"
	"time"
)

// Pause is a time in which the shims of a host, or of one agent on it, were not
// scheduled because the driver had stopped them.
type Pause struct {
	Host     string
	Agent    string // empty: every agent of the host
	From, To int64
}

// Rules say what is judged, and how.
type Rules struct {
	// Fenced tells whether law L7 holds for an agent; nil: for all.
	Fenced func(agent string) bool
	Pauses []Pause
	// Slack is how long after a pause an older life may still run before its shim,
	// which was stopped too, has acted.
	Slack time.Duration
}

// gap splits the running time of a life: a process that writes nothing for longer
// was not running.
const gap = 3 * TickEvery

// Finding is one broken law with its evidence.
type Finding struct {
	Law, What    string
	Agent        string
	Older, Newer *Life
	From, To     int64 // when it was broken
}

func (f Finding) String() string {
	text := fmt.Sprintf("%s %s: %s, from %d to %d (%s)", f.Law, f.Agent, f.What, f.From, f.To,
		time.Duration(f.To-f.From))
	for _, l := range []*Life{f.Older, f.Newer} {
		if l != nil {
			text += fmt.Sprintf("; %s ran %d to %d", l.File, l.Start, l.Last())
		}
	}
	return text
}

// Verdict is the result of Judge.
type Verdict struct {
	Lives, Ticks, Words int
	Completed           int // tasks
	// Freezes counts gaps in which a life did not run and after which it went on;
	// Exits the lives whose end was seen.
	Freezes, Exits int

	Overlaps []Finding // L7: two lives of an agent ran at the same moment
	Late     []Finding // L7: an older life ran after a newer one had begun, though not at the same moment
	Doubles  []Finding // L4: two processes were the same life
	Spoken   []Finding // L6: an older life was heard after a newer one had begun
	Twice    []Finding // L8: a task was completed by two lives

	// Excused are the times in which an older life ran on after a pause of its shim
	// (law L7 leaves them out); Longest is the longest of them, from the pause's end.
	Excused int
	Longest time.Duration
}

// Broken gives all findings.
func (v *Verdict) Broken() []Finding {
	return slices.Concat(v.Overlaps, v.Late, v.Doubles, v.Spoken, v.Twice)
}

// Judge checks the laws that lives can show. lives are sorted as Read gives them.
func Judge(lives []*Life, rules Rules) *Verdict {
	v := &Verdict{Lives: len(lives)}
	done := map[uint64]*Life{}
	for i, l := range lives {
		v.count(l)
		fenced := rules.Fenced == nil || rules.Fenced(l.Agent)
		for _, newer := range lives[i+1:] {
			if newer.Agent != l.Agent {
				break
			}
			if newer.Incarnation == l.Incarnation {
				v.Doubles = append(v.Doubles, Finding{"L4", "was started twice", l.Agent, l, newer, newer.Start,
					newer.Start})
				continue
			}
			if fenced {
				v.ranOn(l, newer, rules)
			}
			v.spokeOn(l, newer)
		}
		for _, w := range l.Said {
			if w.What != "complete" {
				continue
			}
			if other := done[w.Task]; other != nil && other != l {
				v.Twice = append(v.Twice, Finding{"L8", fmt.Sprintf("task %d was completed twice", w.Task),
					l.Agent, other, l, w.Sent, w.At})
			} else if other == nil {
				v.Completed++
			}
			done[w.Task] = l
		}
	}
	return v
}

func (v *Verdict) count(l *Life) {
	v.Ticks += len(l.Ticks)
	v.Words += len(l.Said)
	if l.Exit != 0 || l.Gone != 0 {
		v.Exits++
	}
	for i := 1; i < len(l.Ticks); i++ {
		if l.Ticks[i]-l.Ticks[i-1] > gap {
			v.Freezes++
		}
	}
}

// ranOn finds the times at which an older life ran after the newer one had begun.
func (v *Verdict) ranOn(older, newer *Life, rules Rules) {
	late := older.Ticks[lower(older.Ticks, newer.Start):]
	for len(late) > 0 {
		n := 1 // of the records without a gap
		for n < len(late) && late[n]-late[n-1] <= gap {
			n++
		}
		from, to := late[0], late[n-1]
		late = late[n:]
		if p := rules.excuse(older, from, to); p != nil {
			v.Excused++
			v.Longest = max(v.Longest, time.Duration(to-p.To))
			continue
		}
		f := Finding{"L7", "two lives ran at once", older.Agent, older, newer, from, to}
		if newer.ran(from, to) {
			v.Overlaps = append(v.Overlaps, f)
			continue
		}
		f.What = "an older life ran after a newer one had begun"
		v.Late = append(v.Late, f)
	}
}

// excuse finds the pause of its shim that explains why a life ran on.
func (r *Rules) excuse(l *Life, from, to int64) *Pause {
	for i := range r.Pauses {
		p := &r.Pauses[i]
		if p.Host == l.Host && (p.Agent == "" || p.Agent == l.Agent) && from >= p.From && to <= p.To+int64(r.Slack) {
			return p
		}
	}
	return nil
}

// ran tells whether the life ran at some moment of a time.
func (l *Life) ran(from, to int64) bool {
	i := lower(l.Ticks, from)
	if i < len(l.Ticks) && l.Ticks[i] <= to {
		return true
	}
	// Between two records without a gap it ran all the time.
	return i > 0 && i < len(l.Ticks) && l.Ticks[i]-l.Ticks[i-1] <= gap
}

// lower gives the index of the first time that is not before at.
func lower(times []int64, at int64) int {
	i, _ := slices.BinarySearch(times, at)
	return i
}

// spokeOn finds what an older life began to say after the newer one had begun, and
// was acknowledged.
func (v *Verdict) spokeOn(older, newer *Life) {
	for _, w := range older.Said {
		if w.Sent > newer.Start {
			v.Spoken = append(v.Spoken, Finding{"L6",
				fmt.Sprintf("%s of task %d was acknowledged to an older life", w.What, w.Task), older.Agent,
				older, newer, w.Sent, w.At})
		}
	}
}
