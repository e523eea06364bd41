package fsm

import "testing"

// What the twin answers to each word; see twin_test.go.

func (w *twin) speaker(sp Speaker) (*twinAgent, Code) {
	a := w.agents[sp.Agent]
	switch {
	case a == nil:
		return nil, NotFound
	case sp.Inc < a.inc:
		return nil, Superseded
	case sp.Inc > a.inc:
		return nil, Invalid
	case a.token != string(sp.TokenHash):
		return nil, Denied
	}
	return a, OK
}

func (w *twin) living(sp Speaker) (*twinAgent, Code) {
	a, no := w.speaker(sp)
	if no == OK && a.proc == ProcLost && !a.stopped {
		return nil, Rejoin
	}
	if no == OK && a.managed && !a.proc.Fenced() {
		return nil, Superseded
	}
	return a, no
}

func (w *twin) leased(sp Speaker) (*twinAgent, Code) {
	a, no := w.living(sp)
	if no == OK && (a.part == PartDisconnected || a.until <= w.now) {
		return nil, Rejoin
	}
	return a, no
}

func (w *twin) taken(a *twinAgent) Code {
	switch {
	case a.stopped:
		return Stopped
	case a.part != PartDisconnected || a.proc == ProcOrdered || a.proc.Fenced():
		return Conflict
	}
	return OK
}

func (w *twin) join(c Join) Code {
	if c.Inc != 0 {
		a, no := w.living(c.Speaker)
		if no == OK && !a.managed && a.stopped {
			no = Stopped
		}
		if no == OK {
			w.enter(a)
		}
		return no
	}
	list, code := []string{c.Agent}, NotFound
	switch c.Agent {
	case "r/a.*":
		list = []string{"r/a", "r/a.2", "r/a.3"}
	case "r/b.*":
		list = []string{"r/b", "r/b.2"}
	}
	for _, name := range list {
		a := w.agents[name]
		if a == nil {
			return NotFound
		}
		if code = w.taken(a); code == OK {
			*a = twinAgent{id: a.id, name: a.name, role: a.role, inc: a.inc + 1, since: w.now, token: string(c.TokenHash), paused: a.paused}
			w.enter(a)
			return OK
		}
	}
	return code
}

func (w *twin) enter(a *twinAgent) {
	if a.task == 0 {
		a.part = PartWaiting
	}
	a.until = w.now + w.ttl(a)
	a.vouch = a.part == PartActive && w.vouched(a)
}

func (w *twin) claim(t *testing.T, c Claim, got Outcome) Code {
	a, no := w.leased(c.Speaker)
	if no != OK {
		return no
	}
	x := w.tasks[c.Task]
	switch {
	case a.task != 0 && c.Task != 0 && c.Task != a.task:
		return Conflict
	case a.task != 0:
		x = w.tasks[a.task]
	case w.isPaused(a) && c.Task == 0: // law L9: what is paused takes nothing new
		return NoTask
	case w.isPaused(a):
		return Stopped
	case c.Task == 0 && w.first(a.role, TaskPending) == nil:
		return NoTask
	case c.Task != 0 && x == nil:
		return NotFound
	case c.Task != 0 && (x.role != a.role || x.state != TaskPending):
		return Conflict
	case a.stopping: // law L9: what must end takes nothing new
		return Stopped
	default:
		if c.Task == 0 {
			x = w.first(a.role, TaskPending)
		}
		x.attempt++
		x.holder, x.inc = a.name, a.inc
		w.claimedPlan(x)
		a.task, a.part, a.until, a.vouch = x.id, PartActive, w.now+w.ttl(a), w.vouched(a)
		a.taskSince = w.now
		w.move(x, TaskAcknowledged)
	}
	if got.Task != x.id || got.Attempt != x.attempt {
		t.Fatalf("claim got task %d attempt %d, the twin says %d attempt %d", got.Task, got.Attempt, x.id, x.attempt)
	}
	return OK
}

func (w *twin) cancel(c CancelTask) Code {
	x := w.tasks[c.Task]
	switch {
	case x == nil:
		return NotFound
	case x.state == TaskCanceled:
		return OK
	case x.state.Terminal():
		return Conflict
	}
	if x.state.Held() {
		w.takeFrom(x)
	}
	w.move(x, TaskCanceled)
	return OK
}

func (w *twin) retry(c RetryTask) Code {
	x := w.tasks[c.Task]
	switch {
	case x == nil:
		return NotFound
	case !x.state.Terminal() || x.state == TaskCompleted:
		return Conflict
	}
	x.charged, x.kills, x.holder, x.inc = 0, 0, "", 0
	x.plan = Plan{Expect: x.plan.Expect}
	w.move(x, TaskQueued)
	return OK
}

// holds tells whether the word belongs to the attempt that holds its task.
func (w *twin) holds(k Work) (*twinAgent, *twinTask, Code) {
	a, no := w.leased(k.Speaker)
	if no != OK {
		return nil, nil, no
	}
	x := w.tasks[k.Task]
	if x == nil {
		return nil, nil, NotFound
	}
	if !x.state.Held() || x.holder != a.name || x.inc != k.Inc || x.attempt != k.Attempt {
		return nil, nil, Superseded
	}
	return a, x, OK
}

// finish ends the last attempt, repeated too.
func (w *twin) finish(k Work) (x *twinTask, first bool, code Code) {
	if x = w.tasks[k.Task]; x == nil {
		return nil, false, NotFound
	}
	a, no := w.speaker(k.Speaker)
	if no != OK {
		return nil, false, no
	}
	last := x.holder == a.name && x.inc == k.Inc && x.attempt == k.Attempt
	switch {
	case last && x.state == TaskCompleted:
		return x, false, OK
	case !last || x.state.Terminal():
		return nil, false, Superseded
	}
	w.takeFrom(x)
	w.move(x, TaskCompleted)
	return x, true, OK
}

func (w *twin) work(t *testing.T, cmd Command, got Outcome) (Code, bool) {
	switch c := cmd.(type) {
	case StartTask:
		_, x, no := w.holds(c.Work)
		w.begin(x, no)
		return no, true
	case ProgressTask:
		_, x, no := w.holds(c.Work)
		if no == OK && (c.Percent > 101 || CheckExpect(c.Expect) != nil) {
			return Invalid, true
		}
		w.begin(x, no)
		if no == OK {
			w.planned(x, c)
			x.progress = w.now
		}
		return no, true
	case CompleteTask:
		_, _, code := w.finish(c.Work)
		return code, true
	case Handoff:
		return w.handoff(t, c, got), true
	case FailTask:
		return w.fail(c), true
	case Declare:
		return w.declare(c), true
	}
	return OK, false
}

func (w *twin) begin(x *twinTask, no Code) {
	if no == OK && x.state == TaskAcknowledged {
		x.progress = w.now
		w.move(x, TaskInProgress)
	}
}

func (w *twin) handoff(t *testing.T, c Handoff, got Outcome) Code {
	if _, ok := w.roles[c.ToRole]; !ok || w.tasks[c.Task] == nil {
		return NotFound
	}
	x, first, code := w.finish(c.Work)
	if code != OK {
		return code
	}
	if first {
		x.next = w.create(c.ToRole, c.Priority)
	}
	if x.next == 0 {
		return Conflict
	}
	if got.Task != x.next {
		t.Fatalf("hand-off created task %d, the twin says %d", got.Task, x.next)
	}
	return OK
}

func (w *twin) fail(c FailTask) Code {
	if x := w.tasks[c.Task]; x != nil && x.state == TaskFailed && x.attempt == c.Attempt && x.inc == c.Inc && x.holder == c.Agent {
		_, no := w.speaker(c.Speaker)
		return no
	}
	_, x, no := w.holds(c.Work)
	if no != OK {
		return no
	}
	w.takeFrom(x)
	if c.Retryable {
		w.recover(x, true, false)
	} else {
		w.move(x, TaskFailed)
	}
	return OK
}

// ordered takes the planner's word for placement, and demands safety: L4, L7, L9.
func (w *twin) ordered(t *testing.T, c OrderStart, got Outcome) Code {
	a := w.byID(c.Agent)
	if got.Code != OK {
		return got.Code
	}
	if a.stopped || w.isPaused(a) || w.hosts[c.Host].drain || a.proc == ProcOrdered || a.proc.Fenced() || a.part != PartDisconnected || a.inc >= c.Inc {
		t.Fatalf("a start of incarnation %s was ordered, the twin has %+v", c.Inc, a)
	}
	*a = twinAgent{id: a.id, name: a.name, role: a.role, inc: c.Inc, since: w.now, managed: true, proc: ProcOrdered,
		host: c.Host, paused: a.paused}
	return OK
}

func (w *twin) onHost(id AgentID, inc Incarnation, host HostID) (*twinAgent, Code) {
	a := w.byID(id)
	switch {
	case a == nil || inc < a.inc || inc == a.inc && a.host != host:
		return nil, Superseded
	case inc > a.inc:
		return nil, Invalid
	}
	return a, OK
}

func (w *twin) process(cmd Command) Code {
	switch c := cmd.(type) {
	case AcceptOrder:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		switch {
		case no != OK:
			return no
		case c.Host == 0 || c.Host > 2 || a.proc == ProcAccepted && a.token != string(c.TokenHash) || a.proc != ProcAccepted && a.proc != ProcOrdered:
			return Superseded
		case a.proc == ProcOrdered:
			a.proc, a.token, a.since, a.fence = ProcAccepted, string(c.TokenHash), w.now, w.now+w.ttl(a)
		}
		return OK
	case ReportStarted:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		if no == OK && !a.proc.Fenced() {
			no = Superseded
		}
		if no == OK && a.proc == ProcAccepted {
			a.proc, a.since = ProcRunning, w.now
		}
		return no
	case ReportExit:
		return w.exit(c)
	case NoteNudge:
		if a := w.agents[c.Agent]; a == nil {
			return NotFound
		} else if a.proc != ProcRunning {
			return Conflict
		}
		return OK
	case ReportStuck:
		a, no := w.onHost(c.Agent, c.Inc, c.Host)
		if no == OK && !a.proc.Fenced() {
			no = Superseded
		}
		if no == OK {
			a.stuck = c.Reason
		}
		return no
	case OrderStop:
		a := w.byID(c.Agent)
		if a == nil {
			return NotFound
		}
		if a.inc != c.Inc || !a.proc.Fenced() {
			return Superseded
		}
		a.stopping = true
		return OK
	}
	panic("the twin does not know this command")
}
