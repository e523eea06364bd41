package fsm

import (
	"math"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// twin is a second, naive state machine for tasks, participants, processes and
// sessions, written from the laws with plain maps and no index, queue or timer.
// Placement and back-off are policy: of a start order it only demands safety.
type twin struct {
	now      noun.Time
	due      noun.Time // deadlines up to this are looked at
	set      noun.Settings
	agents   map[string]*twinAgent
	order    []string // of agents
	tasks    map[noun.TaskID]*twinTask
	lastTask noun.TaskID
	sessions map[noun.SessionID]*twinSession
	lastSess noun.SessionID
	roles    map[string]noun.RoleSpec
	// Pauses of the room and of everything.
	pausedRoom, pausedAll bool
	roomEnd, allEnd       noun.Time                // of them; 0: none
	hosts                 map[noun.HostID]twinHost // that were drained
	mails                 map[noun.MailID]*twinMail
	lastMail              noun.MailID
	retries               bool // failed tasks are put off
}

type twinAgent struct {
	id               noun.AgentID
	name, role       string
	inc              noun.Incarnation
	part             noun.PartState
	until, fence     noun.Time
	vouch            bool
	task             noun.TaskID
	managed, stopped bool
	proc             noun.ProcState
	host             noun.HostID
	stopping         bool
	token            string
	since            noun.Time // the start or accept limit runs from here
	taskSince        noun.Time // the turn limit runs from here
	paused, overdue  bool
	stopEnd          noun.Time // 0: none
	pauseEnd         noun.Time
	stuck            string
	confirm          bool // time proves no end of this life
	own              bool // it began as one that nobody vouches for
	// Of its declaration: its number, and until when nobody expects progress.
	declared uint64
	excused  noun.Time
	taken    bool        // its task was taken out of its hands, and it has not joined or claimed since
	left     noun.TaskID // that it had when its host fell silent; 0: none
}

type twinTask struct {
	id             noun.TaskID
	role           string
	prio           int32
	state          noun.TaskState
	attempt        uint32
	holder         string
	inc            noun.Incarnation
	charged, kills uint32
	changed        noun.Time
	progress       noun.Time
	next           noun.TaskID
	plan           noun.Plan
	notBefore      noun.Time // it is put off until then; 0: it is not
	row            uint32    // failures
}

type twinSession struct {
	answers map[uint64]noun.Outcome
	max     uint64
	used    noun.Time
}

func newTwin(s *State) *twin {
	w := &twin{set: *s.Settings(), agents: map[string]*twinAgent{}, tasks: map[noun.TaskID]*twinTask{},
		sessions: map[noun.SessionID]*twinSession{}, roles: map[string]noun.RoleSpec{},
		mails: map[noun.MailID]*twinMail{}}
	for a := range s.Agents("") {
		r := s.Role(a.Role)
		w.agents[a.Name] = &twinAgent{id: a.ID, name: a.Name, role: r.Spec.Name}
		w.order = append(w.order, a.Name)
		w.roles[r.Spec.Name] = r.Spec
	}
	return w
}

func (w *twin) ttl(a *twinAgent) noun.Time { return noun.Time(w.roles[a.role].TTL) }
func (w *twin) vouched(a *twinAgent) bool {
	if !w.retries {
		return a.managed && w.roles[a.role].Proof == noun.ProofProcess
	}
	return a.managed && !a.own
}

func (w *twin) byID(id noun.AgentID) *twinAgent {
	for _, a := range w.agents {
		if a.id == id {
			return a
		}
	}
	return nil
}

// elapse moves the clock and does what is due. Of a lease and a turn that end in one
// entry either may be first; turned tells of which agents the turn was.
func (w *twin) elapse(to noun.Time, turned map[string]bool) (came bool) {
	w.now = max(w.now, to)
	for {
		next := w.nextDelayed()
		w.due = min(w.now, w.nextEnd())
		if next != nil {
			w.due = min(w.due, next.notBefore)
		}
		w.elapseUntilDue(turned)
		ended := w.endIntents()
		if next == nil || next.notBefore > w.due {
			if !ended {
				break
			}
			continue
		}
		if next.notBefore != 0 { // else what was due before has ended it
			w.move(next, noun.TaskQueued)
			came = true
		}
	}
	w.mailLimits()
	for id, ss := range w.sessions {
		if ss.used.Add(w.set.SessionTTL) <= w.now {
			delete(w.sessions, id)
		}
	}
	return came
}

// adopt takes the state's word for which tasks of a role are offered when one came again: timers fire
// in the order in which they were set, so others may have been given back before it or after it.
// As many must be offered as there are replicas, and none of them is less urgent than one that waits.
func (w *twin) adopt(t *testing.T, s *State) {
	for role, spec := range w.roles {
		waiting, offered := 0, 0
		least, most := int32(math.MaxInt32), int32(math.MinInt32)
		for _, x := range w.tasks {
			r := s.Task(x.id)
			if x.role != role || x.notBefore != 0 || x.state != noun.TaskQueued && x.state != noun.TaskPending {
				continue
			}
			if waiting++; r.State == noun.TaskPending {
				offered++
				least = min(least, x.prio)
			} else if r.State == noun.TaskQueued {
				most = max(most, x.prio)
			}
			if r.State == noun.TaskQueued || r.State == noun.TaskPending {
				x.state = r.State
			}
		}
		if offered < min(waiting, int(spec.Replicas)) {
			t.Fatalf("%d of %d tasks of %s are offered to %d agents", offered, waiting, role, spec.Replicas)
		}
		if least < most {
			t.Fatalf("a task of %s of priority %d is offered, one of %d waits", role, least, most)
		}
	}
}

// nextDelayed is the task that is put off for the shortest time.
func (w *twin) nextDelayed() (next *twinTask) {
	for id := noun.TaskID(1); id <= w.lastTask; id++ {
		if t := w.tasks[id]; t.notBefore != 0 && (next == nil || t.notBefore < next.notBefore) {
			next = t
		}
	}
	return next
}

func (w *twin) elapseUntilDue(turned map[string]bool) {
	for _, name := range w.order {
		a := w.agents[name]
		w.turn(a, turned[name])
		fenceOver := a.proc.Fenced() && a.fence <= w.due
		if a.part != noun.PartDisconnected && a.until <= w.due {
			silent := w.silent(a)
			if w.retries { // whichever of host and agent was heard last
				silent = a.proc.Fenced() && a.fence <= w.now+w.ttl(a)/2
			}
			if silent {
				w.leaves(a)
			}
			w.disconnect(a, !silent, false)
		}
		if fenceOver {
			w.leaves(a)
			w.disconnect(a, false, false)
			w.giveUp(a, false)
		}
		spec := w.roles[a.role]
		switch {
		case a.proc == noun.ProcOrdered && a.since.Add(w.set.AcceptLimit) <= w.due:
			a.proc, a.host = noun.ProcNone, 0
		case (a.proc == noun.ProcRunning || a.proc == noun.ProcAccepted) && a.part == noun.PartDisconnected &&
			max(a.since, w.outside(a)).Add(spec.StartLimit) <= w.due:
			a.stopping = true
		}
	}
	for id := noun.TaskID(1); id <= w.lastTask; id++ {
		t := w.tasks[id]
		spec := w.roles[t.role]
		late := t.state == noun.TaskAcknowledged &&
			max(t.changed, w.outside(w.agents[t.holder])).Add(spec.AckLimit) <= w.due ||
			t.state == noun.TaskInProgress && spec.ProgressLimit > 0 &&
				max(t.changed, t.progress, w.agents[t.holder].excused).Add(spec.ProgressLimit) <= w.due
		if late {
			charge := !w.silent(w.agents[t.holder])
			w.takeUntold(t)
			w.takeBack(t, charge, false, -1)
		}
	}
}

// outside is until when an agent may be out of its room, or not begin with what it holds, by its own word, which is none
// about a task that it has no more.
func (w *twin) outside(a *twinAgent) noun.Time {
	if !w.retries || a.taken {
		return 0
	}
	return a.excused
}

// silent tells that the host of an agent was silent until the end of its fence, whichever of what is
// due is looked at first: no fault of the task or its holder.
func (w *twin) silent(a *twinAgent) bool { return a.proc.Fenced() && a.fence <= w.now }

func (w *twin) takeFrom(t *twinTask) {
	if a := w.agents[t.holder]; a.task == t.id {
		a.task, a.vouch = 0, false
	}
}

// takeUntold takes it from who does not know of it.
func (w *twin) takeUntold(t *twinTask) {
	a := w.agents[t.holder]
	a.taken = a.taken || a.task == t.id && a.managed
	w.takeFrom(t)
}

func (w *twin) disconnect(a *twinAgent, charge, killed bool) {
	if a.part != noun.PartDisconnected {
		a.since = w.now
	}
	a.part, a.until, a.vouch = noun.PartDisconnected, 0, false
	if a.task != 0 {
		t := w.tasks[a.task]
		a.task = 0
		w.takeBack(t, charge, killed, -1)
	}
}

// takeBack takes a task from its holder, which gave it back when after is not negative.
func (w *twin) takeBack(t *twinTask, charge, killed bool, after time.Duration) {
	spec := w.roles[t.role]
	if charge {
		t.charged++
	}
	if killed {
		t.kills++
	}
	if charge || killed {
		t.row++
	}
	if after == 0 {
		after = twinDelay(t)
	}
	switch {
	case t.kills >= spec.KillLimit:
		w.move(t, noun.TaskQuarantined)
	case t.charged >= spec.AttemptLimit:
		w.move(t, noun.TaskFailed)
	case w.retries && after > 0:
		t.state, t.changed, t.notBefore = noun.TaskQueued, w.now, w.now.Add(after)
	default:
		w.move(t, noun.TaskPending)
	}
}

// twinDelay is the wait after a failure: 1 s, doubled with each failure, at most 5 min, and from a
// half to the whole of that by a hash of task and attempt.
func twinDelay(t *twinTask) time.Duration {
	span := time.Second
	for n := uint32(1); n < t.row && span < 5*time.Minute; n++ {
		span *= 2
	}
	span = min(span, 5*time.Minute) / 2
	h := (uint64(t.id)<<32 ^ uint64(t.attempt) + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>29) * 0x94d049bb133111eb
	return span + time.Duration(uint64(span)>>8*(h>>48)>>8)
}

// move changes a task's state and promotes what waits behind it, and what is more urgent than what is offered.
func (w *twin) move(t *twinTask, to noun.TaskState) {
	t.state, t.changed, t.notBefore = to, w.now, 0
	for w.count(t.role, noun.TaskPending) < int(w.roles[t.role].Replicas) {
		next := w.first(t.role, noun.TaskQueued)
		if next == nil {
			return
		}
		next.state, next.changed = noun.TaskPending, w.now
	}
	for w.overtake(t.role) {
	}
}

func (w *twin) count(role string, st noun.TaskState) (n int) {
	for _, t := range w.tasks {
		if t.role == role && t.state == st {
			n++
		}
	}
	return n
}

func (w *twin) first(role string, st noun.TaskState) (best *twinTask) {
	for id := noun.TaskID(1); id <= w.lastTask; id++ {
		if t := w.tasks[id]; t.role == role && t.state == st && t.notBefore == 0 &&
			(best == nil || t.prio > best.prio) {
			best = t
		}
	}
	return best
}

// apply predicts the outcomes of an entry and compares them with the real ones.
func (w *twin) apply(t *testing.T, s *State, e *Entry, res noun.Result) {
	turned := map[string]bool{}
	for ev := range s.Events(0) {
		if ev.Index == e.Index && ev.Kind == "agent.turn_limit" {
			turned[ev.Agent] = true
		}
	}
	if e.Stint == e.Term {
		w.now = max(w.now, e.Stamp)
	}
	for i := range e.Beats {
		w.beats(t, &e.Beats[i], &res.Beats[i])
	}
	for b := range UnpackBeats(e.Words) {
		if a := w.byID(b.Agent); a.inc == b.Inc && a.until > w.now {
			a.until = w.now + w.ttl(a)
		}
	}
	w.due = w.now
	w.drains()
	if w.elapse(w.now, turned) {
		w.adopt(t, s)
	}
	w.drains()
	for i, r := range e.Requests {
		got := res.Outcomes[i]
		want := w.request(t, r, got)
		w.drains()
		if want != got.Code {
			t.Fatalf("entry %d, %+v %T%+v: %s (%s), the twin says %s", e.Index, r.Session, r.Cmd, r.Cmd,
				got.Code, got.Detail, want)
		}
	}
}

func (w *twin) request(t *testing.T, r Request, got noun.Outcome) noun.Code {
	if r.Session == 0 {
		return w.execute(t, r.Cmd, got)
	}
	ss := w.sessions[r.Session]
	if ss == nil {
		return noun.UnknownSession
	}
	// it may remember more
	if first, ok := ss.answers[r.Seq]; ok && (r.Seq+noun.AnswersKept > ss.max || repeats(got, first)) {
		if !repeats(got, first) {
			t.Fatalf("L8: write %d of session %d was answered %+v, then %+v", r.Seq, r.Session, first, got)
		}
		return got.Code
	}
	if r.Seq+noun.AnswersKept <= ss.max {
		return noun.TooOld
	}
	code := w.execute(t, r.Cmd, got)
	if w.sessions[r.Session] != nil {
		ss.answers[r.Seq], ss.max, ss.used = got, max(ss.max, r.Seq), w.now
	}
	return code
}

func (w *twin) execute(t *testing.T, cmd Command, got noun.Outcome) noun.Code {
	switch c := cmd.(type) {
	case OpenSession:
		w.lastSess++
		w.sessions[w.lastSess] = &twinSession{answers: map[uint64]noun.Outcome{}, used: w.now}
		return noun.OK
	case CreateTask:
		if _, ok := w.roles[c.Role]; !ok {
			return noun.NotFound
		}
		if noun.CheckExpect(c.Expect) != nil {
			return noun.Invalid
		}
		id := w.create(c.Role, c.Priority, c.After)
		w.tasks[id].plan.Expect = c.Expect
		return noun.OK
	case CancelTask:
		return w.cancel(c)
	case RetryTask:
		return w.retry(c)
	case Join:
		return w.join(c)
	case Leave:
		a, no := w.speaker(c.Speaker)
		if no == noun.OK {
			w.disconnect(a, w.retries && a.overdue, false) // over its turn limit, it leaves as it is ended
		}
		return no
	case Claim:
		return w.claim(t, c, got)
	case SetAgent:
		return w.setAgent(c)
	case SetPause:
		return w.setPause(c)
	case UnparkAgent: // policy
		if w.agents[c.Agent] == nil {
			return noun.NotFound
		}
		return noun.OK
	case UnquarantineTask:
		if x := w.tasks[c.Task]; x != nil && x.state != noun.TaskQuarantined {
			return noun.Conflict
		}
		return w.retry(RetryTask{Task: c.Task})
	case SendMail:
		return w.sendMail(t, c, got)
	case ReadMail:
		return w.readMail(t, c, got)
	case AckMail:
		return w.ackMail(c)
	case OrderStart:
		return w.ordered(t, c, got)
	}
	if code, ok := w.work(t, cmd, got); ok {
		return code
	}
	if code, ok := w.hostWord(t, cmd, got); ok {
		return code
	}
	return w.process(cmd)
}

func (w *twin) create(role string, prio int32, after time.Duration) noun.TaskID {
	w.lastTask++
	t := &twinTask{id: w.lastTask, role: role, prio: prio, state: noun.TaskQueued}
	w.tasks[t.id] = t
	if after > 0 {
		t.changed, t.notBefore = w.now, w.now.Add(after)
		return t.id
	}
	// A new task does not overtake one that waits: the head of the queue is promoted.
	w.move(t, noun.TaskQueued)
	return t.id
}

// overtake has the first task that waits change places with the last one that is offered, where it is more urgent.
func (w *twin) overtake(role string) bool {
	first, last := w.first(role, noun.TaskQueued), (*twinTask)(nil)
	for id := noun.TaskID(1); id <= w.lastTask; id++ {
		if t := w.tasks[id]; t.role == role && t.state == noun.TaskPending && (last == nil || t.prio <= last.prio) {
			last = t
		}
	}
	if !w.retries || first == nil || last == nil || first.prio <= last.prio {
		return false
	}
	first.state, first.changed = noun.TaskPending, w.now
	last.state, last.changed = noun.TaskQueued, w.now
	return true
}

// same compares everything visible.
func (w *twin) same(t *testing.T, s *State, index uint64) {
	for _, a := range w.agents {
		r := s.AgentByName(a.name)
		l := s.Lease(r.ID)
		if r.Part != a.part || r.Task != a.task || r.Inc != a.inc || r.Proc != a.proc || l.Until != a.until ||
			l.Fence != a.fence || l.Vouch != a.vouch || (r.Order == noun.StopOrder) != a.stopping || r.Overdue &&
			!a.stopping || r.Paused != a.paused || r.Stopped != a.stopped ||
			r.Ends() != (noun.Ends{Stop: end(a.stopEnd, r.Ends().Stop), Pause: end(a.pauseEnd, r.Ends().Pause)}) ||
			a.proc.Fenced() && r.Notes().Stuck != a.stuck {
			t.Fatalf("after entry %d at %s agent %s is\n%+v\n%+v, the twin says\n%+v", index,
				time.Duration(w.now), a.name, r, l, a)
		}
	}
	if n := s.Counts().Tasks; w.lastTask != s.Meta.NextTask-1 {
		t.Fatalf("after entry %d: tasks %v, the twin has %d", index, n, w.lastTask)
	}
	for _, x := range w.tasks {
		r := s.Task(x.id)
		if r.State != x.state || r.Attempt != x.attempt || r.Kills != x.kills || r.Charged != x.charged ||
			r.Retried().NotBefore != x.notBefore ||
			r.State.Held() && (s.Agent(r.Holder).Name != x.holder || r.HolderInc != x.inc) {
			t.Fatalf("after entry %d at %s task %d is\n%+v, the twin says\n%+v", index, time.Duration(w.now),
				x.id, r, x)
		}
	}
	w.samePlans(t, s, index)
	w.sameEnds(t, s, index)
	for role := range w.roles {
		first, id := w.first(role, noun.TaskPending), noun.TaskID(0)
		if first != nil {
			id = first.id
		}
		if got := s.FirstPending(s.RoleByName("r", role).ID); got != id {
			t.Fatalf("after entry %d: the next claim of %s gets %d, the twin says %d", index, role, got, id)
		}
	}
	w.sameMail(t, s, index)
	if len(w.sessions) != s.SessionTable.Len() {
		t.Fatalf("after entry %d: %d sessions, the twin has %d", index, s.SessionTable.Len(), len(w.sessions))
	}
}

// The state machine and its twin agree on every outcome and everything visible.
func TestTwinAgrees(t *testing.T) {
	for _, seed := range seeds(t, 8) {
		c, s := newChaos(seed, false), New()
		c.plans, c.retries, c.ends = seed%2 == 1, seed%2 == 0, seed%4 == 0
		c.demand = seed%3 == 0
		for _, e := range c.opening() {
			s.Apply(e)
		}
		w := newTwin(s)
		w.retries = c.retries
		codes := map[noun.Code]int{}
		for range 3000 {
			e := c.next(s)
			res := s.Apply(e)
			for _, out := range res.Outcomes {
				codes[out.Code]++
			}
			w.apply(t, s, e, res)
			w.same(t, s, e.Index)
			if err := s.Check(); err != nil {
				t.Fatalf("after entry %d: %v", e.Index, err)
			}
			if t.Failed() {
				t.Fatalf("rerun with -seed %d", seed)
			}
		}
		t.Logf("seed %d: outcomes %v, clock %s", seed, codes, time.Duration(s.Clock()))
	}
}
