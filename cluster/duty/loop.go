package duty

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Rhythm of the loop.
const (
	// again is when starts that are due and could not be ordered are planned again.
	again = 250 * time.Millisecond
	// listen is how often hosts are looked at without anything new being said of
	// them: evidence must reach an age, and beats wake nobody.
	listen = time.Second
	// ordersPerPlan bounds one plan, and so how long it holds the read lock.
	ordersPerPlan = 512
	// share is the inverse of the share of time that planning may hold the read
	// lock, however often it is woken and however many starts are due.
	share = 20
)

// Replica is what duties need of the replicated state.
type Replica interface {
	// Read calls fn under the read lock; it must be short.
	Read(fn func(*fsm.View))
	// SubmitAll proposes the requests and fills in one outcome for each.
	SubmitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error
	// Barrier returns when the state has the clock of an entry sealed after the call.
	Barrier(ctx context.Context) error
}

// Config of a Duty. Replica is required.
type Config struct {
	Replica Replica
	// Unheard gives the ids of the servers that the leader cannot reach: what they
	// said of hosts does not count (see Voids). Nil: hosts are neither doubted nor
	// trusted. It must be quick and is called without any lock held.
	Unheard func() map[string]bool
	// Escalate says how escalations are announced. Nil: nobody is told.
	Escalate *Escalate
	// Prod does at the terminal of one life what a rung of the ladder is (nudge, wake,
	// interrupt). An error says why that reached nobody. It is called by several goroutines
	// at a time, must end within half a minute, and takes no part in any decision. Nil:
	// there are no terminals.
	Prod   func(ctx context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error
	Logger hclog.Logger // nil: silent
}

// Duty is the leader's loop. Wake and Figures may be called by any goroutine, Run
// by one at a time.
type Duty struct {
	cfg    Config
	log    hclog.Logger
	wake   chan struct{}
	starts planner // Run's own
	counts counts

	watched   watchCounts
	notifiers []*notifier
	ladder    ladderCounts
	chain     chainCounts
}

// Open makes a Duty.
func Open(cfg Config) (*Duty, error) {
	if cfg.Replica == nil {
		return nil, errors.New("open duty: no replica is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	d := &Duty{cfg: cfg, log: cfg.Logger.Named("duty"), wake: make(chan struct{}, 1)}
	if err := d.openNotifiers(); err != nil {
		return nil, fmt.Errorf("open duty: %w", err)
	}
	return d, nil
}

// Wake is for Subscribe: it never blocks.
func (d *Duty) Wake(e noun.Effects) {
	if e.Plan {
		d.poke()
	}
	if e.Notice {
		for _, n := range d.notifiers {
			n.poke()
		}
	}
}

func (d *Duty) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run plans until ctx, the context of one stint, ends. It returns nil then.
func (d *Duty) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { d.watch(ctx) })
	beside.Go(func() { d.escalate(ctx) })
	beside.Go(func() { d.climb(ctx) })
	beside.Go(func() { d.prodOverseers(ctx) })
	d.poke() // whatever the stint before has left undone
	d.starts = planner{}
	retry := time.NewTimer(again)
	defer retry.Stop()
	var hear <-chan time.Time
	if d.cfg.Unheard != nil {
		ticker := time.NewTicker(listen)
		defer ticker.Stop()
		hear = ticker.C
	}
	var rested time.Time // no planning before
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		case <-retry.C:
		case <-hear:
		}
		if rest := time.Until(rested); rest > 0 {
			retry.Reset(rest)
			continue
		}
		p := d.plan()
		rest := share * p.held
		rested = time.Now().Add(rest)
		full := d.order(ctx, p.orders)
		retry.Stop()
		switch {
		case full || d.starts.cut:
			retry.Reset(rest)
		case p.due:
			retry.Reset(max(again, rest))
		}
	}
}

// planned is what all planners have come to.
type planned struct {
	orders []fsm.Command
	due    bool          // any start was due
	held   time.Duration // for which the read lock was held, in all
}

// plan asks all planners. Those that look at hosts and that of starts take the lock one after
// the other, so that what waits for it gets its turn between them.
func (d *Duty) plan() (p planned) {
	d.counts.plans.Add(1)
	read := func(fn func(s *fsm.View)) {
		d.cfg.Replica.Read(func(s *fsm.View) {
			began := time.Now()
			fn(s)
			p.held += time.Since(began)
		})
	}
	if d.cfg.Unheard != nil {
		unheard := d.cfg.Unheard()
		read(func(s *fsm.View) {
			p.orders = append(p.orders, Voids(s, unheard)...)
			p.orders = append(p.orders, Suspects(s)...)
			p.orders = append(p.orders, Cancels(s)...)
			p.orders = append(p.orders, Surrenders(s)...)
		})
	}
	read(func(s *fsm.View) {
		p.due = s.DueRoles() > 0
		p.orders = append(p.orders, d.starts.starts(s, ordersPerPlan)...)
	})
	return p
}

// order submits a plan. It tells whether the next one should follow at once: when
// this one changed what the next can do, or was cut at its greatest length.
func (d *Duty) order(ctx context.Context, orders []fsm.Command) bool {
	if len(orders) == 0 {
		return false
	}
	reqs := make([]fsm.Request, len(orders))
	for i, c := range orders {
		reqs[i] = fsm.Request{Planned: true, Cmd: c}
	}
	outs := make([]noun.Outcome, len(orders))
	if err := d.cfg.Replica.SubmitAll(ctx, reqs, outs); err != nil {
		for _, c := range orders {
			d.counts.orders[kindOf(c)][unanswered].Add(1)
		}
		if ctx.Err() == nil {
			d.log.Debug("plan not submitted", "orders", len(orders), "error", err)
		}
		return false
	}
	started, doubted := 0, false
	for i, c := range orders {
		k := kindOf(c)
		if outs[i].Code != noun.OK {
			d.counts.orders[k][refused].Add(1)
			d.log.Debug("order refused", "kind", kindNames[k], "code", outs[i].Code, "detail", outs[i].Detail)
			continue
		}
		d.counts.orders[k][accepted].Add(1)
		if k == startKind {
			started++
		} else {
			doubted = true
		}
	}
	return doubted || started == ordersPerPlan
}
