package sim

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// order is what the stream brings.
type order struct {
	kind   noun.OrderKind
	agent  noun.AgentID
	inc    noun.Incarnation
	name   string
	role   *roleInfo
	ttl    time.Duration
	resume string
}

// listening holds a stream to some server and reads orders from its state.
func (d *daemon) listening() {
	for nap(d.ctx, 100*time.Millisecond+time.Duration(d.dice(1900))*time.Millisecond) {
		d.mu.Lock()
		id := d.id
		d.mu.Unlock()
		if id == 0 {
			continue
		}
		if srv := d.dice(d.w.n); d.w.links.hears(d.h.n, srv) {
			d.session(srv, id)
		}
	}
}

func (d *daemon) dice(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

func (d *daemon) session(srv int, id noun.HostID) {
	st := d.w.servers[srv].now.Load()
	if st == nil {
		return
	}
	s := st.board
	wake := s.attach(id)
	defer s.detach(id, wake)
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	led := time.Now()
	for {
		if st.rep.Leader().ID != "" {
			led = time.Now()
		}
		if time.Since(led) > unledFor || st.dead.Load() || d.away.Load() || !d.w.links.hears(d.h.n, srv) {
			return
		}
		s.ping(id)
		known := true
		var orders []order
		st.rep.Read(func(st *fsm.View) {
			h := st.Host(id)
			known = h != nil && h.Boot == d.boot
			orders = d.w.orders(st, id)
		})
		d.mu.Lock()
		if !known {
			d.reenroll()
			d.mu.Unlock()
			return
		}
		for _, o := range orders {
			d.take(o)
		}
		d.mu.Unlock()
		select {
		case <-tick.C:
		case <-wake:
		case <-d.ctx.Done():
			return
		}
	}
}

// orders reads the open orders of a host.
func (w *world) orders(st *fsm.View, id noun.HostID) (list []order) {
	for _, a := range st.HostOrders(id) {
		a := st.Agent(a)
		r := st.Role(a.Role)
		list = append(list, order{kind: a.Order, agent: a.ID, inc: a.Inc, name: a.Name,
			role: w.roles[r.Spec.Name], ttl: r.Spec.TTL, resume: a.Resume})
	}
	return list
}

// take is agentd's decision about one order; d.mu is held.
func (d *daemon) take(o order) {
	l := d.lives[o.agent]
	switch {
	case d.over:
	case o.kind == noun.StartOrder && d.w.cfg.mutant == ignoresStarts:
	case o.kind == noun.StopOrder && d.w.cfg.mutant == ignoresStops:
	case o.kind == noun.StartOrder && o.inc <= d.ended[o.agent]:
	case o.kind == noun.StartOrder && l == nil:
		d.accept(o)
	case o.kind == noun.StartOrder && o.inc > l.inc:
		l.next = &o
		l.supersede()
	case o.kind == noun.StartOrder:
	case l != nil && l.inc == o.inc:
		l.end("stopped", grace)
	case l != nil && l.inc < o.inc, o.inc <= d.ended[o.agent]:
	default:
		d.ended[o.agent] = o.inc
		d.report(o.name, fsm.ReportExit{Agent: o.agent, Inc: o.inc, Reason: "it does not run on this host"}, nil)
	}
}

// report brings an end to the cluster, after the report of the start was given up.
func (d *daemon) report(name string, r fsm.ReportExit, started chan struct{}) {
	d.tasks.Go(func() {
		if started != nil {
			<-started
		}
		out, err := d.insist(d.ctx, d.signed(r))
		if err == nil && out.Code == noun.OK {
			d.w.ledger.reported(name, r.Inc, out.Index)
		}
	})
}

// insist asks for the daemon until there is an answer that it hears.
func (d *daemon) insist(ctx context.Context, cmd fsm.Command) (noun.Outcome, error) {
	if d.w.cfg.mutant == swallowsExits {
		if _, ok := cmd.(fsm.ReportExit); ok {
			return noun.Outcome{}, nil
		}
	}
	for {
		out, err := d.w.insist(ctx, d.h.n, fsm.Request{Cmd: cmd}, d.present)
		if err != nil || !d.away.Load() {
			return out, err
		}
	}
}

// present waits until the daemon runs.
func (d *daemon) present() bool {
	for d.away.Load() {
		if !nap(d.ctx, 500*time.Millisecond) {
			return false
		}
	}
	return true
}

func (d *daemon) signed(r fsm.ReportExit) fsm.ReportExit {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Host = d.id
	return r
}
