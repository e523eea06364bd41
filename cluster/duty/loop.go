package duty

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// settingsLook is how soon a change of settings is seen at the latest.
	settingsLook = time.Second
	// share is the inverse of the share of time for which one duty may hold the read lock,
	// however often it is woken and however much is due.
	share = 20
)

// turn is a duty in one stint. It belongs to its loop.
type turn struct {
	*row
	pace  pace
	began time.Time // of the stint, then of the last pass
	rest  time.Time // no look before
	woken bool

	passed  bool // a pass has begun in this stint
	in      bool // a pass goes on
	due     time.Time
	at      Place // where the next look goes on
	from    Place // where the pass began
	looked  bool  // in this pass
	wrapped bool  // the pass has come to the end, and goes on from the beginning
	spent   int   // orders of the pass
	seen    int   // visits of the pass
	took    time.Duration
	given   map[string]int // orders of the pass that were carried out
}

// Run does all duties until ctx, the context of one stint, ends. It returns nil then. The loops
// run beside each other, because to write a plan, and what follows, takes as long as it takes: no
// duty may delay another.
func (d *Duty) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { d.escalate(ctx) })
	*d.starts = planner{} // plans remember nothing of another stint
	for _, r := range d.table {
		all.Go(func() { d.loop(ctx, r) })
	}
	all.Wait()
	return nil
}

// loop gives a duty its looks: when it is due, and when it was woken. What the stint before has
// left undone wakes it too.
func (d *Duty) loop(ctx context.Context, r *row) {
	t := &turn{row: r, began: time.Now(), woken: r.wake != nil}
	defer d.tellStops(t)
	d.readPace(t)
	timer := time.NewTimer(settingsLook)
	defer timer.Stop()
	for ctx.Err() == nil {
		at, any := t.next()
		wait := time.Until(at)
		if any && wait <= 0 {
			t.woken = false
			d.look(ctx, t)
			continue
		}
		var fired <-chan time.Time // never, where only an effect can wake it
		if any {
			timer.Reset(min(wait, settingsLook))
			fired = timer.C
		}
		select {
		case <-ctx.Done():
		case <-t.poked:
			t.woken = true
		case <-fired:
			d.readPace(t)
		}
	}
}

// readPace follows changed settings.
func (d *Duty) readPace(t *turn) {
	d.cfg.Replica.Read(func(s *fsm.View) { t.pace = t.every(s.Settings()) })
}

// next is when the next look is due; false: not before the duty is woken.
func (t *turn) next() (at time.Time, any bool) {
	wait := t.pace.every
	if !t.passed {
		wait = t.pace.first
	}
	switch {
	case t.woken:
	case t.in:
		at = t.due
	case t.pace.every == 0:
		return at, false
	default:
		at = t.began.Add(wait)
	}
	if at.Before(t.rest) {
		at = t.rest
	}
	return at, true
}

// look is one look of a duty, from plan to what follows.
func (d *Duty) look(ctx context.Context, t *turn) {
	began := time.Now()
	if !t.in {
		d.begin(t, began)
	}
	if t.ready != nil {
		there, err := t.ready(ctx)
		if err != nil {
			d.failed(ctx, t.row, err)
		}
		if !there || err != nil {
			d.over(t)
			return
		}
	}
	p := d.plan(t, began)
	outs, err := d.submit(ctx, t.counts, p.orders)
	if err != nil {
		d.failed(ctx, t.row, err)
	}
	given := 0
	for i := range outs {
		if outs[i].Code == noun.OK {
			given++
			t.given[orderName(p.orders[i].Command)]++
		}
	}
	took := time.Since(began)
	t.took += took
	t.counts.nanos.Add(int64(took))
	if err == nil && t.done != nil && given > 0 {
		t.done(ctx, t.counts, p.orders, outs)
	}
	d.goOn(t, &p, err == nil, given)
}

// plan makes the plan of a look that has begun at that time, under the read lock.
func (d *Duty) plan(t *turn, began time.Time) (p plan) {
	l := look{from: t.at, again: t.looked, visits: visitsPerLook, orders: ordersPerLook}
	d.cfg.Replica.Read(func(s *fsm.View) {
		locked := time.Now()
		if t.pace = t.every(s.Settings()); t.pace.orders > 0 {
			l.orders = min(l.orders, max(0, t.pace.orders-t.spent))
		}
		p = t.row.plan(s, l)
		now := time.Now()
		t.rest = now.Add(share * now.Sub(locked))
	})
	if !t.looked {
		t.looked = true
		t.counts.passes.Add(1)
		t.counts.lastAt.Store(began.UnixNano())
	}
	t.counts.looks.Add(1)
	t.counts.visited.Add(uint64(p.visited))
	t.seen += p.visited
	return p
}

// begin begins a pass.
func (d *Duty) begin(t *turn, now time.Time) {
	if !t.passed && t.title != "" {
		d.log.Info(t.title+" starts", t.pace.tell...)
	}
	t.passed, t.in, t.looked, t.wrapped = true, true, false, false
	t.began, t.from, t.spent, t.seen, t.took = now, t.at, 0, 0, 0
	t.given = map[string]int{}
}

// goOn says when the next look follows. A pass that began in the middle goes on from the
// beginning when it has come to the end, so nobody waits behind those with low numbers for
// ever; one that has spent its orders is over, and the next one goes on where it ended.
func (d *Duty) goOn(t *turn, p *plan, ok bool, given int) {
	t.at, t.due = p.next, time.Now()
	t.spent += len(p.orders)
	switch {
	case !ok && (t.wake == nil || !p.more):
		d.over(t) // the next pass sees what became of it
	case !ok:
		t.due = t.due.Add(max(p.after, again))
	case t.pace.orders > 0 && t.spent >= t.pace.orders:
		d.over(t)
	case p.more && (!p.full || given < len(p.orders)):
		t.due = t.due.Add(p.after)
	case p.more:
	case t.from != Place{} && !t.wrapped:
		t.wrapped = true
	default:
		d.over(t)
	}
}

// over ends a pass.
func (d *Duty) over(t *turn) {
	t.in = false
	if !t.looked {
		return
	}
	t.counts.last.Store(int64(t.took))
	if t.title == "" {
		return
	}
	told := []any{"visited", t.seen}
	for _, name := range t.orders {
		told = append(told, name, t.given[name])
	}
	d.log.Debug(t.title+" has looked", append(told, "took", t.took)...)
}

// tellStops tells the counts of a duty whose passes are logged when a stint ends.
func (d *Duty) tellStops(t *turn) {
	if t.title == "" || !t.passed {
		return
	}
	f := t.counts.figures()
	told := []any{"passes", f.Passes, "visited", f.Visited}
	for _, name := range t.orders {
		told = append(told, name, f.Accepted(name))
	}
	d.log.Info(t.title+" stops", append(told, "errors", f.Errors)...)
}

// submit writes orders as one batch and counts what becomes of them. An error says that it is
// not known, or that the stint is over.
func (d *Duty) submit(ctx context.Context, c *counts, orders []Order) ([]noun.Outcome, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	reqs, outs := make([]fsm.Request, len(orders)), make([]noun.Outcome, len(orders))
	for i := range orders {
		reqs[i] = fsm.Request{Planned: true, Cmd: orders[i].Command}
	}
	if err := d.cfg.Replica.SubmitAll(ctx, reqs, outs); err != nil {
		for i := range orders {
			c.of(orders[i].Command)[unanswered].Add(1)
		}
		return nil, err
	}
	for i := range orders {
		if outs[i].Code == noun.OK {
			c.of(orders[i].Command)[accepted].Add(1)
			continue
		}
		c.of(orders[i].Command)[refused].Add(1)
		d.log.Debug("order refused", "duty", c.name, "order", orderName(orders[i].Command),
			"name", orders[i].Name, "code", outs[i].Code, "detail", outs[i].Detail)
	}
	return outs, ctx.Err()
}

// failed counts a look that could not write. What is tried again at once is no warning.
func (d *Duty) failed(ctx context.Context, r *row, err error) {
	if ctx.Err() != nil {
		return
	}
	r.counts.errors.Add(1)
	name, level := r.title, hclog.Warn
	if name == "" {
		name = "duty " + r.name
	}
	if r.wake != nil {
		level = hclog.Debug
	}
	d.log.Log(level, name+" could not write", "error", err)
}

// pause sleeps; false: ctx ended first.
func pause(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
