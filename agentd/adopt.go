package agentd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/disk"
	"vigil/agentd/proc"
	"vigil/agentd/results"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

const (
	// sweepLimit bounds the search for processes of lives that nobody knows.
	sweepLimit = 10 * time.Second
	// adopters is how many shims are spoken to at once.
	adopters = 16
	// askAgain is the pause before a shim that did not answer is asked again.
	askAgain = time.Second
	// elusiveLimit is how long a shim may leave that open before people are told.
	elusiveLimit = time.Minute
)

// killed is said of a life that lost agentd and shim, or never had one.
const killed = "agentd was killed, and its shim too or before it had begun"

// adopter takes over what an earlier daemon has left. It works once, before the keeper runs.
type adopter struct {
	base
	lives  *lives
	outbox *outbox
}

// adopt takes over what an earlier daemon has left: shims that run are adopted,
// lives that have ended are reported, and what has lost its shim is killed. When it
// returns, every process of this host belongs to a life in the table, so that the
// inventory is the truth.
func (a *adopter) adopt() error {
	all, err := a.journal.List()
	if err != nil {
		return err
	}
	shims := a.callShims(all)
	for i, f := range all {
		if f.Unread != nil {
			a.await(f)
			continue
		}
		a.inherit(f, shims[i])
	}
	a.killStrays()
	if len(all) > 0 {
		a.log.Info("agents of an earlier agentd were taken over", "lives", len(all), "running", len(a.lives.all))
	}
	return nil
}

// callShims speaks to every shim that runs, several at a time. Of one that is gone
// by now the record of its end is read again.
func (a *adopter) callShims(all []disk.Found) []process {
	shims := make([]process, len(all))
	var calls sync.WaitGroup
	slots := make(chan struct{}, adopters)
	for i := range all {
		f := &all[i]
		if f.Exit != nil || !f.Held || f.Unread != nil {
			continue
		}
		if f.Unsure != nil && f.Fault == nil && f.Intent.Boot != a.boot {
			continue // no shim of another boot runs, whatever its lock would tell
		}
		calls.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p, err := a.launcher.Adopt(f.Folder)
			switch {
			case errors.Is(err, shim.ErrGone):
				f.Held, f.Exit = false, disk.ReadExit(f.Folder)
			case err != nil:
				a.log.Error("a shim does not answer and is asked again", "agent", f.Intent.AgentName,
					"incarnation", f.Intent.Incarnation, "error", err)
				shims[i] = &elusive{launcher: a.launcher, folder: f.Folder, mark: f.Intent.Mark(a.mark),
					done: a.ctx.Done(), clock: a.config.Clock}
			default:
				shims[i] = p
				if v := p.Started().Version; v != shim.Version {
					a.log.Warn("a shim of another version goes on; it may not know all words of "+
						"this agentd", "agent", f.Intent.AgentName,
						"incarnation", f.Intent.Incarnation, "version", v, "ours", shim.Version)
				}
			}
		})
	}
	calls.Wait()
	return shims
}

// inherit takes one life over; p is nil when its shim is gone.
func (a *adopter) inherit(f disk.Found, p process) {
	i := f.Intent
	l := &life{agent: i.Agent, inc: i.Incarnation, folder: f.Folder, ttl: i.TTL, longest: i.Longest,
		untold: true, adopted: true, spoolOwner: i.SpoolOwner, order: &vigilv1.Order{Agent: i.Agent,
			AgentName: i.AgentName, Incarnation: i.Incarnation, Runner: i.Runner, Proof: i.Proof,
			StopGrace: durationpb.New(i.StopGrace), Ttl: durationpb.New(i.TTL)}}
	if l.ttl <= 0 {
		l.ttl = defaultTTL
	}
	l.course = a.inherited(&f)
	switch {
	case f.Exit != nil:
		report := reportOf(*f.Exit)
		a.log.Info("agent ended while no agentd ran", "agent", i.AgentName, "incarnation", i.Incarnation,
			"code", f.Exit.Code, "signal", f.Exit.Signal, "why", f.Exit.Reason)
		a.metrics.exits.WithLabelValues(kindOf(report)).Inc()
		l.course.Ends(*f.Exit)
		a.lives.bury(l, report)
		return
	case p == nil && i.Boot != a.boot:
		// Of another boot, or of the directory that this one is a copy of: there it may
		// run, so nothing is said about it.
		a.log.Warn("a life of another boot of this host was dropped from the journal", "agent", i.AgentName,
			"incarnation", i.Incarnation)
		// What it has finished is worth telling by whomever: that is idempotent.
		a.outbox.leftover(results.Spool{Folder: f.Folder, Intent: i})
		return
	case p == nil:
		a.metrics.orphans.Inc()
		l.stuck, l.untold = true, false // nobody vouches for it
		p = remains(func(stuck func(string)) shim.Exit {
			return a.launcher.Bury(f.Folder, i.Mark(a.mark), stuck)
		})
	default:
		a.metrics.adopted.Inc()
		l.sizes.strange = sized(f.Folder)
		if e, ok := p.(*elusive); ok {
			e.answered = func(told bool) {
				a.send(func() {
					l.untold = true // only now its pid is known
					if told {
						a.lives.answers(l)
					}
				})
			}
		}
	}
	if f.Fault != nil {
		a.log.Error("the journal does not tell what this life is: it is stopped", "error", f.Fault)
		defer a.lives.end(l, ending{why: "the journal of agentd is damaged", exempt: true}, 0)
	}
	a.lives.hold(l, p)
	a.place(l)
}

// place puts a life into the table. Of two of one agent the newer one waited for the end of the older one, which is
// about to go.
func (a *adopter) place(l *life) {
	older, newer := a.lives.all[l.agent], l
	if older != nil && older.inc > l.inc { // what it is was read late
		older, newer = l, older
	}
	a.lives.all[l.agent] = newer
	if older != nil {
		a.lives.end(older, ending{why: "superseded", exempt: true}, 0)
	}
}

// killStrays kills marked processes of lives that are not in the table. Those of an
// agent that cannot be killed in time become a life, so that its slot stays taken.
func (a *adopter) killStrays() {
	strays := map[proc.Mark]chan struct{}{}
	for _, m := range a.scans.FindHost(a.mark) {
		if l := a.lives.all[m.Agent]; (l == nil || l.inc != m.Incarnation) && strays[m] == nil {
			gone := make(chan struct{})
			strays[m] = gone
			go func() { // it ends with the last of them, which may be never
				defer close(gone)
				n := a.scans.Bury(m, nil, func() {})
				a.log.Warn("processes that an earlier agentd left behind were killed", "agent_id", m.Agent,
					"incarnation", m.Incarnation, "count", n)
			}()
		}
	}
	limit := time.NewTimer(sweepLimit)
	defer limit.Stop()
	for m, gone := range strays {
		select {
		case <-gone:
			continue
		case <-limit.C:
			limit.Reset(0)
		}
		a.log.Error("processes of an earlier life cannot be killed", "agent_id", m.Agent, "incarnation", m.Incarnation)
		if older := a.lives.all[m.Agent]; older != nil {
			continue
		}
		l := &life{agent: m.Agent, inc: m.Incarnation, ttl: defaultTTL,
			order: &vigilv1.Order{Agent: m.Agent, Incarnation: m.Incarnation}, stuck: true}
		a.lives.all[m.Agent] = l
		a.lives.hold(l, remains(func(stuck func(string)) shim.Exit {
			stuck("processes that an earlier agentd left behind outlive SIGKILL")
			<-gone
			return shim.Exit{Code: -1, Signal: "killed", Vanished: true}
		}))
	}
}

// remains is what is left of a life without a shim: it is being killed.
type remains func(stuck func(reason string)) shim.Exit

func (remains) Started() shim.Started      { return shim.Started{} }
func (remains) Acknowledge(time.Duration)  {}
func (remains) Stop(time.Duration, string) {}
func (remains) Frozen() bool               { return false }
func (remains) Terminal(context.Context, shim.TerminalRequest) (string, error) {
	return "", errors.New("its shim is gone")
}

// Wait blocks until nothing is left.
func (r remains) Wait(stuck func(reason string)) shim.Exit {
	exit := r(stuck)
	if exit.Vanished { // no fault of the agent's
		exit.Vanished, exit.Ordered, exit.Reason = false, true, killed
	}
	return exit
}

// elusive is a shim that holds its lock and does not answer, or whose lock cannot be tried. Whether its agent runs
// is not known, so it is neither killed nor forgotten but asked again; without beats
// its own switch freezes it.
type elusive struct {
	launcher launcher
	folder   string
	mark     proc.Mark
	done     <-chan struct{} // the daemon is gone
	clock    func() time.Duration
	answered func(told bool) // it did; told: it was said to be out of reach

	mu    sync.Mutex
	p     process // nil: no answer yet
	acked time.Duration
	stop  []func(process)
}

func (e *elusive) do(f func(process)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.p != nil {
		f(e.p)
	} else {
		e.stop = append(e.stop, f)
	}
}

// Started is empty while there is no answer.
func (e *elusive) Started() (s shim.Started) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.p != nil {
		s = e.p.Started()
	}
	return s
}

// Acknowledge keeps the newest beat for the shim.
func (e *elusive) Acknowledge(sent time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acked = max(e.acked, sent)
	if e.p != nil {
		e.p.Acknowledge(e.acked)
	}
}

// Stop is passed on when the shim answers.
func (e *elusive) Stop(grace time.Duration, reason string) {
	e.do(func(p process) { p.Stop(grace, reason) })
}

// Frozen is not known while there is no answer.
func (e *elusive) Frozen() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.p != nil && e.p.Frozen()
}

// Terminal waits for nothing: a shim that does not answer has no terminal either.
func (e *elusive) Terminal(ctx context.Context, r shim.TerminalRequest) (string, error) {
	e.mu.Lock()
	p := e.p
	e.mu.Unlock()
	if p == nil {
		return "", errors.New("its shim does not answer")
	}
	return p.Terminal(ctx, r)
}

// Close lets go of the shim.
func (e *elusive) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	letGo(e.p)
}

// Wait asks until there is an answer, and then waits for the end. When that takes
// long it is told once: the slot is held by something that nobody can look at.
func (e *elusive) Wait(stuck func(reason string)) shim.Exit {
	began, told := e.clock(), false
	for {
		p, err := e.launcher.Adopt(e.folder)
		switch {
		case err == nil:
			e.mu.Lock()
			e.p = p
			p.Acknowledge(e.acked)
			for _, f := range e.stop {
				f(p)
			}
			e.mu.Unlock()
			e.answered(told)
			return p.Wait(stuck)
		case errors.Is(err, shim.ErrGone):
			return e.launcher.Bury(e.folder, e.mark, stuck)
		}
		if !told && e.clock()-began > elusiveLimit {
			told = true
			stuck(fmt.Sprintf("its shim has not answered for %s; whether the agent runs is unknown (%v): "+
				"look at %s", elusiveLimit, err, e.folder))
		}
		select {
		case <-e.done:
			return shim.Exit{}
		case <-time.After(askAgain):
		}
	}
}

// letGo leaves a process to run without this daemon.
func letGo(p process) {
	if c, ok := p.(interface{ Close() }); ok && p != nil {
		c.Close()
	}
}
