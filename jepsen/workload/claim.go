package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	claimRoom = "claim"
	claimRole = "work"
	claimers  = 5
)

// openTasks is how many tasks wait at most before no more are created.
const openTasks = 40

// claim is the workload of that name.
type claim struct {
	s *Set

	mu   sync.Mutex
	all  []uint64 // numbers that were answered
	open []uint64 // of those that may not be finished, the oldest first
}

func newClaim(s *Set) load { return &claim{s: s} }

func (c *claim) prepare(ctx context.Context) error {
	return c.s.declare(ctx, claimRoom, c.s.byHand(claimRole, claimers))
}

func (c *claim) run(ctx context.Context) error {
	var all sync.WaitGroup
	const processes = claimers + 3
	for range claimers {
		l := &claimer{claim: c, process: c.s.process("claim"), beside: c.s.process("claim")}
		all.Go(func() {
			for l.pace(ctx, processes) {
				l.step(ctx)
			}
			l.leave()
		})
	}
	creator, human, reader := c.s.process("claim"), c.s.process("claim"), c.s.process("claim")
	all.Go(func() {
		for creator.pace(ctx, processes) {
			c.create(creator)
		}
	})
	all.Go(func() {
		for human.pace(ctx, 5*processes) {
			c.cancel(human)
		}
	})
	all.Go(func() {
		for reader.pace(ctx, processes) {
			if task := c.some(reader); task != 0 {
				c.get(reader, "get", task)
			}
		}
	})
	all.Wait()
	return nil
}

// quiesce reads all tasks. None of them has to be finished.
func (c *claim) quiesce(ctx context.Context) error {
	c.mu.Lock()
	all := slices.Clone(c.all)
	c.mu.Unlock()
	p := c.s.process("claim")
	for _, task := range all {
		for c.get(p, "final", task) != nil {
			if !pause(ctx, 100*time.Millisecond) {
				return fmt.Errorf("read task %d: %w", task, ctx.Err())
			}
		}
	}
	return nil
}

// know notes a task that was answered.
func (c *claim) know(task uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if task != 0 && !slices.Contains(c.all[max(0, len(c.all)-100):], task) {
		c.all, c.open = append(c.all, task), append(c.open, task)
	}
}

// over notes that a task is finished.
func (c *claim) over(task uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(t uint64) bool { return t == task })
}

// some gives a task that is worth asking for: mostly one of the oldest that are not
// finished, which all want; 0: there is none.
func (c *claim) some(p *process) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.open) > 0 && p.rand.IntN(8) > 0:
		return c.open[p.rand.IntN(min(len(c.open), claimers))]
	case len(c.all) > 0:
		return c.all[len(c.all)-1-p.rand.IntN(min(len(c.all), 20))]
	}
	return 0
}

func (c *claim) create(p *process) {
	c.mu.Lock()
	many := len(c.open) >= openTasks
	c.mu.Unlock()
	if many {
		return
	}
	op := history.Op{Kind: "create", Value: p.value()}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: claimRoom, Role: claimRole,
			Title: op.Value, By: by})
		op.Task, op.State = t.GetId(), state(t.GetState())
		return err
	})
	c.know(op.Task)
}

// cancel cancels a task by a human's word.
func (c *claim) cancel(p *process) {
	task := c.some(p)
	if task == 0 {
		return
	}
	op := history.Op{Kind: "cancel", Task: task}
	err := p.call(&op, func(ctx context.Context, a *asker) error {
		t, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, By: by})
		op.State, op.Rev = state(t.GetState()), t.GetRev()
		return err
	})
	if err == nil || errors.Is(err, client.ErrConflict) {
		c.over(task)
	}
}

// get reads a task.
func (c *claim) get(p *process, kind string, task uint64) error {
	op := history.Op{Kind: kind, Task: task}
	err := p.call(&op, func(ctx context.Context, a *asker) error {
		t, err := a.fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: task})
		op.Value, op.State, op.Attempt, op.Rev = t.GetResult(), state(t.GetState()), t.GetAttempt(), t.GetRev()
		op.Agent, op.Incarnation = t.GetHolder(), incarnation(t.GetHolderIncarnation())
		return err
	})
	if finished(op.State) {
		c.over(task)
	}
	return err
}

// state is a state of a task as histories have it; empty: it was not answered.
func state(s vigilv1.TaskState) string {
	if s == vigilv1.TaskState_TASK_STATE_UNSPECIFIED {
		return ""
	}
	return s.String()
}

func finished(state string) bool {
	return state == "COMPLETED" || state == "FAILED" || state == "CANCELED" || state == "QUARANTINED"
}
