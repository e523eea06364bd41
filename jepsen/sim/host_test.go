package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// host is a machine; daemon is one life of the agentd on it.
type host struct {
	w      *world
	n      int
	key    string
	name   string // of this machine, if it is a clone
	labels []noun.KV
	boot   int

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
	away   atomic.Bool   // the daemon does not run; its agents do

	mu         sync.Mutex
	rng        *rand.Rand
	over       bool
	id         noun.HostID
	ttl        time.Duration
	registered bool
	wanted     bool // registration
	enroll     chan struct{}
	suspended  bool // nothing of the machine is scheduled
	lives      map[noun.AgentID]*life
	ended      map[noun.AgentID]noun.Incarnation
}

// off tells whether neither the machine nor its daemon runs now.
func (h *host) off() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.daemon == nil
}

// start powers the machine or its daemon up.
func (h *host) start(reboot bool) {
	if reboot {
		h.boot++
	}
	ctx, cancel := context.WithCancel(h.w.ctx)
	d := &daemon{h: h, w: h.w, boot: fmt.Sprintf("%sboot-%d", h.name, h.boot), ctx: ctx, cancel: cancel,
		urgent: make(chan struct{}, 1), enroll: make(chan struct{}, 1), rng: h.w.rng(h.key, h.w.names.Add(1)),
		wanted: true, ttl: time.Minute, lives: map[noun.AgentID]*life{}, ended: map[noun.AgentID]noun.Incarnation{}}
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
	if d.away.Load() {
		return false
	}
	req := fsm.RegisterHost{Key: d.h.key, Name: d.h.key, Boot: d.boot, Version: "sim", Runners: []string{"ai"},
		Capacity: 40}
	req.Taken, req.Labels = uint64(d.w.since())+1, d.h.labels
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
	if err != nil || out.Code != noun.OK || d.away.Load() {
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
	var agents, own []noun.AgentID
	var incs, ownIncs []noun.Incarnation
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
	if d.away.Load() {
		return false
	}
	ans, err := d.send(fsm.HostBeats{Host: host, Boot: d.boot, Packed: fsm.PackBeats(nil, agents, incs, kinds)})
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over || d.away.Load() || d.suspended:
		return false
	case err != nil:
		return false
	case ans.HostGone:
		d.reenroll()
		return false
	}
	verdicts := map[noun.AgentID]noun.BeatException{}
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

func (d *daemon) send(hb fsm.HostBeats) (noun.BeatAnswer, error) {
	if d.w.cfg.mutant == losesBeats && d.h.n == 0 {
		return noun.BeatAnswer{}, nil // the agents are told that they beat
	}
	ans, err := attempt(d.ctx, d.w, d.h.n, someLate,
		func(ctx context.Context, rep *cluster.Replica) (noun.BeatAnswer, error) {
			return rep.Beat(ctx, hb)
		})
	if d.w.cfg.mutant == liesAboutFencing {
		ans.Exceptions = nil
	}
	return ans, err
}

// heard tells agents what their own beats were answered.
func (d *daemon) heard(ans noun.BeatAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range ans.Exceptions {
		if l := d.lives[e.Agent]; l != nil && l.inc == e.Inc && l.proc != nil {
			l.proc.told(e.Verdict)
		}
	}
}
