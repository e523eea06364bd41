package sim

import (
	"context"
	"math/rand/v2"
	"time"
)

// serverFault does one bad thing to the servers, lets it last, and undoes it.
func (w *world) serverFault(rng *rand.Rand) {
	i, lasting := rng.IntN(servers), time.Duration(1+rng.IntN(90))*time.Second
	if rng.IntN(2) == 0 { // rather the leader
		for j := range servers {
			if rep := w.c.Replica(j); rep != nil && rep.Leader().Self {
				i = j
			}
		}
	}
	j := (i + 1) % servers
	kinds := []struct {
		name     string
		do, undo func()
	}{
		{"server killed", func() { w.kill(i) }, func() { w.c.Restart(i) }},
		{"two servers killed", func() { w.kill(i); w.kill(j) }, func() { w.c.Restart(i); w.c.Restart(j) }},
		{"server isolated", func() { w.isolate(i) }, w.heal},
		{"servers cut from each other", func() { w.cut(i, j) }, w.heal},
		{"server paused", func() { w.pause(i, true) }, func() { w.pause(i, false) }},
		{"all servers cut", func() { w.isolate(0); w.isolate(1) }, w.heal},
		{"leadership handed over", func() { w.handOver() }, func() {}},
	}
	k := kinds[rng.IntN(len(kinds))]
	w.ledger.count("fault: " + k.name)
	k.do()
	nap(w.ctx, lasting)
	k.undo()
}

func (w *world) cut(i, j int) {
	w.c.Cut(i, j)
	w.links.change(func() { w.links.between[i][j], w.links.between[j][i] = true, true })
}

func (w *world) isolate(i int) {
	for j := range servers {
		if j != i {
			w.cut(i, j)
		}
	}
}

func (w *world) heal() {
	w.c.Heal()
	w.links.change(func() { w.links.between = [servers][servers]bool{} })
}

func (w *world) pause(i int, on bool) {
	if on {
		w.c.Pause(i)
	} else {
		w.c.Resume(i)
	}
	w.links.change(func() { w.links.paused[i] = on })
}

func (w *world) handOver() {
	for i := range servers {
		if rep := w.c.Replica(i); rep != nil && rep.Leader().Self {
			ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
			_ = rep.Transfer(ctx, "") // it may fail as everything here
			cancel()
			return
		}
	}
}

// hostFaults cuts hosts off, reboots them and kills their daemons, one at a time.
func (w *world) hostFaults() {
	rng := w.rng("host faults", 0)
	for nap(w.ctx, time.Duration(120+rng.IntN(900))*time.Second) {
		if w.calm.Load() {
			continue
		}
		h := w.hosts[rng.IntN(len(w.hosts))]
		switch rng.IntN(6) {
		case 0:
			w.cutHost(h, "host cut for less than the TTL", time.Duration(5+rng.IntN(45))*time.Second)
		case 1, 2:
			w.cutHost(h, "host cut for longer than the TTL", time.Duration(62+rng.IntN(300))*time.Second)
		case 3:
			w.ledger.count("fault: host rebooted")
			h.stop()
			nap(w.ctx, time.Duration(5+rng.IntN(180))*time.Second)
			h.start(true)
		case 4:
			w.ledger.count("fault: daemon restarted")
			h.stop()
			nap(w.ctx, time.Duration(1+rng.IntN(20))*time.Second)
			h.start(false)
		case 5:
			srv := rng.IntN(servers)
			w.ledger.count("fault: host cut from one server")
			w.links.change(func() { w.links.door[[2]int{h.n, srv}] = true })
			nap(w.ctx, time.Duration(10+rng.IntN(300))*time.Second)
			w.links.change(func() { delete(w.links.door, [2]int{h.n, srv}) })
		}
	}
}

func (w *world) cutHost(h *host, name string, lasting time.Duration) {
	w.ledger.count("fault: " + name)
	w.links.change(func() { w.links.host[h.n] = true })
	nap(w.ctx, lasting)
	w.ledger.reachable(h.n, w.clock())
	w.links.change(func() { delete(w.links.host, h.n) })
}
