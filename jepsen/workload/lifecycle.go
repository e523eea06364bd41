package workload

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	lifecycleRoom     = "lifecycle"
	lifecycleAgents   = 3
	lifecycleCreators = 2
	lifecycleBatch    = 8   // tasks created at once, at most
	lifecycleBacklog  = 100 // no more are created while a role has so many open
)

// lifecycle is the workload of that name.
type lifecycle struct {
	s     *Set
	roles []string
	fast  int // agents under policy fast

	rest context.Context // workers go on until it ends
	home context.CancelFunc
}

func newLifecycle(s *Set) load {
	l := &lifecycle{s: s, roles: []string{"hand"}}
	if s.cfg.Runner != "" {
		l.fast = s.cfg.Agents / 5
		l.roles = append(l.roles, "work")
	}
	if l.fast > 0 {
		l.roles = append(l.roles, "fast")
	}
	l.rest, l.home = context.WithCancel(s.life)
	return l
}

func (l *lifecycle) prepare(ctx context.Context) error {
	roles := []*vigilv1.RoleSpec{l.s.byHand("hand", lifecycleAgents)}
	if l.s.cfg.Runner != "" {
		roles = append(roles, l.s.managed(lifecycleRoom, "work", uint32(l.s.cfg.Agents-l.fast)))
	}
	if l.fast > 0 {
		roles = append(roles, l.s.hosted("fast", uint32(l.fast), "fast"))
	}
	return l.s.declare(ctx, lifecycleRoom, roles...)
}

// run creates tasks. The workers go on after it: quiesce waits for them.
func (l *lifecycle) run(ctx context.Context) error {
	for range lifecycleAgents {
		p, beside := l.s.process("lifecycle"), l.s.process("lifecycle")
		l.s.background.Go(func() { l.work(p, beside) })
	}
	var all sync.WaitGroup
	for range lifecycleCreators {
		p := l.s.process("lifecycle")
		all.Go(func() {
			for p.pace(ctx, lifecycleCreators*lifecycleBatch) {
				role := l.roles[p.rand.IntN(len(l.roles))]
				if l.room(ctx, role) {
					l.create(p, role, 1+p.rand.IntN(lifecycleBatch))
				}
			}
		})
	}
	all.Wait()
	return nil
}

// room tells whether a role has room for more tasks.
func (l *lifecycle) room(ctx context.Context, role string) bool {
	open, err := l.s.open(ctx, lifecycleRoom, role)
	return err == nil && open < lifecycleBacklog
}

// create creates tasks in one batch: one Op for each.
func (l *lifecycle) create(p *process, role string, n int) {
	batch := &vigilv1.BatchRequest{}
	ops := make([]history.Op, n)
	for i := range ops {
		ops[i] = history.Op{Workload: p.workload, Process: p.id, Kind: "create", Key: role, Value: p.value()}
		batch.Writes = append(batch.Writes,
			&vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
				Room: lifecycleRoom, Role: role, Title: ops[i].Value, By: by}}})
	}
	a := p.somebody()
	ctx, cancel := context.WithTimeout(l.s.life, l.s.cfg.Timeout)
	defer cancel()
	sent := history.Now()
	answer, err := a.work.Batch(ctx, batch)
	at := history.Now()
	lost := false
	for i := range ops {
		why := err
		if err == nil {
			result := answer.GetResults()[i]
			why, ops[i].Task = client.FromInfo(result.GetError()), result.GetTask()
		}
		ops[i].Via, ops[i].Call, ops[i].Return = a.name, sent, at
		ops[i].Outcome, ops[i].Error = outcome(why)
		lost = lost || ops[i].Outcome == history.Unknown
		l.s.cfg.Record.Op(ops[i])
	}
	if lost {
		p.renew()
	}
}

// work is an agent without a host: life after life until there is no more to do. Claims that come with the end of a
// task are those of a process beside it, since one process does one thing at a time.
func (l *lifecycle) work(p, beside *process) {
	for l.rest.Err() == nil {
		ctx, cancel := context.WithTimeout(l.rest, l.s.cfg.Timeout)
		w, err := client.Join(ctx, l.s.whole.client,
			client.WorkerConfig{Agent: lifecycleRoom + "/hand.*", MaxWait: 10 * time.Second})
		cancel()
		if err != nil {
			pause(l.rest, 200*time.Millisecond)
			continue
		}
		for job := (*client.Job)(nil); err == nil; {
			job, err = l.job(p, beside, w, job)
		}
		bye, cancel := context.WithTimeout(context.WithoutCancel(l.rest), time.Second)
		_ = w.Leave(bye, "it ended") // else its lease ends
		cancel()
	}
}

// job does a task, after it has waited for one where it was given none. It gives the one that follows in the same
// step, nil when there is none; its error ends the life.
func (l *lifecycle) job(p, beside *process, w *client.Worker, job *client.Job) (*client.Job, error) {
	if job == nil {
		began := history.Now()
		var err error
		if job, err = w.Wait(l.rest); err != nil {
			return nil, err // nothing was claimed, or the cluster takes it back
		}
		l.claimed(p, w, job, began)
	}
	pause(l.rest, time.Duration(p.rand.IntN(100))*time.Millisecond)
	op := history.Op{Kind: "complete", Task: job.Task.GetId(), Attempt: job.Attempt, Agent: w.Agent(),
		Incarnation: w.Incarnation(), Value: p.value()}
	on := p.rand.IntN(2) == 0
	var next *client.Job
	err := p.ask(l.s.whole, l.s.cfg.Timeout, &op, func(ctx context.Context, _ *asker) (err error) {
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
		l.claimed(beside, w, next, op.Call)
	}
	return next, nil
}

// claimed records that a task was claimed by a call that began then.
func (l *lifecycle) claimed(p *process, w *client.Worker, job *client.Job, began int64) {
	l.s.cfg.Record.Op(history.Op{Workload: p.workload, Process: p.id, Kind: "claim", Agent: w.Agent(),
		Incarnation: w.Incarnation(), Task: job.Task.GetId(), Attempt: job.Attempt, Call: began, Return: history.Now(),
		Outcome: history.OK})
}

// quiesce waits until all tasks are finished and lists them.
func (l *lifecycle) quiesce(ctx context.Context) error {
	defer l.home()
	return l.s.drain(ctx, l.s.process("lifecycle"), lifecycleRoom)
}

// number is a number as text.
func number(n uint64) string { return strconv.FormatUint(n, 10) }
