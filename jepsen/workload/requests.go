package workload

import (
	"context"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

const (
	requestsRoom  = "requests"
	requestsMany  = 2 // senders
	requestCopies = 5 // at most
)

// requests is the workload of that name.
type requests struct{ s *Set }

func newRequests(s *Set) load { return &requests{s} }

func (r *requests) prepare(ctx context.Context) error {
	return r.s.declare(ctx, requestsRoom, r.s.byHand("slot", requestsMany))
}

func (r *requests) run(ctx context.Context) error {
	var all sync.WaitGroup
	for n := range requestsMany {
		s := &sender{process: r.s.process("requests"), pen: &pen{s: r.s}, agent: slot(requestsRoom, "slot", n)}
		for range requestCopies {
			s.copies = append(s.copies, r.s.process("requests"))
		}
		all.Go(func() {
			for s.pace(ctx, requestsMany*requestCopies) {
				s.step(ctx)
			}
		})
	}
	all.Wait()
	return nil
}

func (r *requests) quiesce(ctx context.Context) error {
	return r.s.final(ctx, r.s.process("requests"), requestsRoom)
}

// sender sends each of its writes several times. It alone touches its agent and the
// tasks that it creates.
type sender struct {
	*process
	pen    *pen
	agent  string
	copies []*process
	task   uint64 // to be canceled; 0: none
}

// step sends one write.
func (s *sender) step(ctx context.Context) {
	id, err := s.pen.next(ctx)
	if err != nil {
		return
	}
	switch n := s.rand.IntN(3); {
	case n == 0 && s.task != 0:
		s.cancel(ctx, id)
	case n == 1:
		s.set(ctx, id)
	default:
		s.create(ctx, id)
	}
}

func (s *sender) create(ctx context.Context, id *vigilv1.WriteId) {
	title := s.value()
	s.send(ctx, id, history.Op{Kind: "create", Value: title},
		func(ctx context.Context, a *asker, op *history.Op) error {
			t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: requestsRoom, Role: "slot",
				Title: title, By: by, Id: id})
			op.Task = t.GetId()
			return err
		}, func(op *history.Op) {
			s.task = op.Task
		})
}

// cancel cancels the task that was created last, if it still is as it was read.
func (s *sender) cancel(ctx context.Context, id *vigilv1.WriteId) {
	task := s.task
	read, cancel := context.WithTimeout(ctx, s.s.cfg.Timeout)
	defer cancel()
	t, err := s.s.whole.fleet.GetTask(read, &vigilv1.GetTaskRequest{Task: task})
	if err != nil {
		return
	}
	s.send(ctx, id, history.Op{Kind: "cancel", Task: task}, func(ctx context.Context, a *asker, _ *history.Op) error {
		_, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, By: by, IfRev: t.GetRev(), Id: id})
		return err
	}, func(*history.Op) { s.task = 0 })
}

// set changes the reason of the agent's stop, if it still is as it was read.
func (s *sender) set(ctx context.Context, id *vigilv1.WriteId) {
	read, cancel := context.WithTimeout(ctx, s.s.cfg.Timeout)
	defer cancel()
	old, rev, err := get(read, s.s.whole, "agent/"+s.agent, false)
	if err != nil {
		return
	}
	reason := s.value()
	s.send(ctx, id, history.Op{Kind: "set", Agent: s.agent, Value: reason, Old: old},
		func(ctx context.Context, a *asker, op *history.Op) error {
			agent, err := a.fleet.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: s.agent, Desired: "stopped",
				By: by, Reason: reason, IfRev: rev, Id: id})
			op.Rev = agent.GetRev()
			return err
		}, func(*history.Op) {})
}

// send sends two to five copies, and more until one has an answer: only then no copy
// that is still on its way can do anything. done gets a copy that was answered well.
func (s *sender) send(ctx context.Context, id *vigilv1.WriteId, op history.Op,
	do func(context.Context, *asker, *history.Op) error, done func(*history.Op)) {
	op.WriteID = written(id)
	ops := make([]history.Op, 2+s.rand.IntN(requestCopies-1))
	var all sync.WaitGroup
	first := s.rand.IntN(len(s.s.servers))
	for i := range ops {
		ops[i] = op
		p, a := s.copies[i], s.s.servers[(first+i)%len(s.s.servers)]
		all.Go(func() {
			_ = p.ask(a, s.s.cfg.Timeout, &ops[i],
				func(ctx context.Context, a *asker) error { return do(ctx, a, &ops[i]) })
		})
		if s.rand.IntN(2) == 0 {
			all.Wait() // the others come after it
		}
	}
	all.Wait()
	for {
		for i := range ops {
			switch ops[i].Outcome {
			case history.OK:
				done(&ops[i])
				return
			case history.Failed:
				if ops[i].Error == "unknown_session" {
					s.pen.lose()
				}
				return
			}
		}
		if !pause(ctx, 100*time.Millisecond) {
			return
		}
		ops = []history.Op{op}
		_ = s.copies[0].ask(s.s.whole, s.s.cfg.Timeout, &ops[0],
			func(ctx context.Context, a *asker) error { return do(ctx, a, &ops[0]) })
	}
}
