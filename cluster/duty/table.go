package duty

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// visitsPerLook bounds how many roles, agents or hosts one look visits, and so how long
	// it holds the read lock.
	visitsPerLook = 8192
	// ordersPerLook bounds the orders of one look.
	ordersPerLook = 512
	// again is when a look follows one whose orders could not be carried out, or could not
	// be given yet.
	again = 250 * time.Millisecond
	// listen is how often hosts are looked at without anything new being said of
	// them: evidence must reach an age, and beats wake nobody.
	listen = time.Second
	// firstClimb is when a new leader looks for stuck agents; until then it hears its hosts.
	firstClimb = 5 * time.Second
	// typeLook is how soon what was decided about an overseer is typed. The decision is a
	// matter of the state; nothing waits for the typing.
	typeLook = time.Second
)

// row is one duty. Its looks never overlap. A pass is one look, or several: a plan that could
// not see everything within its budget goes on where it ended.
type row struct {
	name   string
	says   string   // what it is for, in one sentence
	title  string   // under which its passes are logged; empty: they are not
	orders []string // it may give, as orderName names them
	every  func(*noun.Settings) pace
	wake   func(noun.Effects) bool // by what an entry has done; nil: by nothing
	// ready is called before each look, without any lock. False: there is nothing to look
	// at, and the pass is over. Nil: there always is.
	ready func(context.Context) (bool, error)
	// plan is a pure function of the state and of the look, but for what it remembers to be
	// quick.
	plan func(*fsm.View, look) plan
	// done does what must follow orders outside of the state, when they are committed, so
	// that no other leader repeats it. Outcomes are in the order of the orders. Nil: nothing.
	done func(context.Context, *counts, []Order, []noun.Outcome)

	counts *counts
	poked  chan struct{} // it was woken
}

// pace is when a duty looks when nothing wakes it.
type pace struct {
	first  time.Duration // after the stint has begun
	every  time.Duration // from one pass to the next; 0: only when it is woken
	orders int           // of one pass, at most; 0: any number
	tell   []any         // for the log, when the first pass begins
}

// look is what one look may do.
type look struct {
	from   Place // the last place that was seen; the zero value: nothing was
	again  bool  // it is not the first one of its pass
	visits int   // at most
	orders int   // at most
}

// plan is what a look has come to.
type plan struct {
	orders  []Order
	visited int   // roles, agents, rooms or hosts
	next    Place // where the next look goes on; the zero value: at the beginning
	more    bool  // the pass goes on, once after has passed
	after   time.Duration
	full    bool // if all orders are carried out, it goes on at once
}

// Order is a planned command, with what is only for the log and for terminals.
type Order struct {
	fsm.Command
	Name string // of the agent or room that it is about, where that is needed
}

// Place is where among rooms, hosts or agents a look has ended. The zero value is before all
// of them.
type Place struct {
	list kindOfStuck // of the ladder only
	id   uint64
	deaf fsm.DeafPlace
}

// duties is the table of duties.
func (d *Duty) duties() []*row {
	d.starts = &planner{}
	planned := func(e noun.Effects) bool { return e.Plan }
	table := []*row{{
		name: "starts", says: "places every agent for which a start is due on a host",
		orders: []string{"start"}, wake: planned, every: func(*noun.Settings) pace { return pace{} },
		plan: d.starts.plan,
	}}
	if d.cfg.Unheard != nil {
		var unheard map[string]bool
		table = append(table, &row{
			name: "hosts", says: "doubts hosts that the servers do not hear, and trusts them again",
			orders: []string{"void", "suspect", "trust", "cancel", "surrender"}, wake: planned,
			every: func(*noun.Settings) pace { return pace{first: listen, every: listen} },
			ready: func(context.Context) (bool, error) { unheard = d.cfg.Unheard(); return true, nil },
			plan:  func(s *fsm.View, l look) plan { return planHosts(s, l, unheard) },
		})
	}
	table = append(table, &row{
		name: "silence", says: "warns rooms in which nothing happens, and cancels those that stay silent",
		title: "conversation watchdog", orders: []string{"warn", "cancel"},
		every: silencePace, ready: d.clockIn, plan: planSilence, done: d.tellCanceled,
	}, &row{
		name: "ladder", says: "takes the rungs that are due for stuck agents",
		orders: append(rungNames(), "note"), plan: planClimbs, done: d.climbed,
		every: func(set *noun.Settings) pace {
			l := &set.Ladder
			return pace{first: min(l.Interval, firstClimb), every: l.Interval, orders: int(l.PerPass)}
		},
	}, &row{
		name: "overseers", says: "types what looks at overseers have decided",
		orders: []string{"prod", "note"}, plan: planProds, done: d.prodded,
		every: func(*noun.Settings) pace { return pace{first: typeLook, every: typeLook} },
	})
	if d.cfg.Keys != nil {
		table = append(table, d.gossipRow())
	}
	table = append(table, d.rootsRow())
	for _, r := range table {
		r.counts, r.poked = newCounts(r.name, r.says, r.orders...), make(chan struct{}, 1)
	}
	return table
}

func rungNames() (names []string) {
	for r := noun.RungNudge; r <= noun.RungEscalate; r++ {
		names = append(names, r.String())
	}
	return names
}

// orderName is the word for an order in counts and in the log.
func orderName(c fsm.Command) string {
	switch c := c.(type) {
	case fsm.OrderStart:
		return "start"
	case fsm.SuspectHost:
		if c.Suspect {
			return "suspect"
		}
		return "trust"
	case fsm.CancelOrder, fsm.CancelIdleRoom:
		return "cancel"
	case fsm.ReportViews:
		return "void"
	case fsm.SurrenderHost:
		return "surrender"
	case fsm.WarnRoom:
		return "warn"
	case fsm.StepLadder:
		return c.Rung.String()
	case fsm.ProdOverseer:
		return "prod"
	case fsm.AddGossipKey:
		return "add"
	case fsm.StepGossip:
		return "step"
	case fsm.StepRoots:
		return "turn"
	}
	return "note" // of what became of something outside
}
