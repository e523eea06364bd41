package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	intentRoom   = "intent"
	intentWhole  = "intent-room"
	intentRole   = "work"
	intentAgents = 3
)

// intent is the workload of that name.
type intent struct {
	s      *Set
	humans []*human
}

// human wants something of one scope at a time: an agent, or a room.
type human struct {
	*process
	pen   *pen
	key   string
	whole bool // it is a room
	off   string
}

func newIntent(s *Set) load {
	i := &intent{s: s}
	for n := range intentAgents {
		i.humans = append(i.humans, &human{process: s.process("intent"), pen: &pen{s: s},
			key: slot(intentRoom, intentRole, n)})
	}
	i.humans = append(i.humans, &human{process: s.process("intent"), pen: &pen{s: s}, key: intentWhole, whole: true})
	return i
}

func (i *intent) prepare(ctx context.Context) error {
	if err := i.s.declare(ctx, intentRoom, i.s.managed(intentRoom, intentRole, intentAgents)); err != nil {
		return err
	}
	return i.s.declare(ctx, intentWhole, i.s.managed(intentWhole, intentRole, 2))
}

func (i *intent) run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, h := range i.humans {
		all.Go(func() {
			// What was wanted lasts for a moment: starts and ends are slower than calls.
			for pause(ctx, time.Duration(float64(i.s.cfg.TTL)*h.rand.Float64())) {
				h.change(ctx)
			}
		})
	}
	all.Wait()
	return nil
}

// quiesce has everything run again.
func (i *intent) quiesce(ctx context.Context) error {
	for _, h := range i.humans {
		if h.off != "" && !h.on(ctx) {
			return fmt.Errorf("start %s again: %w", h.key, ctx.Err())
		}
	}
	return nil
}

// change wants the contrary of what was wanted last.
func (h *human) change(ctx context.Context) {
	if h.off != "" {
		h.on(ctx)
		return
	}
	h.off = "stop"
	if h.whole || h.rand.IntN(3) == 0 {
		h.off = "pause"
	}
	if h.want(ctx, h.off) && h.off == "pause" {
		h.looks()
	}
}

// on undoes what was wanted last.
func (h *human) on(ctx context.Context) bool {
	kind := "start"
	if h.off == "pause" {
		kind = "resume"
	}
	if !h.want(ctx, kind) {
		return false
	}
	h.off = ""
	return true
}

// want asks for something until there is an answer, always with the same write id. It
// gives false when ctx has ended before.
func (h *human) want(ctx context.Context, kind string) bool {
	id, err := h.pen.next(ctx)
	for n := 0; ; n++ {
		if err == nil {
			op := history.Op{Kind: kind, Key: h.key, WriteID: written(id)}
			err = h.ask(h.s.whole, h.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error {
				return h.say(ctx, a, &op, id)
			})
			if op.Outcome == history.OK {
				return true
			}
		}
		if errors.Is(err, client.ErrUnknownSession) { // nothing was done
			h.pen.lose()
		}
		if !pause(ctx, 100*time.Millisecond) {
			return false
		}
		if outcome, _ := outcome(err); outcome == history.Failed || id == nil {
			id, err = h.pen.next(ctx)
		} else {
			err = nil
		}
	}
}

// say makes the call of a kind.
func (h *human) say(ctx context.Context, a *asker, op *history.Op, id *vigilv1.WriteId) error {
	if op.Kind == "stop" || op.Kind == "start" {
		op.Agent = h.key
		desired := "running"
		if op.Kind == "stop" {
			desired = "stopped"
		}
		agent, err := a.fleet.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: h.key, Desired: desired, By: by, Id: id})
		op.Incarnation, op.Rev, op.State = agent.GetIncarnationRaw(), agent.GetRev(), agent.GetProcess()
		return err
	}
	still := op.Kind == "pause"
	answer, err := a.fleet.SetPause(ctx, &vigilv1.SetPauseRequest{Scope: h.key, Pause: &still, By: by, Id: id})
	op.Rev = answer.GetRev()
	return err
}

// looks records the agents of a scope directly after its pause.
func (h *human) looks() {
	agents := []string{h.key}
	if h.whole {
		agents = []string{slot(intentWhole, intentRole, 0), slot(intentWhole, intentRole, 1)}
	}
	for _, name := range agents {
		op := history.Op{Kind: "look", Key: h.key, Agent: name}
		_ = h.ask(h.s.whole, h.s.cfg.Timeout, &op, func(ctx context.Context, a *asker) error { // the record tells
			answer, err := a.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: name})
			op.Incarnation, op.State = answer.GetAgent().GetIncarnationRaw(), answer.GetAgent().GetProcess()
			op.Rev = answer.GetAgent().GetRev()
			return err
		})
	}
}
