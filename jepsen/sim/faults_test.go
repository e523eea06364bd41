package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"vigil/jepsen/history"
)

// fault is one kind of harm that is done to servers, lasts, and is undone.
type fault struct {
	name        string
	what        string // it does to the servers that it touches, as package history says it
	weight      int
	least, most time.Duration // how long it lasts
	alone       bool          // nothing else is broken meanwhile
	do          func(*blow)
}

// blow is one fault that strikes.
type blow struct {
	w       *world
	rng     *rand.Rand
	lasting time.Duration
	note    string // what was hit, for people
	touched []int  // servers that it may keep from working
}

// touch notes that a server is hit.
func (b *blow) touch(i int) {
	if !slices.Contains(b.touched, i) {
		b.touched = append(b.touched, i)
	}
	b.note += " " + b.w.servers[i].cfg.ID
}

// touchAll notes that all servers are hit.
func (b *blow) touchAll() {
	for i := range b.w.n {
		b.touch(i)
	}
}

// last lets the harm last.
func (b *blow) last() { nap(b.w.ctx, b.lasting) }

func (b *blow) pause(d time.Duration) bool { return nap(b.w.ctx, d) }

// until repeats something until the time of the fault is over.
func (b *blow) until(step func() bool) {
	for end := time.Now().Add(b.lasting); time.Now().Before(end) && step(); {
	}
}

func (b *blow) between(least, most time.Duration) time.Duration {
	return least + time.Duration(b.rng.Int64N(int64(most-least)))
}

// server picks one, every other time the leader.
func (b *blow) server() *server {
	i := b.rng.IntN(b.w.n)
	if l := b.w.leading(); l >= 0 && b.rng.IntN(2) == 0 {
		i = l
	}
	b.touch(i)
	return b.w.servers[i]
}

// group picks n servers.
func (b *blow) group(n int) (list []*server) {
	for _, i := range b.rng.Perm(b.w.n)[:n] {
		list = append(list, b.w.servers[i])
		b.touch(i)
	}
	return list
}

// cut keeps servers from hearing each other whenever apart says so, until undone. Of
// two that are cut from each other one counts as touched, so that the untouched ones
// all hear each other.
func (b *blow) cut(apart func(from, to int) bool) (undo func()) {
	var all []func()
	for i := range b.w.n {
		for j := range b.w.n {
			if i != j && apart(i, j) && !slices.Contains(b.touched, i) && !slices.Contains(b.touched, j) {
				b.touch(i)
			}
		}
	}
	for i := range b.w.n {
		for j := range b.w.n {
			if i != j && apart(i, j) {
				all = append(all, b.w.wire.block(i, j))
			}
		}
	}
	return func() {
		for _, fn := range all {
			fn()
		}
	}
}

func (b *blow) isolate(s *server) (undo func()) {
	return b.cut(func(i, j int) bool { return i == s.i || j == s.i })
}

// during lets the harm last, and undoes it.
func (b *blow) during(undo func()) {
	b.last()
	undo()
}

const s, ms, m = time.Second, time.Millisecond, time.Minute

// rareFaults is how many kinds at the end of serverFaults are rare and long; each is tried by itself, too.
const rareFaults = 2

// serverFaults are all kinds.
var serverFaults = []fault{
	{"server killed", history.Killed, 3, s, 90 * s, false,
		func(b *blow) { v := b.server(); v.kill(); b.during(v.start) }},
	{"majority killed", history.Killed, 2, s, 60 * s, false, func(b *blow) { b.killed(b.w.n/2 + 1) }},
	{"all servers killed", history.Killed, 2, s, 4 * m, false, func(b *blow) { b.killed(b.w.n) }},
	{"server killed in the middle of a write", history.Killed, 3, s, 30 * s, false, (*blow).killedWriting},
	{"all servers killed in the middle of writes", history.Killed, 2, s, 30 * s, false, (*blow).allKilledWriting},
	{"server stopped in an orderly way", history.Killed, 2, s, 60 * s, false,
		func(b *blow) { v := b.server(); v.stop(); b.during(v.start) }},
	{"server killed again and again", history.Killed, 2, 20 * s, 90 * s, false, (*blow).killedOften},
	{"server frozen shortly", history.Stopped, 3, 300 * ms, 4 * s, false, (*blow).frozenShortly},
	{"server frozen for long", history.Stopped, 3, 6 * s, 2 * m, false,
		func(b *blow) { b.during(b.w.wire.freeze(b.server().i)) }},
	{"server isolated", history.Cut, 3, s, 90 * s, false, func(b *blow) { b.during(b.isolate(b.server())) }},
	{"leader isolated", history.Cut, 3, s, 90 * s, false, (*blow).leaderIsolated},
	{"halves", history.Cut, 2, 5 * s, 90 * s, false, (*blow).halves},
	{"ring of majorities", history.Cut, 2, 5 * s, 90 * s, false, (*blow).ring},
	{"one way only", history.Cut, 3, 5 * s, 90 * s, false, (*blow).oneWay},
	{"bridge", history.Cut, 2, 5 * s, 90 * s, false, (*blow).bridge},
	{"flapping link", history.Cut, 2, 10 * s, 60 * s, false, (*blow).flapping},
	{"all servers cut from each other", history.Cut, 2, 5 * s, 3 * m, false,
		func(b *blow) { b.during(b.cut(func(i, j int) bool { return true })) }},
	{"messages lost", history.Cut, 3, 10 * s, 2 * m, false, (*blow).lossy},
	{"messages late and out of order", history.Slow, 3, 10 * s, 2 * m, false, (*blow).late},
	{"messages twice", history.Slow, 2, 10 * s, 2 * m, false, (*blow).doubled},
	{"calls late and twice", history.Slow, 3, 30 * s, 3 * m, false, (*blow).roughCalls},
	{"disk stalled shortly", history.Disk, 3, 500 * ms, 4500 * ms, false,
		func(b *blow) { v := b.server(); v.disk.stall(); b.during(v.disk.resume) }},
	{"disk stalled for long", history.Disk, 3, 10 * s, 60 * s, false, (*blow).diskStuck},
	{"disk slow", history.Slow, 2, 20 * s, 2 * m, false, (*blow).diskSlow},
	{"leadership handed over", history.Leading, 2, s, 2 * s, false, func(b *blow) { b.handOver() }},
	{"leadership handed over again and again", history.Leading, 2, 10 * s, 60 * s, false, func(b *blow) {
		b.until(func() bool { b.handOver(); return b.pause(b.between(500*ms, 8*s)) })
	}},
	{"API of a server out of reach", history.Unheard, 3, 10 * s, 3 * m, false,
		func(b *blow) { b.during(block(b.w.links, b.w.links.shut, b.server().i)) }},
	{"follower beyond the log", history.Cut, 2, 4 * m, 8 * m, false, (*blow).leftBehind},
	{"server removed and added", history.Away, 1, 5 * s, 90 * s, true, func(b *blow) { b.replaced(false) }},
	{"server lost its disk", history.Away, 1, 5 * s, 90 * s, true, func(b *blow) { b.replaced(true) }},
	{"backup restored", history.Away, 1, 10 * s, 10 * m, true, (*blow).restored},
	{"backup with other TTLs restored", history.Away, 1, m, 10 * m, true, (*blow).restoredTTLs},
	{"all servers away for 40 minutes", history.Killed, 1, 40 * m, 45 * m, true, func(b *blow) { b.killed(b.w.n) }},
}

func (b *blow) killed(n int) {
	list := b.group(n)
	for _, v := range list {
		v.kill()
	}
	b.last()
	for _, v := range list {
		v.start()
		b.pause(b.between(1, 2*s))
	}
}

// killedWriting loses power while entries are on their way to the disk.
func (b *blow) killedWriting() {
	v := b.server()
	v.mayEnd.Add(1) // when it is told to stop at the same time, it waits for the disk
	defer v.mayEnd.Add(-1)
	v.disk.stall()
	b.pause(b.between(ms, 500*ms))
	v.kill()
	b.during(v.start)
}

func (b *blow) allKilledWriting() {
	b.touchAll()
	for _, v := range b.w.servers {
		v.mayEnd.Add(1) // as above
		defer v.mayEnd.Add(-1)
		v.disk.stall()
		b.pause(b.between(ms, 100*ms))
	}
	for _, v := range b.w.servers {
		v.kill()
	}
	b.last()
	for _, v := range b.w.servers {
		v.start()
	}
}

func (b *blow) killedOften() {
	v := b.server()
	b.until(func() bool {
		v.kill()
		b.pause(b.between(ms, 3*s))
		v.start()
		return b.pause(b.between(ms, 10*s))
	})
}

// frozenShortly holds network and disk: all that a server can be held at.
func (b *blow) frozenShortly() {
	v := b.server()
	thaw := b.w.wire.freeze(v.i)
	v.disk.stall()
	b.last()
	v.disk.resume()
	thaw()
}

func (b *blow) leaderIsolated() {
	b.until(func() bool {
		if l := b.w.leading(); l >= 0 {
			b.touch(l)
			undo := b.isolate(b.w.servers[l])
			b.pause(b.between(s, 20*s))
			undo()
		}
		return b.pause(b.between(s, 10*s))
	})
}

func (b *blow) halves() {
	side := map[int]bool{}
	for _, v := range b.group(b.w.n / 2) {
		side[v.i] = true
	}
	b.during(b.cut(func(i, j int) bool { return side[i] != side[j] }))
}

// ring: each server hears a majority, and no two the same.
func (b *blow) ring() {
	n, order := b.w.n, b.rng.Perm(b.w.n)
	b.during(b.cut(func(i, j int) bool {
		away := (order[i] - order[j] + n) % n
		return min(away, n-away) > n/4 && (n > 3 || order[i]+order[j] == 1)
	}))
}

// oneWay: one is not heard, or does not hear, or only one link is half dead.
func (b *blow) oneWay() {
	v, other := b.server().i, b.rng.IntN(b.w.n)
	kind := b.rng.IntN(3)
	b.during(b.cut(func(i, j int) bool {
		return kind == 0 && i == v || kind == 1 && j == v || kind == 2 && i == v && j == other
	}))
}

// bridge: two halves that hear each other only through one server.
func (b *blow) bridge() {
	order := b.rng.Perm(b.w.n)
	middle, half := order[0], map[int]bool{}
	for _, i := range order[1 : 1+b.w.n/2] {
		half[i] = true
	}
	b.during(b.cut(func(i, j int) bool { return i != middle && j != middle && half[i] != half[j] }))
}

func (b *blow) flapping() {
	v := b.server()
	b.until(func() bool {
		undo := b.isolate(v)
		b.pause(b.between(100*ms, 3*s))
		undo()
		return b.pause(b.between(100*ms, 3*s))
	})
}

func (b *blow) lossy() {
	b.touchAll()
	chance := 0.05 + 0.4*b.rng.Float64()
	n := b.w.wire
	n.change(func() { n.loss = chance })
	b.during(func() { n.change(func() { n.loss = 0 }) })
}

func (b *blow) late() {
	b.touchAll()
	most := b.between(20*ms, 700*ms)
	n := b.w.wire
	n.change(func() { n.delay = most })
	b.during(func() { n.change(func() { n.delay = 0 }) })
}

func (b *blow) doubled() {
	b.touchAll()
	n := b.w.wire
	n.change(func() { n.twice = 0.3 })
	b.during(func() { n.change(func() { n.twice = 0 }) })
}

func (b *blow) roughCalls() {
	b.w.links.rough.Add(1)
	b.during(func() { b.w.links.rough.Add(-1) })
}

// diskNoticed is when a server that waits for its disk must have ended.
const diskNoticed = 8 * s

// diskStuck: the server must end by itself; it is started again with a good disk.
func (b *blow) diskStuck() {
	v := b.server()
	st := v.now.Load()
	v.mayEnd.Add(1)
	v.disk.stall()
	b.last()
	// One that is alone and has nothing to write does not notice.
	if waited := v.disk.waited(); waited > diskNoticed && st != nil && v.now.Load() == st && b.w.ctx.Err() == nil {
		b.w.ledger.breach("disk", "server %d has not ended although it has waited %v for its disk", v.i, waited)
	}
	v.disk.resume()
	v.start()
	v.mayEnd.Add(-1)
}

func (b *blow) diskSlow() {
	v, most := b.server(), b.between(2*ms, 300*ms)
	v.disk.slowDown(most)
	b.during(func() { v.disk.slowDown(0) })
}

func (b *blow) handOver() {
	l := b.w.leading()
	if l < 0 {
		return
	}
	if st := b.w.servers[l].now.Load(); st != nil {
		ctx, cancel := context.WithTimeout(b.w.ctx, 10*time.Second)
		_ = st.rep.Transfer(ctx, "") // it may fail as everything here
		cancel()
	}
}

// leftBehind isolates a server until the others have dropped what it lacks, so that
// it needs a snapshot.
func (b *blow) leftBehind() {
	v := b.server()
	before := b.w.wire.installs.Load()
	b.during(b.isolate(v))
	b.pause(10 * time.Second)
	if b.w.wire.installs.Load() > before {
		b.w.ledger.count("servers brought up by a snapshot")
	}
}
