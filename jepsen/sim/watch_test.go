package sim

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// watch looks at the servers' state every two seconds of simulated time.
type watch struct {
	mu      turn // one look at a time
	w       *world
	judges  *judges
	account account
	check   time.Time
	looks   time.Time // since the last calm
	hashed  time.Time
	hashing bool // in this round
	since   map[string]noun.Time
	fresh   map[string]bool // seen in this round

	restoredAt time.Time
	elections  int
	lateMost   noun.Time
	clock      noun.Time
}

func newWatch(w *world) *watch {
	return &watch{w: w, mu: newTurn(), judges: newJudges(w.ledger), account: account{story: w.ledger.story},
		since: map[string]noun.Time{}}
}

// restored forgets what was seen: a backup has undone its end. o.mu is held.
func (o *watch) restored() {
	o.judges.restored()
	o.clock = 0
	clear(o.since)
	o.restoredAt = time.Now()
}

func (o *watch) run() {
	patrol := time.Now()
	for nap(o.w.ctx, 2*time.Second) {
		o.round()
		if time.Since(patrol) > time.Minute {
			patrol = time.Now()
			o.w.ledger.patrol(3*time.Minute, o.w.links.cutOff)
		}
	}
}

// round looks at all servers once.
func (o *watch) round() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hashing = time.Since(o.hashed) >= 10*time.Minute; o.hashing {
		o.hashed = time.Now()
	}
	for i := range o.w.n {
		if rep := o.w.replica(i); rep != nil {
			o.look(i, rep)
			o.compared(i, rep)
		}
	}
}

func (o *watch) look(i int, rep *cluster.Replica) {
	leads := rep.Leader().Self
	var events []noun.Event
	var stuck []string
	rep.Read(func(st *fsm.View) {
		if f := st.Figures(); f.LateMost > o.lateMost {
			o.lateMost = f.LateMost
		}
		if d := st.Diverged(); len(d) > 0 {
			o.w.ledger.breach("L12", "servers have diverged: %v", d)
		}
		events = o.judges.follow(i, st, o.w.cfg.mutant)
		o.account.told(events)
		if leads && st.Clock() > o.clock {
			o.clock = st.Clock()
			stuck = o.patience(st)
			o.checked(st)
			o.looked(st)
		}
	})
	for i := range events {
		o.happened(&events[i])
	}
	for _, s := range stuck {
		o.w.ledger.breach("L3", "%s", s)
	}
}

// checked has the leader's state look at itself, also in the middle of faults.
func (o *watch) checked(st *fsm.View) {
	if time.Since(o.check) < 10*time.Minute {
		return
	}
	o.check = time.Now()
	if err := st.Check(); err != nil {
		o.w.ledger.breach("Check", "%v", err)
	}
}

func (o *watch) happened(e *noun.Event) {
	l := o.w.ledger
	switch e.Kind {
	case "leader.established":
		o.elections++
	case "agent.lease_ended", "agent.fence_ended":
		l.leaseEnded(e.Agent, e.Inc, e.At, o.w.links.cutOff)
	case "task.canceled", "task.recovered", "task.failed", "task.quarantined":
		l.taken(e.Task)
		l.count(e.Kind)
	case "agent.parked", "agent.start_limit", "host.lost", "host.suspect":
		l.count(e.Kind)
	}
}

// bound says how long, in cluster time, an agent whose life has this TTL may be in a state that
// has an end; 0: for ever.
func bound(why string, ttl time.Duration) time.Duration {
	switch why {
	case "start_due":
		return 10 * time.Second
	case "order_open":
		return 15 * time.Second
	case "starting", "not_joined":
		return 4 * time.Minute
	case "stopping": // until its fence has ended when its host cannot be told
		return 2*time.Minute + max(ttl, 2*time.Minute)
	case "fence":
		return max(ttl, 2*time.Minute) + 5*time.Second
	case "parked":
		return 31 * time.Minute
	case "back_off":
		return 7 * time.Minute
	case "no_host", "brake":
		return 20 * time.Minute
	}
	return 0
}

// patience holds law L3: whatever stands still has a reason, and reasons end.
func (o *watch) patience(st *fsm.View) (stuck []string) {
	o.fresh = map[string]bool{}
	serving := map[noun.RoleID]bool{}
	// After the restore of a backup the state believes agents to wait that work on tasks
	// of the time that was undone, and to work that wait. The first ends with their next
	// step, the second when the limits take the task back; then the agent is ACTIVE without
	// a task, beats as it waits, and takes the next task of its role, whenever that comes.
	sorting := !o.restoredAt.IsZero() && time.Since(o.restoredAt) < time.Hour
	for a := range st.Agents("") {
		why := st.Why(a.ID)
		if why.Code == "" || why.Code == "unknown" {
			stuck = append(stuck, fmt.Sprintf("nobody knows why %s does not run", a.Name))
		}
		// What is proved in the hold after a restore outlasts it by a TTL.
		outlasts := st.StartsHeld() > 0 && (why.Code == "stopping" || why.Code == "fence")
		ttl := time.Duration(st.LeaseTable.Get(a.ID).TTL)
		if most := bound(why.Code, ttl); most > 0 && !outlasts {
			stuck = o.lasts(stuck, st, fmt.Sprintf("%s is %s (%v)", a.Name, why.Code, a.Inc), most)
		}
		// who hangs is found out by its limits
		if a.Part == noun.PartActive && a.Task == 0 && !sorting && !o.deaf(st, a) && !o.w.ledger.hangs(a.Name) {
			stuck = o.lasts(stuck, st, fmt.Sprintf("%s is active without a task (%v)", a.Name, a.Inc), 6*time.Minute)
		}
		if o.w.ledger.stays(a, st.LastIndex()) {
			o.w.ledger.breach("L5", "%s (%v) is %v although the end of that life was reported", a.Name, a.Inc, a.Part)
		}
		if o.down(st, a, why.Code) {
			stuck = o.lasts(stuck, st, a.Name+" should run and does not", 20*time.Minute)
		}
		serving[a.Role] = serving[a.Role] || a.Part == noun.PartWaiting
	}
	for t := range st.Tasks(0) {
		switch {
		case t.State == noun.TaskPending && serving[t.Role] && !sorting:
			// Agents on a host that hears no answers freeze after three quarters of the TTL,
			// and are WAITING for another TTL. A wait looks again after 30 s.
			ttl := cmp.Or(st.Role(t.Role).Spec.TTL, time.Minute)
			stuck = o.lasts(stuck, st, fmt.Sprintf("task %d is PENDING although its role is served", t.ID),
				ttl*7/4+time.Minute)
		case t.State == noun.TaskAcknowledged:
			if !o.deaf(st, st.Agent(t.Holder)) {
				stuck = o.lasts(stuck, st, fmt.Sprintf("task %d is ACKNOWLEDGED (attempt %d)", t.ID, t.Attempt),
					2*time.Minute+10*time.Second)
			}
		case !t.State.Terminal():
			stuck = o.lasts(stuck, st, fmt.Sprintf("task %d is not finished", t.ID), 6*time.Hour)
		}
	}
	for what := range o.since {
		if !o.fresh[what] {
			delete(o.since, what)
		}
	}
	return stuck
}

// down tells that an always agent has no process, for no reason of its own.
func (o *watch) down(st *fsm.View, a *noun.Agent, why string) bool {
	switch why {
	case "running", "stopped", "parked", "back_off":
		return false
	}
	return st.Role(a.Role).Spec.Start == noun.StartAlways
}

// deaf tells whether an agent's host is off, cut off, or hears no answers, now: what an agent is to find out there
// may take as long as that, and counts only afterwards.
func (o *watch) deaf(st *fsm.View, a *noun.Agent) bool {
	if a == nil || st.Host(a.Host) == nil {
		return false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(st.Host(a.Host).Name, "host-"))
	return err == nil && (o.w.links.cutOff(n) || n < len(o.w.hosts) && o.w.hosts[n].off())
}

// lasts notes that something is so, and complains when it has been for too long.
func (o *watch) lasts(stuck []string, st *fsm.View, what string, most time.Duration) []string {
	o.fresh[what] = true
	from, known := o.since[what]
	if !known {
		o.since[what] = st.Clock()
		return stuck
	}
	if lasting := st.Clock().Sub(from); lasting > most {
		o.since[what] = st.Clock()
		stuck = append(stuck, fmt.Sprintf("for %v of cluster time, at %v: %s", lasting,
			time.Duration(st.Clock()), what))
	}
	return stuck
}

// sweep compares the tasks that people and agents know of with those that the
// leader has (law L8).
func (o *watch) sweep() {
	lead := o.w.ready(convergence)
	if lead == nil {
		return // noted already
	}
	o.round()
	rep, l := lead.rep, o.w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	titles := map[string]noun.TaskID{}
	here := map[noun.TaskID]bool{}
	rep.Read(func(st *fsm.View) {
		for t := range st.Tasks(0) {
			here[t.ID] = true
			if other, twice := titles[t.Title]; twice {
				l.note("L8", "task %q exists as %d and as %d", t.Title, other, t.ID)
			}
			titles[t.Title] = t.ID
			o.compare(l.task(t.ID), t, l.maybe)
		}
		for id, r := range l.tasks {
			if r.acked && r.seen == 0 && !here[id] {
				l.note("L8", "task %d (%q) was acknowledged and is not there", id, r.title)
			}
			if r.seen != 0 && !here[id] {
				delete(l.tasks, id)
				o.w.titles.Delete(id)
			}
		}
		if late := time.Duration(o.lateMost); late > time.Second {
			l.note("L2", "the end of a lease was noticed %v late", late)
		}
	})
	o.judges.complete(l, o.restoredAt)
}

func (o *watch) compare(r *taskRecord, t *noun.Task, maybe map[string]bool) {
	l, agent := o.w.ledger, ""
	if r.acked && r.title != t.Title {
		l.note("L8", "task %d is %q, it was acknowledged as %q", t.ID, t.Title, r.title)
	}
	if r.unsure {
		r.seen, r.unsure = 0, false
	}
	if !t.State.Terminal() {
		if r.completed > 0 || r.seen != 0 || r.canceled {
			l.note("L8", "task %d is %s after its end", t.ID, t.State)
		}
		return
	}
	if r.seen != 0 && r.seen != t.State {
		l.note("L8", "task %d was %s and is %s", t.ID, r.seen, t.State)
	}
	r.seen = t.State
	if r.completed > 0 && t.State != noun.TaskCompleted || r.canceled && t.State != noun.TaskCanceled {
		l.note("L8", "task %d is %s; completions acknowledged: %d, canceled: %v", t.ID, t.State, r.completed,
			r.canceled)
	}
	if t.State == noun.TaskCompleted {
		if agent = t.Result; !r.sent[agent] {
			l.note("L8", "task %d is COMPLETED by %q, who never said so", t.ID, agent)
		}
	}
}
