package sim

import (
	"fmt"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/jepsen/history"
)

// cast is who plays in a run about detection, where, and what is known of them.
type cast struct {
	w     *world
	parts []*part
	racks int         // hosts in the machine room, 35 agents on each
	extra [][]noun.KV // labels of hosts of their own, one host each

	mu      sync.Mutex
	spent   map[string]time.Time // agents whose tool is out of quota, until when
	trouble map[int]time.Time    // host -> end of what was last done to it
	heard   map[[2]int]time.Time // server, host: when gossip was heard last
	lookout *lookout
}

const agentsPerHost = 40

// enter puts everybody on the stage.
func (c *cast) enter(w *world) {
	c.w, c.spent, c.trouble, c.heard = w, map[string]time.Time{}, map[int]time.Time{}, map[[2]int]time.Time{}
	k := &client{w: w, from: outside}
	must := func(cmd fsm.Command) {
		if out, err := k.do(w.ctx, cmd, nil); err != nil || out.Code != noun.OK {
			w.t.Fatalf("%+v: %v, %s", cmd, err, out.Detail)
		}
	}
	must(fsm.PutSettings{Values: []noun.KV{{Key: "task_retention", Value: "3h"},
		{Key: "events_kept", Value: "20000"}, {Key: "default_capacity", Value: fmt.Sprint(agentsPerHost)}}})
	for _, p := range c.parts {
		must(fsm.ApplyRoom{Room: p.room, Roles: []noun.RoleSpec{p.spec}, By: "sim", Watch: []noun.RoomWatch{p.watch}})
		for range p.open {
			must(fsm.CreateTask{Room: p.room, Role: p.name, Title: p.kind, By: "sim"})
		}
		w.ready(time.Minute).rep.Read(func(st *fsm.View) {
			r := st.RoleByName(p.room, p.name)
			w.roles[p.name] = &roleInfo{id: r.ID, name: p.name, room: p.room, spec: r.Spec,
				own: r.Spec.Proof == noun.ProofAgent, steady: true, part: p}
		})
	}
	add := func(labels ...noun.KV) {
		h := &host{w: w, n: len(w.hosts), labels: labels}
		h.key = fmt.Sprintf("host-%d", h.n)
		w.hosts = append(w.hosts, h)
		h.start(true)
	}
	for range c.racks {
		add(rack...)
	}
	for _, l := range c.extra {
		add(l...)
	}
}

// labeled are the hosts with a label.
func (c *cast) labeled(l noun.KV) (list []*host) {
	for _, h := range c.w.hosts {
		if h.labels[0] == l {
			list = append(list, h)
		}
	}
	return list
}

func (c *cast) quota(agent string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent[agent]
}

func (c *cast) spend(agent string, lasting time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent[agent] = time.Now().Add(lasting)
}

// troubled tells that something was done to a host lately.
func (c *cast) troubled(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.trouble[n]
	return ok && time.Since(at) < 5*time.Minute
}

// gossip is what a server hears of a host: nothing that it does not reach, and silence
// once that has lasted as long as gossip takes to agree.
func (c *cast) gossip(server int, x *host) noun.Hearing {
	x.mu.Lock()
	d := x.daemon
	x.mu.Unlock()
	up := d != nil && c.w.links.hears(x.n, server)
	if up {
		d.mu.Lock()
		up = !d.suspended
		d.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]int{server, x.n}
	if up || c.heard[key].IsZero() {
		c.heard[key] = time.Now()
	}
	if time.Since(c.heard[key]) >= fsm.SilentFor {
		return noun.HearSilent
	}
	return noun.HearAlive
}

// feed keeps tasks waiting for a part.
func (c *cast) feed(p *part) {
	k, w := &client{w: c.w, from: outside}, c.w
	for nap(w.ctx, p.every) {
		waiting := p.open
		if st := w.ready(time.Minute); st != nil {
			st.rep.Read(func(st *fsm.View) {
				n := st.RoleStats(w.roles[p.name].id).Tasks
				waiting = int(n[noun.TaskQueued] + n[noun.TaskPending])
			})
		}
		if waiting >= p.open/4 {
			continue
		}
		for range p.open {
			if _, err := k.do(w.ctx, fsm.CreateTask{Room: p.room, Role: p.name, Title: p.kind, By: "sim"},
				nil); err != nil {
				break
			}
		}
	}
}

// harm is what is done to hosts of a label in the course of a run.
type harm struct {
	label       noun.KV
	faults      []string
	pause       time.Duration // between two of them, at most
	least, most time.Duration // how long each lasts; 0: as it says
}

// harass breaks hosts, one at a time.
func (c *cast) harass(x harm) {
	w := c.w
	rng, hosts := w.rng("harm "+x.label.Value, 0), c.labeled(x.label)
	for nap(w.ctx, x.pause/8+time.Duration(rng.Int64N(int64(x.pause)))) {
		h, name := hosts[rng.IntN(len(hosts))], x.faults[rng.IntN(len(x.faults))]
		for _, f := range allHostFaults {
			if f.name != name {
				continue
			}
			least, most := f.least, f.most
			if x.most > 0 {
				least, most = x.least, x.most
			}
			c.struck(h, h.key, f.name, f.what,
				func() { f.do(w, h, rng, least+time.Duration(rng.Int64N(int64(most-least)))) })
		}
	}
}

// struck counts a fault of a host and remembers when it ended.
func (c *cast) struck(h *host, key, name, what string, do func()) {
	mark := func(end time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.trouble[h.n] = end
	}
	began := c.w.since()
	c.w.ledger.count("fault: " + name)
	mark(time.Now().Add(24 * time.Hour))
	do()
	mark(time.Now())
	c.w.ledger.story.fault(history.Fault{Kind: name, Lane: "hosts", Note: key, From: int64(began),
		To: int64(c.w.since())}, what, key)
}

// shake breaks servers: now and then one fault, now and then a burst of them.
func (c *cast) shake(pause time.Duration, faults ...string) {
	w := c.w
	w.cfg.faults = faults
	rng := w.rng("faults", 0)
	weights := w.weights(rng)
	for nap(w.ctx, pause/8+time.Duration(rng.Int64N(int64(pause)))) {
		burst := 1
		if rng.IntN(6) == 0 {
			burst = 3 + rng.IntN(8)
		}
		for range burst {
			w.strike(rng, weights)
			nap(w.ctx, time.Duration(rng.IntN(60))*time.Second)
		}
	}
}

// run lets the time pass and compares the servers once a day.
func (c *cast) run(length time.Duration, background ...func()) {
	w := c.w
	c.lookout = newLookout(c)
	w.tasks.Go(c.lookout.run)
	for _, p := range c.parts {
		if p.open > 0 && p.every > 0 {
			w.tasks.Go(func() { c.feed(p) })
		}
		if p.ill != nil && p.ill.role != nil {
			w.tasks.Go(func() { p.ill.role(c, p) })
		}
	}
	for _, fn := range background {
		w.tasks.Go(fn)
	}
	for w.since() < length && len(w.ledger.broken()) < 20 {
		nap(w.ctx, min(24*time.Hour, length-w.since()))
		c.compare()
	}
}

// compare has the leader's state look at itself. The servers compare each other's all the time.
func (c *cast) compare() {
	st := c.w.ready(recovery)
	if st == nil {
		c.w.ledger.breach("recovery", "no leader for %v: %s", recovery, c.w.indexes())
		return
	}
	st.rep.Read(func(st *fsm.View) {
		if err := st.Check(); err != nil {
			c.w.ledger.breach("Check", "%v", err)
		}
		if d := st.Diverged(); len(d) > 0 {
			c.w.ledger.breach("L12", "servers have diverged: %v", d)
		}
	})
}

func (l *ledger) broken() []breach {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaches
}
