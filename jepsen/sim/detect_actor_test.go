package sim

import (
	"math"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// actor is the program of an agent in a run about detection: a process that plays a
// part, over and over, and reports its health when its role asks for that.
type actor struct {
	*process
	part    *part
	task    noun.TaskID
	attempt uint32

	said   sync.Mutex
	status noun.DeclaredStatus
	waits  noun.Waiting
	until  time.Time // of what it has declared; zero: no end
	seq    uint64
	dumb   bool // it reports no more
}

// act is the whole life of such a process.
func (p *process) act() {
	a := &actor{process: p, part: p.l.role.part}
	if !a.rest(a.between(500*time.Millisecond, 5*time.Second)) {
		return
	}
	if a.part.spec.HealthEvery > 0 {
		p.d.tasks.Go(a.reporting)
	}
	for a.ctx.Err() == nil {
		a.part.play(a)
	}
}

// word says something of the task that it works on, until there is an answer; false: it has
// no task any more.
func (a *actor) word(cmd func(fsm.Work) fsm.Command) bool {
	var out noun.Outcome
	ok := false
	for !ok && a.ctx.Err() == nil {
		out, ok = a.say(func(s fsm.Speaker) fsm.Command {
			return cmd(fsm.Work{Speaker: s, Task: a.task, Attempt: a.attempt})
		})
	}
	a.part.words.Add(1)
	if !ok || out.Code != noun.OK {
		a.drop()
		a.task = 0
		return false
	}
	return true
}

// take waits for a task and starts it. False: it has none.
func (a *actor) take() bool {
	if !a.claim() {
		return false
	}
	return a.rest(a.between(time.Second, 10*time.Second)) &&
		a.word(func(w fsm.Work) fsm.Command { return fsm.StartTask{Work: w} })
}

func (a *actor) claim() bool {
	if !a.enter() {
		return false
	}
	id, attempt, ok := a.wait()
	if !ok {
		return false
	}
	a.proves(true, id)
	a.beating(a.l.role.own)
	a.task, a.attempt = id, attempt
	return true
}

func (a *actor) progress() bool {
	return a.word(func(w fsm.Work) fsm.Command { return fsm.ProgressTask{Work: w, Note: "going on"} })
}

func (a *actor) finish() {
	if !a.word(func(w fsm.Work) fsm.Command { return fsm.CompleteTask{Work: w, Result: a.l.name} }) {
		return
	}
	a.mu.Lock()
	a.worked = true
	a.mu.Unlock()
	a.w.ledger.count("tasks completed")
	a.drop()
	a.task = 0
}

// works lets time pass in which it says so, at the latest after each step of these.
func (a *actor) works(lasting, least, most time.Duration) bool {
	for left := lasting; left > 0; {
		n := min(left, a.between(least, most))
		if left -= n; !a.rest(n) || !a.progress() {
			return false
		}
	}
	return true
}

// declare says how it is, for so long.
func (a *actor) declare(status noun.DeclaredStatus, waits noun.Waiting, lasting time.Duration) bool {
	a.said.Lock()
	a.status, a.waits, a.until = status, waits, time.Time{}
	if lasting > 0 {
		a.until = time.Now().Add(lasting)
	}
	a.said.Unlock()
	return a.report(lasting)
}

func (a *actor) report(lasting time.Duration) bool {
	cmd := a.saying(lasting)
	_, ok := a.say(func(s fsm.Speaker) fsm.Command {
		cmd.Speaker = s
		return cmd
	})
	a.part.words.Add(1)
	return ok
}

// saying is its next report. They are numbered, since they overtake each other.
func (a *actor) saying(lasting time.Duration) fsm.Declare {
	a.said.Lock()
	defer a.said.Unlock()
	a.seq++
	return fsm.Declare{Status: a.status, Waiting: a.waits, For: lasting, Seq: a.seq}
}

// through lets a silence pass that it has explained before, and explains again some
// minutes before the explanation lapses.
func (a *actor) through(waits noun.Waiting, lasting, span time.Duration) bool {
	status := noun.StatusHealthy
	if waits == noun.WaitingNone {
		status = noun.StatusBusy
	}
	const early = 4 * time.Minute
	for left := lasting; left > 0; {
		if !a.declare(status, waits, min(span, left+early)) {
			return false
		}
		n := min(left, span-early)
		if left -= n; !a.rest(n) {
			return false
		}
	}
	return a.declare(noun.StatusHealthy, noun.WaitingNone, 0)
}

// reporting repeats what it said last as often as its role asks for, give or take, and
// now and then loses a report or several, always fewer than would be missed.
func (a *actor) reporting() {
	spec, k := &a.part.spec, &client{w: a.w, from: a.d.h.n}
	rng := a.w.rng(a.l.name+" reports", uint64(a.l.inc))
	lost := uint32(0)
	for {
		every := spec.HealthEvery * time.Duration(88+rng.IntN(24)) / 100
		if !nap(a.ctx, every) || !a.gate() {
			return
		}
		left, dumb := a.lasts()
		switch {
		case dumb:
			return
		case lost+2 < spec.HealthMissed && rng.IntN(10) == 0:
			lost++
		default:
			lost = 0
			cmd := a.saying(left)
			cmd.Speaker = fsm.Speaker{Agent: a.l.name, Inc: a.l.inc, TokenHash: []byte(a.l.name)}
			_, _ = k.do(a.ctx, cmd, a.gate) // who is not in the room is refused
			a.part.words.Add(1)
		}
	}
}

// lasts tells for how long what it said last holds, and whether it reports no more.
func (a *actor) lasts() (left time.Duration, dumb bool) {
	a.said.Lock()
	defer a.said.Unlock()
	if !a.until.IsZero() {
		left = time.Until(a.until)
		if left < time.Second { // it has lapsed
			a.status, a.waits, a.until, left = noun.StatusHealthy, noun.WaitingNone, time.Time{}, 0
		}
	}
	return left, a.dumb
}

// silence ends its reports.
func (a *actor) silence() {
	a.said.Lock()
	defer a.said.Unlock()
	a.dumb = true
}

// long gives a length between two, short ones as often as each that is twice as long.
func (a *actor) long(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), a.rng.Float64()))
}
