package due

import (
	"time"

	"vigil/fsm/noun"
)

// Kind is what a deadline is about. Kinds are variables of the package whose rows they are, and
// are compared by their addresses.
type Kind struct {
	Name string // for people and programs, in lower case: "acknowledgement limit"
	Then string // what happens when a row of it is due, a sentence without its full stop
}

// Row is one deadline. The zero Row is none.
type Row struct {
	Kind *Kind
	Of   Of
	From noun.Time     // when its clock began
	Span time.Duration // how long it runs
	// Hold lets the clock run only from its end on, when that is later than From.
	Hold Hold
	// Absent is how much of the time since then does not count.
	Absent time.Duration
	// Put puts the deadline off: it is not before the end of Put, whatever its clock says.
	Put Hold
}

// Hold is what makes a clock stand, or puts a deadline off, and until when.
type Hold struct {
	Until noun.Time // 0: nothing does
	Why   string    // fixed words: "what it has declared"
}

// At is when the row is due. A row is due at that instant, not after it. Of no row it is 0.
func (r *Row) At() noun.Time {
	if r.Kind == nil {
		return 0
	}
	return max(max(r.From, r.Hold.Until).Add(r.Span+r.Absent), r.Put.Until)
}

// Due tells that there is a row, and that its time has come.
func (r *Row) Due(now noun.Time) bool { return r.Kind != nil && r.At() <= now }

// Since is when the clock began to run, as far as it has: a hold that is not over ends now.
func (r *Row) Since(now noun.Time) noun.Time { return max(r.From, min(r.Hold.Until, now)) }

// Ran is for how long the clock has run, without holds and absence.
func (r *Row) Ran(now noun.Time) time.Duration { return now.Sub(r.Since(now)) - r.Absent }

// Held gives what makes the clock stand now, or puts the deadline off beyond its clock; an empty
// Hold: nothing does.
func (r *Row) Held(now noun.Time) Hold {
	switch at := r.At(); {
	case r.Hold.Until > now:
		return r.Hold
	case r.Put.Until > now && r.Put.Until == at:
		return r.Put
	}
	return Hold{}
}

// Until makes a row of which the state keeps the end. One that begins after its end has no span.
func Until(k *Kind, of Of, from, end noun.Time) Row {
	return Row{Kind: k, Of: of, From: min(from, end), Span: end.Sub(min(from, end))}
}

// Sooner gives the row that is due first; of two at the same time a. A zero Row is never due.
func Sooner(a, b Row) Row {
	if a.Kind == nil || b.Kind != nil && b.At() < a.At() {
		return b
	}
	return a
}
