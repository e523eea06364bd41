package workload

import (
	"context"
	"fmt"
	"sync"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

const (
	dedupRoom   = "dedup"
	dedupRole   = "work"
	dedupAgents = 3
)

// dedup is the workload of that name.
type dedup struct{ s *Set }

func newDedup(s *Set) load { return &dedup{s} }

func (d *dedup) prepare(ctx context.Context) error {
	role := d.s.managed(dedupRoom, dedupRole, dedupAgents)
	role.KillLimit = 1 // a task that ends processes ends one
	return d.s.declare(ctx, dedupRoom, role)
}

func (d *dedup) run(ctx context.Context) error {
	var all sync.WaitGroup
	restarts, crashes := d.s.process("dedup"), d.s.process("dedup")
	// Agents have to live for a moment in between: their ends are slower than calls.
	const calm = 20
	all.Go(func() {
		for restarts.pace(ctx, calm) {
			d.restart(restarts)
		}
	})
	all.Go(func() {
		for crashes.pace(ctx, calm) {
			d.crash(crashes)
		}
	})
	all.Wait()
	return nil
}

func (d *dedup) quiesce(context.Context) error { return nil }

// restart restarts an agent by a human's word.
func (d *dedup) restart(p *process) {
	op := history.Op{Kind: "restart", Agent: slot(dedupRoom, dedupRole, p.rand.IntN(dedupAgents))}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		agent, err := a.fleet.RestartAgent(ctx, &vigilv1.RestartAgentRequest{Agent: op.Agent, By: by})
		op.Incarnation, op.Rev = agent.GetIncarnationRaw(), agent.GetRev()
		return err
	})
}

// crash has an agent end by a task.
func (d *dedup) crash(p *process) {
	op := history.Op{Kind: "crash", Value: p.value()}
	_ = p.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: dedupRoom, Role: dedupRole, Title: op.Value,
			Text: "crash=50ms,quiet=1s", By: by})
		op.Task = t.GetId()
		return err
	})
}

// slot is the name of an agent, by its place in the role from 0.
func slot(room, role string, n int) string {
	if n == 0 {
		return room + "/" + role
	}
	return fmt.Sprintf("%s/%s.%d", room, role, n+1)
}
