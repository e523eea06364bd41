package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"vigil/jepsen/history"
)

// hostFault is one kind of harm that is done to a host.
type hostFault struct {
	name        string
	what        string // it does to the host, as package history says it
	weight      int
	least, most time.Duration
	do          func(w *world, h *host, rng *rand.Rand, lasting time.Duration)
}

var allHostFaults = []hostFault{
	{"host cut for less than the TTL", history.Cut, 2, 5 * s, 50 * s, (*world).cutHost},
	{"host cut for longer than the TTL", history.Cut, 3, 62 * s, 6 * m, (*world).cutHost},
	{"host hears no answers", history.Cut, 3, 10 * s, 150 * s, (*world).deafHost},
	{"host cut from one server", history.Cut, 2, 10 * s, 5 * m, (*world).halfCutHost},
	{"host rebooted", history.Killed, 2, 5 * s, 3 * m, (*world).rebootHost},
	{"host flaps", history.Cut, 2, 30 * s, 3 * m, (*world).flappingHost},
	{"host suspended", history.Stopped, 3, 2 * s, 10 * m, (*world).suspendHost},
	{"daemon killed with its agents", history.Killed, 2, s, 20 * s, (*world).restartDaemon},
	{"daemon killed, agents go on", history.Killed, 3, s, 3 * m, (*world).awayDaemon},
	{"calls of a host slow", history.Slow, 2, 30 * s, 5 * m, (*world).slowHost},
	{"host cloned", history.Away, 1, 30 * s, 4 * m, (*world).cloneHost},
}

// hostFaults breaks hosts, one at a time.
func (w *world) hostFaults() {
	rng := w.rng("host faults", 0)
	weights := draw(rng, len(allHostFaults), func(i int) int { return allHostFaults[i].weight })
	for nap(w.ctx, time.Duration(120+rng.IntN(900))*time.Second) {
		if w.calm.Load() {
			continue
		}
		h, f := w.hosts[rng.IntN(len(w.hosts))], allHostFaults[pick(rng, weights)]
		lasting := f.least + time.Duration(rng.Int64N(int64(f.most-f.least)))
		w.ledger.count("fault: " + f.name)
		began := w.since()
		f.do(w, h, rng, lasting)
		w.ledger.story.fault(history.Fault{Kind: f.name, Lane: "hosts", Note: h.key, From: int64(began),
			To: int64(w.since())}, f.what, h.key)
	}
}

// heals: a host's lives can prove themselves again from now on.
func (w *world) heals(h *host, undo func()) {
	w.ledger.reachable(h.n, w.clock())
	undo()
	w.ledger.reachable(h.n, w.clock())
}

func (w *world) cutHost(h *host, _ *rand.Rand, lasting time.Duration) {
	undo := block(w.links, w.links.host, h.n)
	nap(w.ctx, lasting)
	w.heals(h, undo)
}

// deafHost: what the host says arrives, and it never learns so: its agents freeze
// although their leases are renewed.
func (w *world) deafHost(h *host, _ *rand.Rand, lasting time.Duration) {
	undo := block(w.links, w.links.deaf, h.n)
	nap(w.ctx, lasting)
	w.heals(h, undo)
}

func (w *world) halfCutHost(h *host, rng *rand.Rand, lasting time.Duration) {
	undo := block(w.links, w.links.door, [2]int{h.n, rng.IntN(w.n)})
	nap(w.ctx, lasting)
	undo()
}

func (w *world) rebootHost(h *host, _ *rand.Rand, lasting time.Duration) {
	h.stop()
	nap(w.ctx, lasting)
	h.start(true)
}

func (w *world) flappingHost(h *host, rng *rand.Rand, lasting time.Duration) {
	for end := time.Now().Add(lasting); time.Now().Before(end) && w.ctx.Err() == nil; {
		undo := block(w.links, w.links.host, h.n)
		nap(w.ctx, time.Duration(1+rng.IntN(20))*time.Second)
		w.heals(h, undo)
		nap(w.ctx, time.Duration(1+rng.IntN(10))*time.Second)
	}
}

func (w *world) restartDaemon(h *host, _ *rand.Rand, lasting time.Duration) {
	h.stop()
	nap(w.ctx, lasting)
	h.start(false)
}

// suspendHost closes the lid: nothing on the machine is scheduled, and when it goes
// on, the switches see how much time has passed before any agent runs.
func (w *world) suspendHost(h *host, _ *rand.Rand, lasting time.Duration) {
	h.mu.Lock()
	d := h.daemon
	h.mu.Unlock()
	if d == nil {
		return
	}
	undo := block(w.links, w.links.host, h.n)
	d.suspend()
	nap(w.ctx, lasting)
	d.resume()
	w.heals(h, undo)
}

func (d *daemon) suspend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended = true
	for _, l := range d.lives {
		if l.proc != nil && !l.frozen {
			l.proc.freeze(true)
		}
	}
}

func (d *daemon) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended = false
	if d.over {
		return
	}
	for _, l := range d.lives {
		silent := time.Since(l.sent) >= l.patience() && d.w.cfg.mutant != neverFreezes
		switch {
		case l.phase == accepting:
			l.confirm = true
			continue
		case silent && !l.frozen:
			l.frozen, l.since = true, time.Now()
		case !silent && !l.frozen && l.proc != nil:
			l.proc.freeze(false)
		}
		l.watch()
	}
	poke(d.urgent)
}

// awayDaemon kills the daemon alone: the agents and their switches go on, and the
// next daemon adopts them.
func (w *world) awayDaemon(h *host, _ *rand.Rand, lasting time.Duration) {
	h.mu.Lock()
	d := h.daemon
	h.mu.Unlock()
	if d == nil {
		return
	}
	d.away.Store(true)
	undo := block(w.links, w.links.silent, h.n)
	nap(w.ctx, lasting)
	d.mu.Lock()
	d.away.Store(false)
	for _, l := range d.lives {
		l.confirm = l.confirm || l.phase == accepting
	}
	d.reenroll()
	d.mu.Unlock()
	w.heals(h, undo)
}

func (w *world) slowHost(h *host, rng *rand.Rand, lasting time.Duration) {
	w.links.change(func() { w.links.slow[h.n] = time.Duration(200+rng.IntN(1800)) * time.Millisecond })
	nap(w.ctx, lasting)
	w.heals(h, func() { w.links.change(func() { delete(w.links.slow, h.n) }) })
}

// cloneHost starts a copy of the machine, at another place, with the same identity.
func (w *world) cloneHost(h *host, rng *rand.Rand, lasting time.Duration) {
	clone := &host{w: w, n: int(1000 + w.names.Add(1)), key: h.key, labels: h.labels,
		name: fmt.Sprintf("clone-%d", w.names.Add(1))}
	clone.start(true)
	if rng.IntN(2) == 0 {
		nap(w.ctx, lasting)
	} else { // the original is away for a while
		w.cutHost(h, rng, lasting)
	}
	clone.stop()
}

// draw gives each kind of fault a weight for this seed: some never come, some often.
func draw(rng *rand.Rand, n int, weight func(int) int) []int {
	list, total := make([]int, n), 0
	for i := range list {
		list[i] = weight(i) * rng.IntN(4)
		total += list[i]
	}
	if total == 0 {
		list[0] = 1
	}
	return list
}

// pick chooses an index by weight.
func pick(rng *rand.Rand, weights []int) int {
	total := 0
	for _, n := range weights {
		total += n
	}
	at := rng.IntN(total)
	for i, n := range weights {
		if at -= n; at < 0 {
			return i
		}
	}
	return 0
}
