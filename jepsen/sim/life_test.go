package sim

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

type phase int

const (
	accepting phase = iota
	accepted
	running
)

const grace = 5 * time.Second

// life is one incarnation on a host, with its dead-man's switch; daemon.mu guards it.
type life struct {
	d       *daemon
	id      noun.AgentID
	name    string
	inc     noun.Incarnation
	role    *roleInfo
	ttl     time.Duration
	phase   phase
	asked   time.Time
	confirm bool // a beat must be acknowledged before the fork

	sent   time.Time // of the last acknowledged fence beat
	frozen bool
	since  time.Time
	timer  *time.Timer

	ending  string // why it is stopped; empty: it is not
	giveUp  context.CancelFunc
	started chan struct{} // closed when the report of the start is done
	proc    *process
	next    *order

	spent bool          // its tool is out of quota
	retry time.Duration // until then, as far as it knows
}

func (d *daemon) accept(o order) {
	ctx, cancel := context.WithCancel(d.ctx)
	l := &life{d: d, id: o.agent, name: o.name, inc: o.inc, role: o.role, ttl: o.ttl, asked: time.Now(), giveUp: cancel,
		confirm: d.wanted}
	d.lives[l.id] = l
	if d.w.cfg.mutant == skipsAccept {
		l.phase, l.sent = accepted, time.Now()
		l.fork()
		return
	}
	cmd := fsm.AcceptOrder{Host: d.id, Boot: d.boot, Agent: l.id, Inc: l.inc, TokenHash: []byte(l.name)}
	d.tasks.Go(func() {
		defer cancel()
		out, err := d.insist(ctx, cmd)
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.over {
			l.answered(out, err)
		}
	})
}

// answered goes on after the answer to an acceptance.
func (l *life) answered(out noun.Outcome, err error) {
	if err != nil || out.Code != noun.OK {
		l.forget()
		return
	}
	l.d.w.ledger.accepted(l.name, l.inc, out.Index)
	l.phase = accepted
	if out.TTL > 0 {
		l.ttl = time.Duration(out.TTL)
	}
	l.acknowledge(l.asked)
	if l.ending != "" {
		l.bury(fsm.ReportExit{Kind: noun.ExitOrdered, Reason: l.ending})
		return
	}
	if l.confirm || time.Since(l.asked) > l.patience()/2 {
		l.confirm = true
		poke(l.d.urgent)
		return
	}
	l.fork()
}

// fork starts the process, or fails to.
func (l *life) fork() {
	d := l.d
	if d.rng.IntN(300) == 0 && !d.w.cfg.steady {
		d.w.ledger.count("starts that failed")
		l.bury(fsm.ReportExit{Kind: noun.ExitStartFailed, Reason: "no such program"})
		return
	}
	l.phase = running
	d.w.ledger.forked(l.name, l.inc, d.h.n)
	l.proc = newProcess(l)
	l.started = make(chan struct{})
	cmd := fsm.ReportStarted{Host: d.id, Agent: l.id, Inc: l.inc, PID: uint32(l.id)}
	d.tasks.Go(func() {
		defer close(l.started)
		out, err := d.insist(l.proc.ctx, cmd)
		if err == nil && out.Code == noun.Superseded {
			d.mu.Lock()
			l.end("superseded", 0)
			d.mu.Unlock()
		}
	})
	d.tasks.Go(l.proc.run)
	if l.ending != "" {
		l.proc.term(grace)
	}
	l.watch()
}

// --- dead-man's switch

func (l *life) patience() time.Duration { return l.ttl * 3 / 4 }

func (l *life) acknowledge(sent time.Time) {
	if sent.After(l.sent) {
		l.sent = sent
	}
	l.watch()
}

// watch sets the timer to when the switch has something to say.
func (l *life) watch() {
	at := l.sent.Add(l.patience())
	if l.frozen {
		return // until it is confirmed or superseded
	}
	wait := max(time.Until(at), time.Millisecond)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.look)
		return
	}
	l.timer.Reset(wait)
}

func (l *life) look() {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if l.d.over || l.d.suspended || l.d.lives[l.id] != l {
		return
	}
	silent := time.Since(l.sent) >= l.patience()
	switch {
	case silent && !l.frozen && l.d.w.cfg.mutant != neverFreezes:
		l.frozen, l.since = true, time.Now()
		if l.proc != nil {
			l.proc.freeze(true)
		}
		l.watch()
	case !silent:
		l.watch()
	}
}

// judged acts on the verdict on a fence beat.
func (l *life) judged(sent time.Time, v noun.Verdict) {
	switch v {
	case noun.VerdictCurrent, noun.VerdictAdopt:
		if v == noun.VerdictAdopt {
			l.d.w.ledger.count("adoptions")
		}
		l.acknowledge(sent)
		if l.frozen && time.Since(l.sent) < l.patience() {
			l.frozen = false
			if l.proc != nil {
				l.proc.freeze(false)
			}
			l.watch()
			poke(l.d.urgent) // an agent that goes on is late with its own beat
		}
		if l.phase == accepted && !l.d.wanted {
			l.fork()
		}
	case noun.VerdictSuperseded, noun.VerdictUnknown:
		l.d.w.ledger.count("superseded lives")
		l.end("superseded", 0) // its successor may run elsewhere
	}
}

// --- ends

// supersede ends a life for which a successor waits on its host.
func (l *life) supersede() {
	g := grace
	if l.frozen {
		g = 0
	}
	l.end("superseded", g)
}

func (l *life) end(why string, g time.Duration) {
	if l.d.over || l.d.lives[l.id] != l {
		return
	}
	if l.ending == "" {
		l.ending = why
	}
	switch l.phase {
	case accepted:
		l.bury(fsm.ReportExit{Kind: noun.ExitOrdered, Reason: why})
	case running:
		l.proc.term(g)
	}
}

// exited reports a process of which nothing is left.
func (l *life) exited(code int32, signal string) {
	r := fsm.ReportExit{Code: code, Signal: signal, Reason: l.ending}
	if l.spent && l.ending == "" {
		r.Kind, r.RetryAfter = noun.ExitUsageLimit, l.retry
	}
	if l.ending != "" || l.d.w.cfg.mutant == callsCrashesOrdered {
		r.Kind = noun.ExitOrdered
	}
	l.bury(r)
}

func (l *life) bury(r fsm.ReportExit) {
	r.Agent, r.Inc = l.id, l.inc
	l.d.ended[l.id] = max(l.d.ended[l.id], l.inc)
	l.d.report(l.name, r, l.started)
	l.forget()
}

func (l *life) forget() {
	l.giveUp()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.d.lives[l.id] != l {
		return
	}
	delete(l.d.lives, l.id)
	if l.next != nil {
		l.d.take(*l.next)
	}
}

// vanish is the end of the whole machine: nobody reports anything.
func (l *life) vanish() {
	l.giveUp()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.proc != nil {
		l.proc.die("host", 0, "", false)
	}
}
