package workload

import (
	"context"
	"fmt"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

// open counts the tasks of a room that are not finished, of a role or (empty) of all.
func (s *Set) open(ctx context.Context, room, role string) (n uint32, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	got, err := s.whole.fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: room})
	for _, r := range got.GetRoles() {
		if role != "" && r.GetSpec().GetName() != role {
			continue
		}
		for state, tasks := range r.GetTasks() {
			if !finished(state) {
				n += tasks
			}
		}
	}
	return n, err
}

// drain waits until all tasks of a room are finished, as long as ctx allows, and records them.
func (s *Set) drain(ctx context.Context, p *process, room string) error {
	for {
		open, err := s.open(ctx, room, "")
		if err == nil && open == 0 {
			break
		}
		if !pause(ctx, 200*time.Millisecond) {
			s.cfg.Say("%s: %d tasks are not finished (%v)", room, open, err)
			break
		}
	}
	return s.final(ctx, p, room)
}

// final records all tasks of a room, as a list shows them.
func (s *Set) final(ctx context.Context, p *process, room string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*s.cfg.Timeout) // also when the time is over
	defer cancel()
	for after := uint64(0); ; {
		sent := history.Now()
		page, err := s.whole.fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Room: room, After: after, Limit: 1000})
		at := history.Now()
		if err != nil {
			return fmt.Errorf("list tasks of %s: %w", room, err)
		}
		for _, t := range page.GetTasks() {
			s.cfg.Record.Op(history.Op{Workload: p.workload, Process: p.id, Kind: "final", Call: sent,
				Return: at, Outcome: history.OK, Key: t.GetRole(), Value: t.GetTitle(), Task: t.GetId(),
				State: state(t.GetState()), Attempt: t.GetAttempt(), Agent: t.GetHolder(),
				Incarnation: incarnation(t.GetHolderIncarnation()), Rev: t.GetRev()})
		}
		if after = page.GetNext(); after == 0 {
			return nil
		}
	}
}
