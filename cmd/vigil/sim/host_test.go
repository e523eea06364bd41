package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"vigil/cluster"
	"vigil/fsm"
)

// host is a machine; daemon is one life of the agentd on it.
type host struct {
	w    *world
	n    int
	key  string
	ssd  bool
	boot int

	mu     sync.Mutex
	daemon *daemon // nil while the machine is down
}

// daemon does what package agentd does: it owns the table of lives.
type daemon struct {
	h      *host
	w      *world
	boot   string
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	urgent chan struct{} // beat now

	mu         sync.Mutex
	rng        *rand.Rand
	over       bool
	id         fsm.HostID
	ttl        time.Duration
	registered bool
	wanted     bool // registration
	enroll     chan struct{}
	lives      map[fsm.AgentID]*life
	ended      map[fsm.AgentID]fsm.Incarnation
}

// start powers the machine or its daemon up.
func (h *host) start(reboot bool) {
	if reboot {
		h.boot++
	}
	ctx, cancel := context.WithCancel(h.w.ctx)
	d := &daemon{h: h, w: h.w, boot: fmt.Sprintf("boot-%d", h.boot), ctx: ctx, cancel: cancel,
		urgent: make(chan struct{}, 1), enroll: make(chan struct{}, 1), rng: h.w.rng(h.key, h.w.names.Add(1)),
		wanted: true, ttl: time.Minute, lives: map[fsm.AgentID]*life{}, ended: map[fsm.AgentID]fsm.Incarnation{}}
	h.mu.Lock()
	h.daemon = d
	h.mu.Unlock()
	d.tasks.Go(d.registering)
	d.tasks.Go(d.beating)
	d.tasks.Go(d.listening)
	poke(d.enroll)
}

// stop takes the daemon and everything that it started away at once.
func (h *host) stop() {
	h.mu.Lock()
	d := h.daemon
	h.daemon = nil
	h.mu.Unlock()
	if d == nil {
		return
	}
	d.mu.Lock()
	d.over = true
	for _, l := range d.lives {
		l.vanish()
	}
	d.mu.Unlock()
	d.cancel()
	d.tasks.Wait()
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// registering introduces the host whenever that is asked for.
func (d *daemon) registering() {
	for {
		select {
		case <-d.enroll:
		case <-d.ctx.Done():
			return
		}
		for pause := 200 * time.Millisecond; !d.register(); pause = min(2*pause, 5*time.Second) {
			if !nap(d.ctx, pause) {
				return
			}
		}
		poke(d.urgent)
	}
}

func (d *daemon) register() bool {
	req := fsm.RegisterHost{Key: d.h.key, Name: d.h.key, Boot: d.boot, Version: "sim", Runners: []string{"ai"}, Capacity: 40}
	req.Taken = uint64(d.w.since()) + 1
	if d.h.ssd {
		req.Labels = []fsm.KV{{Key: "disk", Value: "ssd"}}
	}
	d.mu.Lock()
	for _, l := range d.lives {
		if l.phase == accepting {
			l.confirm = true
			continue
		}
		req.Inventory = append(req.Inventory, fsm.Running{Agent: l.id, Inc: l.inc, PID: uint32(l.id)})
	}
	d.mu.Unlock()
	out, err := d.w.ask(d.ctx, d.h.n, fsm.Request{Cmd: req})
	if err != nil || out.Code != fsm.OK {
		return false
	}
	d.mu.Lock()
	d.id, d.ttl, d.registered, d.wanted = out.Host, time.Duration(out.TTL), true, false
	d.mu.Unlock()
	return true
}

func (d *daemon) reenroll() {
	d.wanted = true
	poke(d.enroll)
}

// beating renews the host and its lives every TTL/4, a second after a failure.
func (d *daemon) beating() {
	wait := time.Second
	for {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-d.urgent:
			t.Stop()
		case <-d.ctx.Done():
			t.Stop()
			return
		}
		wait = time.Second
		if d.beat() {
			wait = d.interval()
		}
	}
}

// interval is a quarter of the shortest TTL.
func (d *daemon) interval() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	ttl := d.ttl
	for _, l := range d.lives {
		ttl = min(ttl, l.ttl)
	}
	return ttl / 4
}

// beat sends the fences as the host's word and, beside it, the leases as the
// agents' own, which in reality come one by one.
func (d *daemon) beat() bool {
	d.mu.Lock()
	if !d.registered {
		d.mu.Unlock()
		return false
	}
	var agents, own []fsm.AgentID
	var incs, ownIncs []fsm.Incarnation
	var kinds, ownKinds []uint8
	for id, l := range d.lives {
		if l.phase == accepting {
			continue
		}
		k := uint8(fsm.BeatFence)
		if l.phase == running && !l.role.own {
			k |= fsm.BeatVouch
		}
		agents, incs, kinds = append(agents, id), append(incs, l.inc), append(kinds, k)
		if l.proc != nil && l.proc.beats() {
			own, ownIncs, ownKinds = append(own, id), append(ownIncs, l.inc), append(ownKinds, fsm.BeatLease)
		}
	}
	host, sent := d.id, time.Now()
	d.mu.Unlock()
	if len(own) > 0 {
		d.tasks.Go(func() {
			ans, err := d.send(fsm.HostBeats{Packed: fsm.PackBeats(nil, own, ownIncs, ownKinds)})
			if err == nil {
				d.heard(ans)
			}
		})
	}
	ans, err := d.send(fsm.HostBeats{Host: host, Boot: d.boot, Packed: fsm.PackBeats(nil, agents, incs, kinds)})
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
		return false
	case err != nil:
		return false
	case ans.HostGone:
		d.reenroll()
		return false
	}
	verdicts := map[fsm.AgentID]fsm.BeatException{}
	for _, e := range ans.Exceptions {
		verdicts[e.Agent] = e
	}
	for i, id := range agents {
		if l := d.lives[id]; l != nil && l.inc == incs[i] {
			l.judged(sent, verdicts[id].Verdict)
		}
	}
	return true
}

func (d *daemon) send(hb fsm.HostBeats) (fsm.BeatAnswer, error) {
	if d.w.cfg.mutant == losesBeats && d.h.n == 0 {
		return fsm.BeatAnswer{}, nil // the agents are told that they beat
	}
	ans, err := attempt(d.ctx, d.w, d.h.n, someLate, func(ctx context.Context, rep *cluster.Replica) (fsm.BeatAnswer, error) {
		return rep.Beat(ctx, hb)
	})
	if d.w.cfg.mutant == liesAboutFencing {
		ans.Exceptions = nil
	}
	return ans, err
}

// heard tells agents what their own beats were answered.
func (d *daemon) heard(ans fsm.BeatAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range ans.Exceptions {
		if l := d.lives[e.Agent]; l != nil && l.inc == e.Inc && l.proc != nil {
			l.proc.told(e.Verdict)
		}
	}
}

// order is what the stream brings.
type order struct {
	kind   fsm.OrderKind
	agent  fsm.AgentID
	inc    fsm.Incarnation
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
		srv := d.dice(servers)
		if d.w.links.enter(d.h.n, srv) && d.w.c.Replica(srv) != nil {
			d.session(srv, id)
		}
	}
}

func (d *daemon) dice(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

func (d *daemon) session(srv int, id fsm.HostID) {
	s := d.w.switchboard[srv]
	wake := s.attach(id)
	defer s.detach(id, wake)
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	rep := d.w.c.Replica(srv)
	for {
		if rep == nil || rep != d.w.c.Replica(srv) || !d.w.links.enter(d.h.n, srv) {
			return
		}
		s.ping(id)
		known := true
		var orders []order
		rep.Read(func(st *fsm.State) {
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
func (w *world) orders(st *fsm.State, id fsm.HostID) (list []order) {
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
	case o.kind == fsm.StartOrder && d.w.cfg.mutant == ignoresStarts:
	case o.kind == fsm.StopOrder && d.w.cfg.mutant == ignoresStops:
	case o.kind == fsm.StartOrder && o.inc <= d.ended[o.agent]:
	case o.kind == fsm.StartOrder && l == nil:
		d.accept(o)
	case o.kind == fsm.StartOrder && o.inc > l.inc:
		l.next = &o
		l.supersede()
	case o.kind == fsm.StartOrder:
	case l != nil && l.inc == o.inc:
		l.end("stopped", grace)
	case l != nil && l.inc < o.inc, o.inc <= d.ended[o.agent]:
	default:
		d.ended[o.agent] = o.inc
		d.report(fsm.ReportExit{Agent: o.agent, Inc: o.inc, Reason: "it does not run on this host"}, nil)
	}
}

// report brings an end to the cluster, after the report of the start was given up.
func (d *daemon) report(r fsm.ReportExit, started chan struct{}) {
	d.tasks.Go(func() {
		if started != nil {
			<-started
		}
		_, _ = d.w.insist(d.ctx, d.h.n, fsm.Request{Cmd: d.signed(r)}, nil)
	})
}

func (d *daemon) signed(r fsm.ReportExit) fsm.ReportExit {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Host = d.id
	return r
}
