package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The budget leaves room for all others; a flood of long texts fills the share of its room.
const (
	floodRoom   = "flood"
	floodRole   = "sink"
	floodBudget = 480 << 20
	floodShare  = 5 // percent
	floodText   = 120 << 10
)

// flood is the workload of that name.
type flood struct{ s *Set }

func newFlood(s *Set) load { return &flood{s} }

func (f *flood) prepare(ctx context.Context) error {
	_, err := f.s.whole.cluster.PutSettings(ctx, &vigilv1.PutSettingsRequest{By: by,
		Values: map[string]string{"budget_tasks": fmt.Sprintf("%dMiB", floodBudget>>20),
			"budget_room_share": fmt.Sprint(floodShare)}})
	if err != nil {
		return fmt.Errorf("set the budget: %w", err)
	}
	return f.s.declare(ctx, floodRoom, f.s.byHand(floodRole, 1))
}

// run creates tasks until the budget is full, cancels half of them, and begins anew.
func (f *flood) run(ctx context.Context) error {
	p := f.s.process("flood")
	now := history.Now()
	f.s.cfg.Record.Op(history.Op{Workload: "flood", Process: p.id, Kind: "budget", Call: now,
		Return: now, Outcome: history.OK,
		Key: floodRoom, Share: floodBudget / 100 * floodShare, TextSize: floodText})
	text := strings.Repeat("water ", floodText/6)
	var open []uint64
	drain := 0
	for p.pace(ctx, 1) {
		if drain > 0 && len(open) > 0 {
			if f.cancel(p, open[0]) == nil {
				open, drain = open[1:], drain-1
			}
			continue
		}
		task, err := f.create(p, text)
		if task != 0 {
			open = append(open, task)
		}
		if errors.Is(err, client.ErrFull) {
			drain = (len(open) + 1) / 2
		}
	}
	return nil
}

func (f *flood) quiesce(context.Context) error { return nil }

func (f *flood) create(p *process, text string) (uint64, error) {
	op := history.Op{Kind: "create", Key: floodRoom, Value: p.value()}
	err := p.call(&op, func(ctx context.Context, a *asker) error {
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: floodRoom, Role: floodRole,
			Title: op.Value, Text: text, By: by})
		op.Task = t.GetId()
		return err
	})
	return op.Task, err
}

func (f *flood) cancel(p *process, task uint64) error {
	op := history.Op{Kind: "cancel", Key: floodRoom, Task: task}
	return p.call(&op, func(ctx context.Context, a *asker) error {
		_, err := a.fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, By: by})
		return err
	})
}
