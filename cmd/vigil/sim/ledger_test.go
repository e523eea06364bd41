package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"vigil/fsm"
)

// ledger is what hosts, agents and people did and were told, in simulated time. It
// knows nothing of the state machine.
type ledger struct {
	mu       sync.Mutex
	breaches []breach
	agents   map[string]*record
	tasks    map[fsm.TaskID]*taskRecord
	maybe    map[string]bool // titles whose creation was never answered

	counts      map[string]int
	recoveries  map[string][]time.Duration
	completedAt time.Time
	longest     time.Duration // between two completions
}

type breach struct{ law, text string }

// record is one agent's.
type record struct {
	running map[fsm.Incarnation]int // on which host, while not frozen
	accepts map[fsm.Incarnation]uint64
	words   map[fsm.Incarnation]uint64 // log index of the last word that was taken
	lives   map[fsm.Incarnation]*proof

	stopped   bool // a human's word was acknowledged
	stoppedAt time.Time
	stopInc   fsm.Incarnation
	sighted   time.Time // running, long after the stop

	downAt    time.Time
	downWhy   string
	crashes   []time.Time // that were followed by no pardon
	lastCrash bool
}

// proof is since when a life has been able to prove itself, in cluster time.
type proof struct {
	host    int
	proving bool
	since   fsm.Time
	task    fsm.TaskID
	alive   bool
}

type taskRecord struct {
	title     string
	acked     bool
	holders   map[uint32]string // attempt -> agent and incarnation
	sent      map[string]bool   // completions that were sent: holder and attempt
	completed int               // completions acknowledged
	canceled  bool              // cancellation acknowledged
	seen      fsm.TaskState     // terminal state, once seen
}

func newLedger() *ledger {
	return &ledger{agents: map[string]*record{}, tasks: map[fsm.TaskID]*taskRecord{}, maybe: map[string]bool{},
		counts: map[string]int{}, recoveries: map[string][]time.Duration{}, completedAt: time.Now()}
}

func (l *ledger) breach(law, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(law, format, args...)
}

func (l *ledger) note(law, format string, args ...any) {
	l.counts["breaches"]++
	if len(l.breaches) < 60 {
		l.breaches = append(l.breaches, breach{law, fmt.Sprintf(format, args...)})
	}
}

func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

func (l *ledger) agent(name string) *record {
	r := l.agents[name]
	if r == nil {
		r = &record{running: map[fsm.Incarnation]int{}, accepts: map[fsm.Incarnation]uint64{},
			words: map[fsm.Incarnation]uint64{}, lives: map[fsm.Incarnation]*proof{}}
		l.agents[name] = r
	}
	return r
}

func (l *ledger) task(id fsm.TaskID) *taskRecord {
	t := l.tasks[id]
	if t == nil {
		t = &taskRecord{holders: map[uint32]string{}, sent: map[string]bool{}}
		l.tasks[id] = t
	}
	return t
}

// accepted: the cluster let a host start a life.
func (l *ledger) accepted(name string, inc fsm.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	r.accepts[inc] = index
	l.stale(name, r)
	for old := range r.accepts { // enough to catch what arrives late
		if old+8 < inc {
			delete(r.accepts, old)
			delete(r.words, old)
			delete(r.lives, old)
		}
	}
}

// word: the cluster took something that a life said.
func (l *ledger) word(name string, inc fsm.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	r.words[inc] = max(r.words[inc], index)
	l.stale(name, r)
}

// stale holds law L6: after a newer life was accepted, no word of an older is taken.
func (l *ledger) stale(name string, r *record) {
	for inc, index := range r.words {
		for newer, from := range r.accepts {
			if newer > inc && index > from {
				l.note("L6", "%s: a word of incarnation %v was taken at entry %d, %v was accepted at %d", name, inc, index, newer, from)
				delete(r.words, inc)
			}
		}
	}
}

// forked: a process of the life begins to run on a host.
func (l *ledger) forked(name string, inc fsm.Incarnation, host int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	if _, ok := r.accepts[inc]; !ok {
		l.note("L7", "%s: incarnation %v was forked although nobody had accepted it", name, inc)
	}
	if r.stopped && inc > r.stopInc {
		l.note("L9", "%s was stopped as %v at %v, yet %v began at %v", name, r.stopInc, r.stoppedAt, inc, time.Now())
	}
	l.counts["starts"]++
	if !r.downAt.IsZero() {
		l.recoveries[r.downWhy] = append(l.recoveries[r.downWhy], time.Since(r.downAt))
		r.downAt = time.Time{}
	}
	l.budget(name, r)
	r.lives[inc] = &proof{host: host, alive: true}
	l.run(name, r, inc, host)
}

// budget holds law L11: five failures within 10 min park an agent. Two more may
// be excused: an exit is not charged while an order to stop is on its way.
func (l *ledger) budget(name string, r *record) {
	if !r.lastCrash {
		return
	}
	r.lastCrash = false
	r.crashes = slices.DeleteFunc(r.crashes, func(t time.Time) bool { return time.Since(t) > 10*time.Minute })
	if len(r.crashes) > 5+2 {
		l.note("L11", "%s was started again after %d crashes within 10 min", name, len(r.crashes))
	}
}

// run holds law L7: no other life of the agent runs.
func (l *ledger) run(name string, r *record, inc fsm.Incarnation, host int) {
	for other, on := range r.running {
		if other != inc {
			l.note("L7", "%s: incarnation %v begins to run on host %d at %v while %v runs on host %d", name, inc, host, time.Now(), other, on)
		}
	}
	r.running[inc] = host
}

func (l *ledger) thawed(name string, inc fsm.Incarnation, host int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["thaws"]++
	l.run(name, l.agent(name), inc, host)
}

func (l *ledger) frozen(name string, inc fsm.Incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["freezes"]++
	delete(l.agent(name).running, inc)
}

// ended: nothing of the life is left. why is crash, clean, stopped or host.
func (l *ledger) ended(name string, inc fsm.Incarnation, why string, worked, always bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	delete(r.running, inc)
	if p := r.lives[inc]; p != nil {
		p.proving, p.alive = false, false
	}
	l.counts["ended: "+why]++
	if why == "crash" {
		r.crashes, r.lastCrash = append(r.crashes, time.Now()), true
	} else if worked {
		r.crashes = nil
	}
	if always && why != "stopped" && !r.stopped && r.downAt.IsZero() {
		r.downAt, r.downWhy = time.Now(), why
		if why == "crash" && len(r.crashes) > 1 {
			r.downWhy = "crash again"
		}
	}
}

// pardoned: a human is about to ask for a restart, which is not charged.
func (l *ledger) pardoned(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agent(name).crashes = nil
}

// proves notes that a life can prove itself from now on, or cannot.
func (l *ledger) proves(name string, inc fsm.Incarnation, can bool, now fsm.Time, task fsm.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.agent(name).lives[inc]
	if p == nil {
		return
	}
	if can && !p.proving {
		p.since = now
	}
	p.proving, p.task = can && p.alive, task
}

// reachable notes that a host can reach servers again: its lives start afresh.
func (l *ledger) reachable(host int, now fsm.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.agents {
		for _, p := range r.lives {
			if p.host == host {
				p.since = now
			}
		}
	}
}

// slack is how long a life must have been able to prove itself, in cluster time,
// before the end of its lease is called a false death: a beat that hangs, the next
// one, and an election.
const slack = 20 * time.Second

// leaseEnded holds law L10.
func (l *ledger) leaseEnded(name string, inc fsm.Incarnation, at fsm.Time, cut func(host int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["leases ended"]++
	p := l.agent(name).lives[inc]
	if p != nil && p.proving && !cut(p.host) && at.Sub(p.since) > slack {
		l.note("L10", "the lease of %s (%v, host %d) ended at %v although it could prove itself since %v", name, inc, p.host, time.Duration(at), time.Duration(p.since))
	}
}

// taken notes that a task was taken from whoever works on it.
func (l *ledger) taken(id fsm.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.agents {
		for _, p := range r.lives {
			if p.task == id {
				p.proving = false
			}
		}
	}
}

func (l *ledger) created(id fsm.TaskID, title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["tasks created"]++
	t := l.task(id)
	if t.acked {
		l.note("L8", "task %d was given out as %q and as %q", id, t.title, title)
	}
	t.acked, t.title = true, title
}

// waited notes how long something took.
func (l *ledger) waited(what string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recoveries[what] = append(l.recoveries[what], d)
}

func (l *ledger) unsure(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maybe[title] = true
}

func holder(name string, inc fsm.Incarnation, attempt uint32) string {
	return fmt.Sprintf("%s %v attempt %d", name, inc, attempt)
}

func (l *ledger) claimed(id fsm.TaskID, attempt uint32, name string, inc fsm.Incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, who := l.task(id), holder(name, inc, attempt)
	if was, ok := t.holders[attempt]; ok && was != who {
		l.note("L8", "attempt %d of task %d was given to %s and to %s", attempt, id, was, who)
	}
	if t.completed > 0 {
		l.note("L8", "task %d was given to %s after its completion", id, who)
	}
	t.holders[attempt] = who
}

func (l *ledger) completing(id fsm.TaskID, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task(id).sent[who] = true
}

func (l *ledger) completed(id fsm.TaskID, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.task(id)
	if t.completed++; t.completed > 1 {
		l.note("L8", "the completion of task %d was acknowledged %d times, last to %s", id, t.completed, who)
	}
	l.counts["tasks completed"]++
	l.longest = max(l.longest, time.Since(l.completedAt))
	l.completedAt = time.Now()
}

func (l *ledger) canceled(id fsm.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task(id).canceled = true
	l.counts["tasks canceled"]++
}

func (l *ledger) stop(name string, inc fsm.Incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	r.stopped, r.stopInc, r.stoppedAt, r.downAt = true, inc, time.Now(), time.Time{}
	l.counts["stops"]++
}

// wanted: a human is about to say that the agent may run again.
func (l *ledger) wanted(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	r.stopped, r.crashes, r.downAt = false, nil, time.Time{}
}

// patrol holds law L9: what was stopped does not run for long.
func (l *ledger) patrol(bound time.Duration, cut func(host int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, r := range l.agents {
		for inc, host := range r.running {
			if !r.stopped || time.Since(r.stoppedAt) < bound || cut(host) {
				continue
			}
			if r.sighted.Before(r.stoppedAt) { // an order may have to catch up with a host that is back
				r.sighted = time.Now()
			} else if time.Since(r.sighted) > 2*time.Minute {
				l.note("L9", "%s was stopped %v ago, yet %v runs on host %d", name, time.Since(r.stoppedAt), inc, host)
				r.stopped = false
			}
		}
	}
}
