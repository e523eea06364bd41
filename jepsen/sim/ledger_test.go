package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"vigil/fsm/noun"
)

// ledger is what hosts, agents and people did and were told, in simulated time. It
// knows nothing of the state machine.
type ledger struct {
	mu       sync.Mutex
	breaches []breach
	agents   map[string]*record
	tasks    map[noun.TaskID]*taskRecord
	maybe    map[string]bool // titles whose creation was never answered
	void     [][2]uint64     // log entries after the first and up to the second were undone by a backup
	story    *story

	counts      map[string]int
	recoveries  map[string][]time.Duration
	completedAt time.Time
	longest     time.Duration // between two completions
	length      time.Duration // of the run
	closed      bool          // the run is over, nothing counts any more
}

type breach struct{ law, text string }

// record is one agent's.
type record struct {
	running map[noun.Incarnation]int    // on which host, while not frozen
	accepts map[noun.Incarnation]uint64 // log index; 0: undone by a backup
	words   map[noun.Incarnation]uint64 // log index of the last word that was taken
	lives   map[noun.Incarnation]*proof
	ends    map[noun.Incarnation]uint64 // log index of the report of the end

	stopped   bool // a human's word was acknowledged
	stoppedAt time.Time
	stopInc   noun.Incarnation
	stopIndex uint64
	sighted   time.Time // running, long after the stop

	downAt    time.Time
	downWhy   string
	crashes   []time.Time // that were followed by no pardon
	lastCrash bool
	hanging   int // lives that do nothing but be there
}

// proof is since when a life has been able to prove itself, in cluster time.
type proof struct {
	host    int
	proving bool
	since   noun.Time
	task    noun.TaskID
	alive   bool
	earlier bool // than the restore of a backup, which may know nothing of it
}

type taskRecord struct {
	title     string
	acked     bool
	at        time.Time         // of the acknowledgement
	index     uint64            // log index of the last thing that was acknowledged
	holders   map[uint32]string // attempt -> agent and incarnation
	sent      map[string]bool   // completions that were sent: holder and attempt
	completed int               // completions acknowledged
	canceled  bool              // cancellation acknowledged
	seen      noun.TaskState    // terminal state, once seen
	unsure    bool              // a backup was restored since: the end that was seen may be undone
}

func newLedger() *ledger {
	return &ledger{agents: map[string]*record{}, tasks: map[noun.TaskID]*taskRecord{}, maybe: map[string]bool{},
		story: &story{begun: time.Now()}, counts: map[string]int{}, recoveries: map[string][]time.Duration{},
		completedAt: time.Now()}
}

func (l *ledger) breach(law, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(law, format, args...)
}

func (l *ledger) note(law, format string, args ...any) {
	l.counts["breaches"]++
	if len(l.breaches) < 60 {
		b := breach{law, fmt.Sprintf("at %v: ", time.Since(l.story.begun).Round(time.Millisecond)) +
			fmt.Sprintf(format, args...)}
		l.breaches = append(l.breaches, b)
	}
}

func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

func (l *ledger) counted(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[what]
}

// hang notes that a life hangs (by 1), or does so no more (by -1).
func (l *ledger) hang(name string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agent(name).hanging += by
}

func (l *ledger) hangs(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agent(name).hanging > 0
}

func (l *ledger) agent(name string) *record {
	r := l.agents[name]
	if r == nil {
		r = &record{running: map[noun.Incarnation]int{}, accepts: map[noun.Incarnation]uint64{},
			words: map[noun.Incarnation]uint64{}, lives: map[noun.Incarnation]*proof{},
			ends: map[noun.Incarnation]uint64{}}
		l.agents[name] = r
	}
	return r
}

func (l *ledger) task(id noun.TaskID) *taskRecord {
	t := l.tasks[id]
	if t == nil {
		t = &taskRecord{holders: map[uint32]string{}, sent: map[string]bool{}}
		l.tasks[id] = t
	}
	return t
}

// accepted: the cluster let a host start a life.
func (l *ledger) accepted(name string, inc noun.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.life("accept", name, inc, 0, index)
	if l.undone(index) {
		index = 0
	}
	r := l.agent(name)
	r.accepts[inc] = index
	l.stale(name, r)
	for old := range r.accepts { // enough to catch what arrives late
		if old+8 < inc {
			delete(r.accepts, old)
			delete(r.words, old)
			delete(r.lives, old)
			delete(r.ends, old)
		}
	}
}

// word: the cluster took something that a life said.
func (l *ledger) word(name string, inc noun.Incarnation, index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.undone(index) {
		return
	}
	r := l.agent(name)
	r.words[inc] = max(r.words[inc], index)
	l.stale(name, r)
}

// stale holds law L6: after a newer life was accepted, no word of an older is taken.
func (l *ledger) stale(name string, r *record) {
	for inc, index := range r.words {
		for newer, from := range r.accepts {
			if newer > inc && from > 0 && index > from {
				l.note("L6", "%s: a word of incarnation %v was taken at entry %d, %v was accepted at %d",
					name, inc, index, newer, from)
				delete(r.words, inc)
			}
		}
	}
}

// forked: a process of the life begins to run on a host.
func (l *ledger) forked(name string, inc noun.Incarnation, host int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agent(name)
	if _, ok := r.accepts[inc]; !ok {
		l.note("L7", "%s: incarnation %v was forked although nobody had accepted it", name, inc)
	}
	if r.stopped && inc > r.stopInc {
		l.note("L9", "%s was stopped as %v at %v, yet %v began at %v", name, r.stopInc, r.stoppedAt, inc, time.Now())
	}
	l.story.life("start", name, inc, host, 0)
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
func (l *ledger) run(name string, r *record, inc noun.Incarnation, host int) {
	for other, on := range r.running {
		if other != inc {
			l.note("L7", "%s: incarnation %v begins to run on host %d at %v while %v runs on host %d", name,
				inc, host, time.Now(), other, on)
		}
	}
	r.running[inc] = host
}

func (l *ledger) thawed(name string, inc noun.Incarnation, host int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.life("thaw", name, inc, host, 0)
	l.counts["thaws"]++
	l.run(name, l.agent(name), inc, host)
}

func (l *ledger) frozen(name string, inc noun.Incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.story.life("freeze", name, inc, 0, 0)
	l.counts["freezes"]++
	delete(l.agent(name).running, inc)
}

// ended: nothing of the life is left. why is crash, clean, stopped or host.
func (l *ledger) ended(name string, inc noun.Incarnation, why string, worked, always bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	r := l.agent(name)
	delete(r.running, inc)
	if p := r.lives[inc]; p != nil {
		p.proving, p.alive = false, false
	}
	l.story.life("end: "+why, name, inc, 0, 0)
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
func (l *ledger) proves(name string, inc noun.Incarnation, can bool, now noun.Time, task noun.TaskID) {
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
func (l *ledger) reachable(host int, now noun.Time) {
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
func (l *ledger) leaseEnded(name string, inc noun.Incarnation, at noun.Time, cut func(host int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["leases ended"]++
	p := l.agent(name).lives[inc]
	if p != nil && p.proving && !p.earlier && !cut(p.host) && at.Sub(p.since) > slack {
		l.note("L10", "the lease of %s (%v, host %d) ended at %v although it could prove itself since %v",
			name, inc, p.host, time.Duration(at), time.Duration(p.since))
	}
}

// taken notes that a task was taken from whoever works on it: until that life looks, at
// most a step of its work later, it neither holds a task nor beats.
func (l *ledger) taken(id noun.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.story.begun)
	for name, r := range l.agents {
		for _, p := range r.lives {
			if p.task != id {
				continue
			}
			if p.proving && p.alive {
				l.story.idle("task taken away", name, fmt.Sprint("host-", p.host), now-2*time.Second,
					now+step+10*time.Second)
			}
			p.proving = false
		}
	}
}
