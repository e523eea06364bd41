package workload

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

const registerRoom = "register"

// registers are few, so that many want the same one.
const (
	registerRooms, registerAgents = 2, 2
	registerProcesses             = 6
)

// register is the workload of that name.
type register struct {
	s    *Set
	keys []string
}

func newRegister(s *Set) load {
	r := &register{s: s}
	for i := range registerRooms {
		r.keys = append(r.keys, fmt.Sprintf("room/%s-%d", registerRoom, i+1))
	}
	for i := range registerAgents {
		name := registerRoom + "/slot"
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i+1)
		}
		r.keys = append(r.keys, "agent/"+name)
	}
	return r
}

func (r *register) prepare(ctx context.Context) error {
	if err := r.s.declare(ctx, registerRoom, r.s.byHand("slot", registerAgents)); err != nil {
		return err
	}
	p := r.s.process("register")
	for _, key := range r.keys {
		if err := r.write(p, r.s.whole, key); err != nil {
			return fmt.Errorf("write %s: %w", key, err)
		}
	}
	return nil
}

func (r *register) run(ctx context.Context) error {
	var all sync.WaitGroup
	for range registerProcesses {
		p := r.s.process("register")
		all.Go(func() {
			for p.pace(ctx, registerProcesses) {
				r.step(p, r.keys[p.rand.IntN(len(r.keys))])
			}
		})
	}
	all.Wait()
	return nil
}

// step makes a call or two.
func (r *register) step(p *process, key string) {
	switch n := p.rand.IntN(10); {
	case n < 4:
		_, _, _ = r.read(p, p.somebody(), key) // the record tells
	case n < 6:
		_ = r.write(p, p.somebody(), key) // the record tells
	default:
		value, rev, err := r.read(p, p.somebody(), key)
		if err != nil {
			return
		}
		op := history.Op{Kind: "cas", Key: key, Value: p.value(), Old: value}
		_ = p.call(&op, func(ctx context.Context, a *asker) error { return r.put(ctx, a, key, op.Value, rev) })
	}
}

func (r *register) quiesce(context.Context) error {
	p := r.s.process("register")
	for _, key := range r.keys {
		_, _, _ = r.read(p, r.s.whole, key) // the record tells
	}
	return nil
}

func (r *register) write(p *process, a *asker, key string) error {
	op := history.Op{Kind: "write", Key: key, Value: p.value()}
	return p.ask(a, r.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error {
		return r.put(ctx, a, key, op.Value, 0)
	})
}

func (r *register) read(p *process, a *asker, key string) (string, uint64, error) {
	op := history.Op{Kind: "read", Key: key}
	err := p.ask(a, r.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error {
		value, rev, err := get(ctx, a, key, false)
		op.Value, op.Rev = value, rev
		return err
	})
	return op.Value, op.Rev, err
}

// put writes a key, if it has the revision.
func (r *register) put(ctx context.Context, a *asker, key, value string, rev uint64) error {
	what, name, _ := strings.Cut(key, "/")
	if what == "room" {
		_, err := r.s.sign(ctx, a, name, value, rev)
		return err
	}
	// Nothing runs under the role, so stop and start change nothing else.
	_, err := a.fleet.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: name, Desired: "stopped", By: by,
		Reason: value, IfRev: rev})
	return err
}

// writtenLabel is that in which a room of one role by hand keeps the value of a register.
const writtenLabel = "written"

// sign applies such a room, unchanged but for the value.
func (s *Set) sign(ctx context.Context, a *asker, room, value string, rev uint64) (*vigilv1.Room, error) {
	role := s.byHand("slot", 1)
	role.Labels = map[string]string{writtenLabel: value}
	return a.fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: room, By: by, IfRev: rev,
		Roles: []*vigilv1.RoleSpec{role}})
}

// get reads a key: room/NAME or agent/NAME.
func get(ctx context.Context, a *asker, key string, stale bool) (value string, rev uint64, err error) {
	what, name, _ := strings.Cut(key, "/")
	if what == "room" {
		room, err := a.fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: name, Stale: stale})
		if err != nil || len(room.GetRoles()) != 1 {
			return "", room.GetRev(), err
		}
		return room.GetRoles()[0].GetSpec().GetLabels()[writtenLabel], room.GetRev(), nil
	}
	agent, err := a.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: name, Stale: stale})
	return agent.GetAgent().GetIntentWhy(), agent.GetAgent().GetRev(), err
}
