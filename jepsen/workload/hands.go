package workload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
)

// hands are agents without a host, within this process.
type hands struct {
	s        *Set
	workload string
	agent    string          // room/role.*
	rest     context.Context // they go on until it ends
}

// work is an agent without a host: life after life until there is no more to do. Claims that come with the end of a
// task are those of a process beside it, since one process does one thing at a time.
func (h *hands) work(p, beside *process) {
	for h.rest.Err() == nil {
		ctx, cancel := context.WithTimeout(h.rest, h.s.cfg.Timeout)
		w, err := client.Join(ctx, h.s.whole.client,
			client.WorkerConfig{Agent: h.agent, MaxWait: 10 * time.Second})
		cancel()
		if err != nil {
			pause(h.rest, 200*time.Millisecond)
			continue
		}
		for job := (*client.Job)(nil); err == nil; {
			job, err = h.job(p, beside, w, job)
		}
		bye, cancel := context.WithTimeout(context.WithoutCancel(h.rest), time.Second)
		_ = w.Leave(bye, "it ended") // else its lease ends
		cancel()
	}
}

// job does a task, after it has waited for one where it was given none. It gives the one that follows in the same
// step, nil when there is none; its error ends the life.
func (h *hands) job(p, beside *process, w *client.Worker, job *client.Job) (*client.Job, error) {
	if job == nil {
		began := history.Now()
		var err error
		if job, err = w.Wait(h.rest); err != nil {
			return nil, err // nothing was claimed, or the cluster takes it back
		}
		h.claimed(p, w, job, began)
	}
	pause(h.rest, time.Duration(p.rand.IntN(100))*time.Millisecond)
	op := history.Op{Kind: "complete", Task: job.Task.GetId(), Attempt: job.Attempt, Agent: w.Agent(),
		Incarnation: w.Incarnation(), Value: p.value()}
	on := p.rand.IntN(2) == 0
	var next *client.Job
	err := p.ask(h.s.whole, h.s.cfg.Timeout, &op, func(ctx context.Context, _ *asker) (err error) {
		if on {
			next, _, err = job.Next(ctx, client.End{Result: op.Value})
			return err
		}
		return job.Complete(ctx, op.Value)
	})
	if w.Context().Err() != nil || op.Outcome == history.Unknown {
		return nil, fmt.Errorf("complete task %d: %w", op.Task, err)
	}
	if next != nil {
		h.claimed(beside, w, next, op.Call)
	}
	return next, nil
}

// claimed records that a task was claimed by a call that began then.
func (h *hands) claimed(p *process, w *client.Worker, job *client.Job, began int64) {
	h.s.cfg.Record.Op(history.Op{Workload: p.workload, Process: p.id, Kind: "claim", Agent: w.Agent(),
		Incarnation: w.Incarnation(), Task: job.Task.GetId(), Attempt: job.Attempt, Call: began, Return: history.Now(),
		Outcome: history.OK})
}

// number is a number as text.
func number(n uint64) string { return strconv.FormatUint(n, 10) }
