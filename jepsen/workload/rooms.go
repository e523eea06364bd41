package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// roomsMany are rooms of one owner each.
const (
	roomsRoom = "rooms"
	roomsRole = "slot"
	roomsMany = 3
)

// rooms is the workload of that name.
type rooms struct{ s *Set }

func newRooms(s *Set) load { return &rooms{s} }

func (r *rooms) prepare(context.Context) error { return nil }

func (r *rooms) run(ctx context.Context) error {
	var all sync.WaitGroup
	for n := range roomsMany {
		o := &owner{process: r.s.process("rooms"), room: fmt.Sprintf("%s-%d", roomsRoom, n+1)}
		all.Go(func() {
			for o.pace(ctx, roomsMany) {
				o.generation(ctx)
			}
			o.bury()
		})
	}
	all.Wait()
	return nil
}

func (r *rooms) quiesce(context.Context) error { return nil }

// owner declares a room, works in it and deletes it, again and again. Nobody else touches it.
type owner struct {
	*process
	room  string
	life  *client.Worker // of this generation; nil: it did not join
	held  *hold          // by it
	ghost *hold          // by a life of a generation that was deleted
}

// generation is one life of the room, from its declaration to its end.
func (o *owner) generation(ctx context.Context) {
	if !o.until(ctx, o.declare) {
		return
	}
	for range 1 + o.rand.IntN(4) {
		o.create()
	}
	// The new agent may have the number of the ghost until its own first life.
	for range 3 {
		o.haunt()
	}
	o.work()
	o.haunt()
	o.list()
	if o.pace(ctx, roomsMany) && o.until(ctx, o.remove) {
		o.look()
		o.bury()
	}
}

// until repeats a call until it is known to be done, or ctx ends.
func (o *owner) until(ctx context.Context, do func() error) bool {
	for do() != nil {
		if !o.pace(ctx, roomsMany) {
			return false
		}
	}
	return true
}

func (o *owner) declare() error {
	op := history.Op{Kind: "declare", Key: o.room}
	return o.call(&op, func(ctx context.Context, a *asker) error {
		room, err := a.fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: o.room, By: by,
			Roles: []*vigilv1.RoleSpec{o.s.byHand(roomsRole, 1)}})
		op.Rev = room.GetRev()
		return err
	})
}

func (o *owner) create() {
	op := history.Op{Kind: "create", Key: o.room, Value: o.value()}
	_ = o.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		t, err := a.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: o.room, Role: roomsRole,
			Title: op.Value, By: by})
		op.Task = t.GetId()
		return err
	})
}

// work begins a life and claims a task, which it holds when the room is deleted.
func (o *owner) work() {
	ctx, cancel := context.WithTimeout(o.s.life, o.s.cfg.Timeout)
	defer cancel()
	life, err := client.Join(ctx, o.s.whole.client, client.WorkerConfig{Agent: o.room + "/" + roomsRole})
	if err != nil {
		return
	}
	o.life = life
	h := &hold{agent: life.Agent(), incarnation: life.Incarnation()}
	op := history.Op{Kind: "claim", Key: o.room, Agent: h.agent, Incarnation: h.incarnation}
	err = o.call(&op, func(ctx context.Context, a *asker) error {
		answer, err := a.work.Claim(ctx, &vigilv1.ClaimRequest{Speaker: h.speaker()})
		op.Task, op.Attempt, op.Value = answer.GetTask().GetId(), answer.GetAttempt(), answer.GetTask().GetTitle()
		return err
	})
	if err == nil {
		h.task, h.attempt = op.Task, op.Attempt
		o.held = h
	}
}

// word is what a life says whose room was deleted: it completes what it held, claims a task of the
// agent that has its name now, or comes back as that agent.
func (o *owner) word(h *hold) {
	op := history.Op{Kind: "word", Key: o.room, Task: h.task, Attempt: h.attempt, Agent: h.agent,
		Incarnation: h.incarnation}
	which := o.rand.IntN(3)
	_ = o.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		switch which {
		case 0:
			_, err := a.work.Join(ctx, &vigilv1.JoinRequest{Speaker: h.speaker()})
			return err
		case 1:
			answer, err := a.work.Claim(ctx, &vigilv1.ClaimRequest{Speaker: h.speaker()})
			op.Value = answer.GetTask().GetTitle()
			return err
		}
		_, err := a.work.CompleteTask(ctx, &vigilv1.CompleteTaskRequest{Speaker: h.speaker(), Task: h.task,
			Attempt: h.attempt, Result: "late"})
		return err
	})
}

// haunt has the life that was deleted last say something.
func (o *owner) haunt() {
	if o.ghost != nil {
		o.word(o.ghost)
	}
}

func (o *owner) list() {
	op := history.Op{Kind: "list", Key: o.room}
	_ = o.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		page, err := a.fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Room: o.room, Limit: 1000})
		op.List = nil
		for _, t := range page.GetTasks() {
			op.List = append(op.List, t.GetTitle())
		}
		return err
	})
}

// remove deletes the room as it is now: a repetition that comes late meets no other one.
func (o *owner) remove() error {
	ctx, cancel := context.WithTimeout(o.s.life, o.s.cfg.Timeout)
	defer cancel()
	room, err := o.s.whole.fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: o.room})
	if err != nil && !errors.Is(err, client.ErrNotFound) {
		return err
	}
	op := history.Op{Kind: "delete", Key: o.room, Rev: room.GetRev()}
	if err == nil {
		err = o.call(&op, func(ctx context.Context, a *asker) error {
			_, err := a.fleet.DeleteRoom(ctx, &vigilv1.DeleteRoomRequest{Room: o.room, By: by, IfRev: op.Rev})
			return err
		})
	}
	if errors.Is(err, client.ErrNotFound) {
		return nil // by a repetition that had no answer
	}
	return err
}

// look reads whether the room is there, directly after it was deleted.
func (o *owner) look() {
	op := history.Op{Kind: "look", Key: o.room, State: "there"}
	_ = o.call(&op, func(ctx context.Context, a *asker) error { // the record tells
		_, err := a.fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: o.room})
		if errors.Is(err, client.ErrNotFound) {
			op.State = "gone"
			return nil
		}
		return err
	})
}

// bury forgets the life of the room that is gone; what it held haunts the next one.
func (o *owner) bury() {
	if o.life != nil {
		o.life.Detach()
	}
	if o.held != nil {
		o.ghost = o.held
	}
	o.life, o.held = nil, nil
}
