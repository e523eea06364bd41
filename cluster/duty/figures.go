package duty

import (
	"sync/atomic"
	"time"

	"vigil/fsm"
)

// Fates of an order. An order without an answer may or may not have been carried
// out; the next plan sees which.
const (
	accepted = iota
	refused
	unanswered
	fates
)

var fateNames = [fates]string{"accepted", "refused", "unanswered"}

// fate counts what becomes of orders.
type fate [fates]atomic.Uint64

// counts are those of one duty, written by its look and read by anybody.
type counts struct {
	name, says                     string
	passes, looks, visited, errors atomic.Uint64
	nanos, last, lastAt            atomic.Int64
	names                          []string
	orders                         map[string]*fate // never changed
}

func newCounts(name, says string, orders ...string) *counts {
	c := &counts{name: name, says: says, names: orders, orders: map[string]*fate{}}
	for _, o := range orders {
		c.orders[o] = &fate{}
	}
	return c
}

func (c *counts) of(cmd fsm.Command) *fate { return c.orders[orderName(cmd)] }

// effect counts what a duty does outside of the state.
type effect struct {
	duty, target string
	done, failed atomic.Uint64
	nanos        atomic.Int64
}

// Figures are what this server's duties have done since it started.
type Figures struct {
	Duties  []Figure // in the order of the table
	Effects []Effect
}

// Figure is what one duty has done.
type Figure struct {
	Duty    string        // its name
	Says    string        // what it is for
	Passes  uint64        // each over all that the duty looks at, or as much as its budget allows
	Looks   uint64        // at the state, each with one plan; one or more a pass
	Visited uint64        // roles, agents, active rooms or hosts that looks went over
	Errors  uint64        // looks that could not write
	LastAt  time.Time     // of the last pass; zero: none
	Last    time.Duration // of the last pass, waiting not counted
	Total   time.Duration // of all looks
	Orders  []OrderCount  // in a fixed order, zeros included
}

// OrderCount counts the orders of one kind by what became of them (accepted, refused,
// unanswered).
type OrderCount struct {
	Order, Outcome string
	Count          uint64
}

// Effect is what followed the orders of a duty outside of the state.
type Effect struct {
	Duty, Target string // Target is terminal, or the name of a notifier
	Done, Failed uint64
	Total        time.Duration // of all tries
}

// Of returns the figure of a duty; the zero value: there is none of that name.
func (f Figures) Of(duty string) Figure {
	for _, x := range f.Duties {
		if x.Duty == duty {
			return x
		}
	}
	return Figure{}
}

// Accepted counts the orders of one kind that were carried out.
func (f Figure) Accepted(order string) uint64 {
	for _, o := range f.Orders {
		if o.Order == order && o.Outcome == fateNames[accepted] {
			return o.Count
		}
	}
	return 0
}

// Figures returns the counts. Safe for concurrent use.
func (d *Duty) Figures() (f Figures) {
	for _, r := range d.table {
		f.Duties = append(f.Duties, r.counts.figures())
	}
	f.Duties = append(f.Duties, d.noticed.figures())
	for _, e := range d.terminals {
		f.Effects = append(f.Effects, e.figures())
	}
	for _, n := range *d.notifiers.Load() {
		f.Effects = append(f.Effects, n.effect.figures())
	}
	return f
}

func (c *counts) figures() Figure {
	f := Figure{Duty: c.name, Says: c.says, Passes: c.passes.Load(), Looks: c.looks.Load(),
		Visited: c.visited.Load(), Errors: c.errors.Load(), Last: time.Duration(c.last.Load()),
		Total: time.Duration(c.nanos.Load())}
	if at := c.lastAt.Load(); at != 0 {
		f.LastAt = time.Unix(0, at)
	}
	for _, name := range c.names {
		for i := range c.orders[name] {
			f.Orders = append(f.Orders, OrderCount{name, fateNames[i], c.orders[name][i].Load()})
		}
	}
	return f
}

func (e *effect) figures() Effect {
	return Effect{e.duty, e.target, e.done.Load(), e.failed.Load(), time.Duration(e.nanos.Load())}
}
