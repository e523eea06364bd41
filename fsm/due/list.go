package due

import (
	"cmp"
	"slices"
)

// List gathers rows and keeps those that are due first, at most Max of them.
type List struct {
	Max  int // 0: no limit
	Rows []Row
	More int // rows that were dropped because others are due earlier
}

// Add takes a row in; a zero Row is left out.
func (l *List) Add(r Row) {
	if r.Kind == nil {
		return
	}
	if l.More > 0 && r.At() >= l.Rows[l.Max-1].At() { // cut has left Max rows, in order
		l.More++
		return
	}
	l.Rows = append(l.Rows, r)
	if l.Max > 0 && len(l.Rows) >= 2*l.Max { // so that each row costs a constant in the mean
		l.cut()
	}
}

// Sort puts the rows in the order in which they are due, and those of the same instant in the
// order in which they were added. It ends the gathering.
func (l *List) Sort() []Row {
	l.cut()
	return l.Rows
}

func (l *List) cut() {
	slices.SortStableFunc(l.Rows, func(a, b Row) int { return cmp.Compare(a.At(), b.At()) })
	if l.Max > 0 && len(l.Rows) > l.Max {
		l.More += len(l.Rows) - l.Max
		l.Rows = l.Rows[:l.Max]
	}
}
