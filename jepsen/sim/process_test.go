package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// process is an agent's program: it joins, waits, claims, works, and goes wrong.
type process struct {
	l      *life
	d      *daemon
	w      *world
	rng    *rand.Rand
	client *client
	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	inRoom bool // joined; the worker's own belief

	mu     sync.Mutex
	thawed chan struct{} // open while frozen; nil: not frozen
	dead   bool
	hung   bool
	own    bool // it beats by itself
	lost   bool // a beat was answered rejoin
	worked bool // completed a task
	terms  int
	traps  bool // it does not end when it is asked to
}

func newProcess(l *life) *process {
	ctx, cancel := context.WithCancel(l.d.ctx)
	p := &process{l: l, d: l.d, w: l.d.w, ctx: ctx, cancel: cancel, rng: l.d.w.rng(l.name, uint64(l.inc))}
	p.client = &client{w: p.w, from: l.d.h.n}
	if l.frozen {
		p.thawed = make(chan struct{})
	}
	return p
}

// freeze stops the whole tree, or lets it go on.
func (p *process) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
	case on && p.thawed == nil:
		p.thawed = make(chan struct{})
		p.w.ledger.frozen(p.l.name, p.l.inc)
	case !on && p.thawed != nil:
		close(p.thawed)
		p.thawed = nil
		p.w.ledger.thawed(p.l.name, p.l.inc, p.d.h.n)
	}
}

// gate holds the process while it is frozen; false: it is dead.
func (p *process) gate() bool {
	for {
		p.mu.Lock()
		wait, dead := p.thawed, p.dead
		p.mu.Unlock()
		if dead {
			return false
		}
		if wait == nil {
			return p.ctx.Err() == nil
		}
		select {
		case <-wait:
		case <-p.ctx.Done():
			return false
		}
	}
}

// rest lets time pass, longer when frozen.
func (p *process) rest(d time.Duration) bool { return nap(p.ctx, d) && p.gate() }

func (p *process) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.rng.Int64N(int64(most-least)))
}

// beats tells whether the agent sends its own beats at this moment.
func (p *process) beats() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own && !p.dead && !p.hung && p.thawed == nil
}

func (p *process) proves(can bool, task noun.TaskID) {
	p.w.ledger.proves(p.l.name, p.l.inc, can, p.w.clock(), task)
}

func (p *process) beating(on bool) {
	p.mu.Lock()
	p.own = on
	p.mu.Unlock()
}

// told hears the verdict on its own beat.
func (p *process) told(v noun.Verdict) {
	p.mu.Lock()
	p.lost = p.lost || v == noun.VerdictRejoin
	p.mu.Unlock()
	if v == noun.VerdictSuperseded || v == noun.VerdictUnknown {
		p.d.tasks.Go(func() { p.die("stopped", 7, "", true) })
	}
}

// term asks the process to end and makes it after the grace.
func (p *process) term(g time.Duration) {
	p.mu.Lock()
	p.terms++
	again := p.terms > 1 && g > 0
	polite := g > 0 && !p.traps && !p.hung && p.thawed == nil && p.rngPolite()
	p.mu.Unlock()
	if again {
		return
	}
	p.d.tasks.Go(func() {
		if polite {
			nap(p.ctx, min(g, time.Second))
		} else if g > 0 {
			nap(p.ctx, g)
		}
		p.die("stopped", 0, "terminated", true)
	})
}

func (p *process) rngPolite() bool { return uint64(p.l.inc)%3 != 0 }

// die ends the process once and tells the daemon, if somebody is left to tell.
func (p *process) die(why string, code int32, signal string, report bool) {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return
	}
	p.dead = true
	worked := p.worked
	p.mu.Unlock()
	flapping := p.l.role.flaps(p.l.name, p.w.since())
	p.w.ledger.ended(p.l.name, p.l.inc, why, worked, p.l.role.spec.Start == noun.StartAlways && !flapping)
	p.cancel()
	if !report {
		return
	}
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if !p.d.over {
		p.l.exited(code, signal)
	}
}

// say sends one word of this life with its fence; false ends the life's work.
func (p *process) say(cmd func(fsm.Speaker) fsm.Command) (noun.Outcome, bool) {
	sp := fsm.Speaker{Agent: p.l.name, Inc: p.l.inc, TokenHash: []byte(p.l.name)}
	out, err := p.client.do(p.ctx, cmd(sp), p.gate)
	if err != nil {
		return out, false
	}
	switch out.Code {
	case noun.OK:
		p.w.ledger.word(p.l.name, p.l.inc, out.Index)
	case noun.Rejoin:
		p.inRoom = false
	case noun.Stopped, noun.Denied, noun.NotFound:
		p.die("stopped", 7, "", true)
		return out, false
	}
	return out, true
}

// run is the program. Every way out of it is an end of the process, or a hang.
func (p *process) run() {
	if p.l.role.part != nil {
		p.act()
		return
	}
	if p.l.role.flaps(p.l.name, p.w.since()) {
		p.rest(p.between(time.Second, 20*time.Second))
		p.die("crash", 1, "", true)
		return
	}
	if !p.rest(p.between(500*time.Millisecond, 15*time.Second)) {
		return
	}
	if p.rng.IntN(150) == 0 && !p.w.cfg.steady {
		p.hang()
		return
	}
	for p.ctx.Err() == nil {
		if !p.enter() {
			continue
		}
		if t, attempt, ok := p.wait(); ok {
			p.work(t, attempt)
		}
	}
}

// hang stops everything but being there.
func (p *process) hang() {
	p.w.ledger.count("hangs")
	p.mu.Lock()
	p.hung = true
	p.mu.Unlock()
	p.proves(false, 0)
	began := p.w.since()
	p.w.ledger.hang(p.l.name, 1)
	<-p.ctx.Done()
	p.w.ledger.hang(p.l.name, -1)
	p.w.ledger.story.idle("agent hangs", p.l.name, fmt.Sprint("host-", p.d.h.n), began, p.w.since())
}

// enter joins the room unless the agent is in it.
func (p *process) enter() bool {
	p.mu.Lock()
	if p.lost {
		p.inRoom, p.lost = false, false
	}
	p.mu.Unlock()
	if p.inRoom {
		return true
	}
	out, ok := p.say(func(s fsm.Speaker) fsm.Command { return fsm.Join{Speaker: s} })
	switch {
	case !ok:
		p.rest(time.Second)
		return false
	case out.Code == noun.Superseded:
		p.die("stopped", 7, "", true)
		return false
	case out.Code != noun.OK:
		return p.rest(time.Second) && false
	}
	p.inRoom = true
	p.beating(true)
	p.proves(true, 0)
	return true
}

// offered tells whether there is something to claim: a task of the role, or the one that this life holds
// and was never told of.
func (p *process) offered(st *fsm.View) bool {
	a := st.AgentByName(p.l.name)
	return st.Pending(p.l.role.id) > 0 || a != nil && a.Inc == p.l.inc && a.Task != 0
}

// wait parks until there is something to claim, and claims it.
func (p *process) wait() (noun.TaskID, uint32, bool) {
	srv := p.rng.IntN(p.w.n)
	if st := p.w.servers[srv].now.Load(); st != nil && p.w.links.hears(p.d.h.n, srv) {
		free, rep := false, st.rep
		rep.Read(func(st *fsm.View) { free = p.offered(st) })
		if !free {
			wake, unpark := st.board.park(p.l.role.id)
			t := time.NewTimer(30 * time.Second)
			select {
			case <-wake:
			case <-t.C:
			case <-p.ctx.Done():
			}
			t.Stop()
			unpark()
			rep.Read(func(st *fsm.View) { free = p.offered(st) })
		}
		if !free || !p.gate() {
			return 0, 0, false
		}
	} else if !p.rest(time.Second) {
		return 0, 0, false
	}
	out, ok := p.say(func(s fsm.Speaker) fsm.Command { return fsm.Claim{Speaker: s} })
	if ok && out.Code == noun.Superseded {
		p.die("stopped", 7, "", true)
	}
	if !ok || out.Code != noun.OK {
		return 0, 0, false
	}
	p.w.ledger.claimed(out, p.l.name, p.l.inc)
	return out.Task, out.Attempt, true
}

// fate is what happens in the course of a task.
func (p *process) fate(title string) int {
	if p.w.cfg.steady {
		return 50
	}
	if strings.HasSuffix(title, "poison") {
		return 0
	}
	return p.rng.IntN(100)
}

// step is how long an agent works at most before it says so.
const step = 5 * time.Minute

// work does one task, or goes wrong at it.
func (p *process) work(id noun.TaskID, attempt uint32) {
	p.proves(true, id)
	p.beating(p.l.role.own) // wait-for-task has ended; the supervisor vouches
	job := func(s fsm.Speaker) fsm.Work { return fsm.Work{Speaker: s, Task: id, Attempt: attempt} }
	if !p.rest(p.between(0, 10*time.Second)) {
		return
	}
	if out, ok := p.say(func(s fsm.Speaker) fsm.Command { return fsm.StartTask{Work: job(s)} }); !ok ||
		out.Code != noun.OK {
		p.drop()
		return
	}
	fate := p.fate(p.w.title(id))
	least, most := time.Minute, 15*time.Minute
	if p.w.cfg.quick {
		least, most = 0, 10*time.Second
	}
	for left := p.between(least, most); left > 0; left -= step {
		if !p.rest(min(left, step)) {
			return
		}
		switch {
		case fate < 3:
			p.die("crash", 1, "", true)
			return
		case fate < 4:
			p.hang()
			return
		}
		out, ok := p.say(func(s fsm.Speaker) fsm.Command { return fsm.ProgressTask{Work: job(s), Note: "going on"} })
		if !ok || out.Code != noun.OK {
			p.drop()
			return
		}
	}
	p.finish(fate, id, attempt, job)
}

// drop forgets a task that is not this life's any more; it waits again.
func (p *process) drop() {
	p.w.ledger.count("tasks dropped")
	p.proves(false, 0)
	p.beating(true)
	p.inRoom = false
}

func (p *process) finish(fate int, id noun.TaskID, attempt uint32, job func(fsm.Speaker) fsm.Work) {
	who := holder(p.l.name, p.l.inc, attempt)
	var out noun.Outcome
	ok := false
	switch {
	case fate < 6:
		out, ok = p.say(func(s fsm.Speaker) fsm.Command {
			return fsm.FailTask{Work: job(s), Reason: "cannot", Retryable: fate < 5}
		})
	default:
		p.w.ledger.completing(id, who)
		complete := func(s fsm.Speaker) fsm.Command { return fsm.CompleteTask{Work: job(s), Result: who} }
		if out, ok = p.say(complete); ok && out.Code == noun.OK {
			p.w.ledger.completed(id, who, out.Index)
			p.mu.Lock()
			p.worked = true
			p.mu.Unlock()
			if p.w.cfg.mutant == completesTwice {
				if out, ok = p.say(complete); ok && out.Code == noun.OK {
					p.w.ledger.completed(id, who, out.Index)
				}
			}
		}
	}
	p.drop()
	if !ok || out.Code != noun.OK || fate >= 95 {
		if ok && fate >= 95 {
			p.die("clean", 0, "", true)
		}
		return
	}
}
