package fsm

import (
	"testing"

	"vigil/fsm/noun"
)

// What the twin answers to each word; see twin_test.go.

func (w *twin) speaker(sp Speaker) (*twinAgent, noun.Code) {
	a := w.agents[sp.Agent]
	switch {
	case a == nil:
		return nil, noun.NotFound
	case sp.Inc < a.inc:
		return nil, noun.Superseded
	case sp.Inc > a.inc:
		return nil, noun.Invalid
	case a.token != string(sp.TokenHash):
		return nil, noun.Denied
	}
	return a, noun.OK
}

func (w *twin) living(sp Speaker) (*twinAgent, noun.Code) {
	a, no := w.speaker(sp)
	if no == noun.OK && a.proc.GivenUp() && !a.stopped {
		return nil, noun.Rejoin
	}
	if no == noun.OK && a.managed && !a.proc.Fenced() {
		return nil, noun.Superseded
	}
	return a, no
}

func (w *twin) leased(sp Speaker) (*twinAgent, noun.Code) {
	a, no := w.living(sp)
	if no == noun.OK && (a.part == noun.PartDisconnected || a.until <= w.now) {
		return nil, noun.Rejoin
	}
	return a, no
}

func (w *twin) taken(a *twinAgent) noun.Code {
	switch {
	case a.stopped:
		return noun.Stopped
	case a.part != noun.PartDisconnected || a.proc == noun.ProcOrdered || a.proc.Fenced() ||
		a.proc == noun.ProcUnproven:
		return noun.Conflict
	}
	return noun.OK
}

func (w *twin) join(c Join) noun.Code {
	if c.Inc != 0 {
		a, no := w.living(c.Speaker)
		if no == noun.OK && !a.managed && a.stopped {
			no = noun.Stopped
		}
		if no == noun.OK {
			w.enter(a)
		}
		return no
	}
	list, code := []string{c.Agent}, noun.NotFound
	switch c.Agent {
	case "r/a.*":
		list = []string{"r/a", "r/a.2", "r/a.3"}
	case "r/b.*":
		list = []string{"r/b", "r/b.2"}
	}
	for _, name := range list {
		a := w.agents[name]
		if a == nil {
			return noun.NotFound
		}
		if code = w.taken(a); code == noun.OK {
			*a = twinAgent{id: a.id, name: a.name, role: a.role, inc: a.inc + 1, since: w.now,
				token: string(c.TokenHash), paused: a.paused, pauseEnd: a.pauseEnd}
			w.enter(a)
			return noun.OK
		}
	}
	return code
}

func (w *twin) enter(a *twinAgent) {
	a.taken, a.left = false, 0
	if a.task == 0 {
		a.part = noun.PartWaiting
	}
	a.until = w.now + w.ttl(a)
	a.vouch = a.part == noun.PartActive && w.vouched(a)
}

func (w *twin) claim(t *testing.T, c Claim, got noun.Outcome) noun.Code {
	a, no := w.leased(c.Speaker)
	if no != noun.OK {
		return no
	}
	x := w.tasks[c.Task]
	switch {
	case a.task != 0 && c.Task != 0 && c.Task != a.task:
		return noun.Conflict
	case a.task != 0:
		x = w.tasks[a.task]
	case w.isPaused(a) && c.Task == 0: // law L9: what is paused takes nothing new
		return noun.NoTask
	case w.isPaused(a):
		return noun.Stopped
	case c.Task == 0 && w.first(a.role, noun.TaskPending) == nil:
		return noun.NoTask
	case c.Task != 0 && x == nil:
		return noun.NotFound
	case c.Task != 0 && (x.role != a.role || x.state != noun.TaskPending):
		return noun.Conflict
	case a.stopping: // law L9: what must end takes nothing new
		return noun.Stopped
	default:
		if c.Task == 0 {
			x = w.first(a.role, noun.TaskPending)
		}
		x.attempt++
		x.holder, x.inc = a.name, a.inc
		w.claimedPlan(x)
		a.task, a.part, a.until, a.vouch = x.id, noun.PartActive, w.now+w.ttl(a), w.vouched(a)
		a.taskSince, a.taken, a.left = w.now, false, 0
		w.move(x, noun.TaskAcknowledged)
	}
	if c.Start {
		w.begin(x, noun.OK)
	}
	if got.Task != x.id || got.Attempt != x.attempt {
		t.Fatalf("claim got task %d attempt %d, the twin says %d attempt %d", got.Task, got.Attempt, x.id, x.attempt)
	}
	return noun.OK
}

func (w *twin) cancel(c CancelTask) noun.Code {
	x := w.tasks[c.Task]
	switch {
	case x == nil:
		return noun.NotFound
	case x.state == noun.TaskCanceled:
		return noun.OK
	case w.retries && x.state == noun.TaskQuarantined:
	case x.state.Terminal():
		return noun.Conflict
	}
	if x.state.Held() {
		w.takeUntold(x)
	}
	w.move(x, noun.TaskCanceled)
	return noun.OK
}

func (w *twin) retry(c RetryTask) noun.Code {
	x := w.tasks[c.Task]
	switch {
	case x == nil:
		return noun.NotFound
	case w.retries && x.state == noun.TaskQueued:
	case !x.state.Terminal() || x.state == noun.TaskCompleted:
		return noun.Conflict
	}
	x.row, x.charged, x.kills, x.holder, x.inc = 0, 0, 0, "", 0
	x.plan = noun.Plan{Expect: x.plan.Expect}
	w.move(x, noun.TaskQueued)
	return noun.OK
}

// holds tells whether the word belongs to the attempt that holds its task.
func (w *twin) holds(k Work) (*twinAgent, *twinTask, noun.Code) {
	a, no := w.leased(k.Speaker)
	if no != noun.OK {
		return nil, nil, no
	}
	x := w.tasks[k.Task]
	if x == nil {
		return nil, nil, noun.NotFound
	}
	if !x.state.Held() || x.holder != a.name || x.inc != k.Inc || x.attempt != k.Attempt {
		return nil, nil, noun.Superseded
	}
	return a, x, noun.OK
}

// finish ends the last attempt, repeated too.
func (w *twin) finish(k Work) (x *twinTask, first bool, code noun.Code) {
	if x = w.tasks[k.Task]; x == nil {
		return nil, false, noun.NotFound
	}
	a, no := w.speaker(k.Speaker)
	if no != noun.OK {
		return nil, false, no
	}
	last := x.holder == a.name && x.inc == k.Inc && x.attempt == k.Attempt
	switch {
	case last && x.state == noun.TaskCompleted:
		return x, false, noun.OK
	case !last || x.state.Terminal():
		return nil, false, noun.Superseded
	}
	w.takeFrom(x)
	w.move(x, noun.TaskCompleted)
	return x, true, noun.OK
}

func (w *twin) work(t *testing.T, cmd Command, got noun.Outcome) (noun.Code, bool) {
	switch c := cmd.(type) {
	case StartTask:
		_, x, no := w.holds(c.Work)
		w.begin(x, no)
		return no, true
	case ProgressTask:
		_, x, no := w.holds(c.Work)
		if no == noun.OK && (c.Percent > 101 || noun.CheckExpect(c.Expect) != nil) {
			return noun.Invalid, true
		}
		w.begin(x, no)
		if no == noun.OK {
			w.planned(x, c)
			x.progress = w.now
		}
		return no, true
	case CompleteTask:
		_, _, code := w.finish(c.Work)
		w.then(t, c.Speaker, c.Then, code, got)
		return code, true
	case Handoff:
		code := w.handoff(t, c, got)
		w.then(t, c.Speaker, c.Then, code, got)
		return code, true
	case FailTask:
		code := w.fail(c)
		w.then(t, c.Speaker, c.Then, code, got)
		return code, true
	case Declare:
		return w.declare(c), true
	}
	return noun.OK, false
}

// then is what follows a word that has ended a task: a claim, else a join.
func (w *twin) then(t *testing.T, sp Speaker, c Then, code noun.Code, got noun.Outcome) {
	if !c.Next || code != noun.OK {
		return
	}
	why := w.claim(t, Claim{Speaker: sp, Start: c.Start}, got)
	if a := w.agents[sp.Agent]; why == noun.NoTask && a.part != noun.PartWaiting {
		if why = w.join(Join{Speaker: sp}); why == noun.OK {
			why = noun.NoTask
		}
	}
	if got.Why != why || why != noun.OK && (got.Task != 0 || got.Detail == "") {
		t.Fatalf("after its end, the next task: %+v, the twin says %s", got, why)
	}
}

func (w *twin) begin(x *twinTask, no noun.Code) {
	if no == noun.OK && x.state == noun.TaskAcknowledged {
		x.progress = w.now
		w.move(x, noun.TaskInProgress)
	}
}

func (w *twin) handoff(t *testing.T, c Handoff, got noun.Outcome) noun.Code {
	if _, ok := w.roles[c.ToRole]; !ok || w.tasks[c.Task] == nil {
		return noun.NotFound
	}
	x, first, code := w.finish(c.Work)
	if code != noun.OK {
		return code
	}
	if first {
		x.next = w.create(c.ToRole, c.Priority, 0)
	}
	if x.next == 0 {
		return noun.Conflict
	}
	if got.Task != x.next && !c.Next {
		t.Fatalf("hand-off created task %d, the twin says %d", got.Task, x.next)
	}
	return noun.OK
}

func (w *twin) fail(c FailTask) noun.Code {
	if x := w.tasks[c.Task]; x != nil && x.state == noun.TaskFailed && x.attempt == c.Attempt && x.inc == c.Inc &&
		x.holder == c.Agent {
		_, no := w.speaker(c.Speaker)
		return no
	}
	_, x, no := w.holds(c.Work)
	if no != noun.OK {
		return no
	}
	w.takeFrom(x)
	if c.Retryable {
		w.takeBack(x, true, false, c.After)
	} else {
		w.move(x, noun.TaskFailed)
	}
	return noun.OK
}

// ordered takes the planner's word for placement, and demands safety: L4, L7, L9.
func (w *twin) ordered(t *testing.T, c OrderStart, got noun.Outcome) noun.Code {
	a := w.byID(c.Agent)
	if got.Code != noun.OK {
		return got.Code
	}
	if a.stopped || w.isPaused(a) || w.hosts[c.Host].drain || a.proc == noun.ProcOrdered || a.proc.Fenced() ||
		a.proc == noun.ProcUnproven || a.part != noun.PartDisconnected || a.inc >= c.Inc {
		t.Fatalf("a start of incarnation %s was ordered, the twin has %+v", c.Inc, a)
	}
	*a = twinAgent{id: a.id, name: a.name, role: a.role, inc: c.Inc, since: w.now, managed: true,
		proc: noun.ProcOrdered,
		host: c.Host, paused: a.paused, pauseEnd: a.pauseEnd,
		confirm: w.roles[a.role].Policy == noun.PolicyConfirm, own: w.roles[a.role].Proof == noun.ProofAgent}
	return noun.OK
}

func (w *twin) onHost(id noun.AgentID, inc noun.Incarnation, host noun.HostID) (*twinAgent, noun.Code) {
	a := w.byID(id)
	switch {
	case a == nil || inc < a.inc || inc == a.inc && a.host != host:
		return nil, noun.Superseded
	case inc > a.inc:
		return nil, noun.Invalid
	}
	return a, noun.OK
}

func (w *twin) process(cmd Command) noun.Code {
	switch c := cmd.(type) {
	case AcceptOrder:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		switch {
		case no != noun.OK:
			return no
		case c.Host == 0 || c.Host > 2 || a.proc == noun.ProcAccepted && a.token != string(c.TokenHash) ||
			a.proc != noun.ProcAccepted && a.proc != noun.ProcOrdered:
			return noun.Superseded
		case a.proc == noun.ProcOrdered:
			a.proc, a.token, a.since, a.fence = noun.ProcAccepted, string(c.TokenHash), w.now, w.now+w.ttl(a)
		}
		return noun.OK
	case ReportStarted:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		if no == noun.OK && !a.proc.Fenced() {
			no = noun.Superseded
		}
		if no == noun.OK && a.proc == noun.ProcAccepted {
			a.proc, a.since = noun.ProcRunning, w.now
		}
		return no
	case ReportExit:
		return w.exit(c)
	case NoteNudge:
		if a := w.agents[c.Agent]; a == nil {
			return noun.NotFound
		} else if a.proc != noun.ProcRunning {
			return noun.Conflict
		}
		return noun.OK
	case ReportStuck:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		if no == noun.OK && !a.proc.Fenced() {
			no = noun.Superseded
		}
		if no == noun.OK {
			a.stuck = c.Reason
		}
		return no
	case OrderStop:
		a := w.byID(c.Agent)
		if a == nil {
			return noun.NotFound
		}
		if a.inc != c.Inc || !a.proc.Fenced() {
			return noun.Superseded
		}
		a.stopping = true
		return noun.OK
	}
	panic("the twin does not know this command")
}
