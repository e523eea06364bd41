package duty

import (
	"sync/atomic"

	"vigil/fsm"
)

// kind is a kind of order in the counts.
type kind int

const (
	startKind kind = iota
	suspectKind
	trustKind
	cancelKind
	voidKind
	surrenderKind
	kinds
)

var kindNames = [kinds]string{"start", "suspect", "trust", "cancel", "void", "surrender"}

func kindOf(c fsm.Command) kind {
	switch c := c.(type) {
	case fsm.SuspectHost:
		if c.Suspect {
			return suspectKind
		}
		return trustKind
	case fsm.CancelOrder:
		return cancelKind
	case fsm.ReportViews:
		return voidKind
	case fsm.SurrenderHost:
		return surrenderKind
	}
	return startKind
}

// Fates of an order. An order without an answer may or may not have been carried
// out; the next plan sees which.
const (
	accepted = iota
	refused
	unanswered
	fates
)

var fateNames = [fates]string{"accepted", "refused", "unanswered"}

// counts are written by the loop and read by anybody.
type counts struct {
	plans  atomic.Uint64
	orders [kinds][fates]atomic.Uint64
}

// Figures are what duties have done since the server started.
type Figures struct {
	Plans  uint64
	Orders []OrderCount // in a fixed order, zeros included
}

// OrderCount counts the orders of a kind (start, suspect, trust, cancel, void, surrender) by what
// became of them (accepted, refused, unanswered).
type OrderCount struct {
	Kind, Outcome string
	Count         uint64
}

// Figures returns the counts. Safe for concurrent use.
func (d *Duty) Figures() Figures {
	f := Figures{Plans: d.counts.plans.Load()}
	for k := range d.counts.orders {
		for i := range d.counts.orders[k] {
			f.Orders = append(f.Orders, OrderCount{kindNames[k], fateNames[i], d.counts.orders[k][i].Load()})
		}
	}
	return f
}
