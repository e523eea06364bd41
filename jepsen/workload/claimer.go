package workload

import (
	"context"
	"errors"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// hold is a task in the hands of a life.
type hold struct {
	agent       string
	incarnation uint64
	task        uint64
	attempt     uint32
	started     bool
}

// claimer is one agent without a host: it joins, races for tasks, and finishes them
// one way or the other. At times it goes silent, or speaks for what it held before.
type claimer struct {
	*process
	beside *process // makes the claims that come with the end of a task: one process does one thing at a time
	claim  *claim
	life   *client.Worker // nil: it has to join
	held   *hold          // nil: nothing
	ghost  *hold          // what it held before, perhaps in an earlier life
}

// step makes one call of the claimer.
func (l *claimer) step(ctx context.Context) {
	if l.life == nil || l.life.Context().Err() != nil {
		l.join(ctx)
		return
	}
	switch n := l.rand.IntN(100); {
	case l.ghost != nil && (n < 4 || n < 30 && l.again()):
		l.haunt()
	case n < 6:
		l.life.Detach() // it beats no more, and its next life has to wait for the lease
		l.lose()
	case n < 9:
		l.leave()
	case l.held == nil:
		l.grab()
	case !l.held.started && n < 80:
		l.speak("start", l.held)
	default:
		l.finish()
	}
}

// join begins a new life. Joins are not recorded.
func (l *claimer) join(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.s.cfg.Timeout)
	defer cancel()
	life, err := client.Join(ctx, l.s.whole.client, client.WorkerConfig{Agent: claimRoom + "/" + claimRole + ".*"})
	if err == nil {
		l.life = life
	}
}

// leave leaves the room, giving back what is held.
func (l *claimer) leave() {
	if l.life == nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.s.life, time.Second)
	defer cancel()
	_ = l.life.Leave(ctx, "it leaves") // else its lease ends
	l.lose()
}

// lose forgets this life; what it held haunts.
func (l *claimer) lose() {
	if l.held != nil {
		l.ghost = l.held
	}
	l.life, l.held = nil, nil
}

// speaker is the life that holds something.
func (h *hold) speaker() *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: h.agent, Incarnation: h.incarnation}
}

// grab claims: by number, or whatever is first.
func (l *claimer) grab() {
	h := &hold{agent: l.life.Agent(), incarnation: l.life.Incarnation()}
	op := history.Op{Kind: "next", Agent: h.agent, Incarnation: h.incarnation}
	if l.rand.IntN(2) == 0 {
		op.Kind, op.Task = "claim", l.claim.some(l.process)
		if op.Task == 0 {
			return
		}
	}
	asked := op.Task
	err := l.call(&op, func(ctx context.Context, a *asker) error {
		answer, err := a.work.Claim(ctx, &vigilv1.ClaimRequest{Speaker: h.speaker(), Task: asked})
		if err == nil {
			op.Task, op.Attempt, op.Index = answer.GetTask().GetId(), answer.GetAttempt(), answer.GetIndex()
		}
		return err
	})
	if err != nil {
		l.doubt(err)
		return
	}
	h.task, h.attempt = op.Task, op.Attempt
	l.held = h
	l.claim.know(op.Task)
}

// doubt follows an error: the life may be over, or hold something that it does not
// know of, which the next claim would tell.
func (l *claimer) doubt(err error) {
	for _, over := range []error{client.ErrSuperseded, client.ErrRejoin, client.ErrStopped, client.ErrDenied} {
		if errors.Is(err, over) {
			l.leave()
			return
		}
	}
}

// speak starts a task.
func (l *claimer) speak(kind string, h *hold) {
	op := history.Op{Kind: kind, Task: h.task, Attempt: h.attempt, Agent: h.agent, Incarnation: h.incarnation}
	err := l.call(&op, func(ctx context.Context, a *asker) error {
		r := &vigilv1.WorkRequest{Speaker: h.speaker(), Task: h.task, Attempt: h.attempt}
		answer, err := a.work.StartTask(ctx, r)
		op.State, op.Rev = state(answer.GetState()), answer.GetRev()
		return err
	})
	h.started = true
	if err != nil && h == l.held {
		l.over(err)
	}
}

// over gives up what is held when an error says that it is.
func (l *claimer) over(err error) {
	if outcome, _ := outcome(err); outcome == history.Unknown {
		return // the next word tells
	}
	l.ghost, l.held = l.held, nil
	l.doubt(err)
}

// finish ends the attempt.
func (l *claimer) finish() {
	kind := [...]string{"complete", "complete", "complete", "fail", "fail", "handoff"}[l.rand.IntN(6)]
	h := l.held
	var op *history.Op
	var next *hold
	var err error
	if l.rand.IntN(2) == 0 {
		op, next, err = l.follow(kind, h)
	} else {
		op, err = l.end(kind, h)
	}
	if err != nil {
		l.over(err)
		return
	}
	l.ghost, l.held = h, next
	if finished(op.State) || kind == "handoff" {
		l.claim.over(h.task)
	}
}

// again tells that this life holds anew what it has given back: nothing but the number
// of the attempt tells its old words from its new ones.
func (l *claimer) again() bool {
	return l.held != nil && l.held.task == l.ghost.task && l.held.incarnation == l.ghost.incarnation &&
		l.held.attempt > l.ghost.attempt
}

// haunt speaks for an attempt that was given up, or that another life made.
func (l *claimer) haunt() {
	kind := [...]string{"start", "complete", "complete", "fail"}[l.rand.IntN(4)]
	h := *l.ghost
	if kind == "start" {
		l.speak(kind, &h)
		return
	}
	_, _ = l.end(kind, &h) // the record tells
}

// end says that an attempt is over.
func (l *claimer) end(kind string, h *hold) (*history.Op, error) {
	op := &history.Op{Kind: kind, Task: h.task, Attempt: h.attempt, Agent: h.agent, Incarnation: h.incarnation}
	if kind != "fail" {
		op.Value = l.value()
	}
	again := l.rand.IntN(3) > 0
	err := l.call(op, func(ctx context.Context, a *asker) error {
		var answer *vigilv1.WorkResponse
		var err error
		switch kind {
		case "complete":
			answer, err = a.work.CompleteTask(ctx, &vigilv1.CompleteTaskRequest{Speaker: h.speaker(), Task: h.task,
				Attempt: h.attempt, Result: op.Value})
		case "fail":
			answer, err = a.work.FailTask(ctx, &vigilv1.WorkRequest{Speaker: h.speaker(), Task: h.task,
				Attempt: h.attempt, Text: "it did not work", Retryable: again})
		default:
			var next *vigilv1.HandoffResponse
			next, err = a.work.Handoff(ctx, &vigilv1.HandoffRequest{Speaker: h.speaker(), Task: h.task,
				Attempt: h.attempt,
				Result:  op.Value, ToRole: claimRole, Title: op.Value})
			if err == nil {
				op.List = []string{number(next.GetNextTask())}
				l.claim.know(next.GetNextTask())
			}
		}
		op.State, op.Rev = state(answer.GetState()), answer.GetRev()
		return err
	})
	return op, err
}

// follow says that an attempt is over and takes the next task in the same step; nil: there is none. The claim
// is a call of its own in the record, which has no answer where the whole has none.
func (l *claimer) follow(kind string, h *hold) (*history.Op, *hold, error) {
	op := &history.Op{Kind: kind, Task: h.task, Attempt: h.attempt, Agent: h.agent, Incarnation: h.incarnation}
	r := &vigilv1.NextRequest{Speaker: h.speaker(), Task: h.task, Attempt: h.attempt, Start: l.rand.IntN(2) == 0}
	if kind != "fail" {
		op.Value = l.value()
	}
	switch kind {
	case "complete":
		r.End = &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{Result: op.Value}}
	case "fail":
		r.End = &vigilv1.NextRequest_Fail{Fail: &vigilv1.Failure{Reason: "it did not work", Retryable: l.rand.IntN(3) > 0}}
	default:
		r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{Result: op.Value, ToRole: claimRole, Title: op.Value}}
	}
	var claim *vigilv1.ClaimResponse
	err := l.call(op, func(ctx context.Context, a *asker) error {
		answer, err := a.work.Next(ctx, r)
		if err != nil {
			return err
		}
		claim = answer.GetClaim()
		op.State, op.Rev = state(answer.GetState()), answer.GetRev()
		if kind == "handoff" {
			op.List = []string{number(answer.GetNextTask())}
			l.claim.know(answer.GetNextTask())
		}
		return nil
	})
	took := history.Op{Workload: op.Workload, Process: l.beside.id, Via: op.Via, Kind: "next", Agent: h.agent,
		Incarnation: h.incarnation, Call: op.Call, Return: op.Return, Outcome: op.Outcome, Error: op.Error}
	if op.Outcome == history.Failed || err == nil && claim == nil {
		return op, nil, err // nothing was taken
	}
	took.Task, took.Attempt, took.Index = claim.GetTask().GetId(), claim.GetAttempt(), claim.GetIndex()
	l.s.cfg.Record.Op(took)
	if err != nil {
		l.beside.renew()
		return op, nil, err
	}
	l.claim.know(took.Task)
	return op, &hold{agent: h.agent, incarnation: h.incarnation, task: took.Task, attempt: took.Attempt,
		started: r.GetStart()}, nil
}
