package duty

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// kindOfStuck is why an agent may be stuck. The ladder looks at one kind after the other.
type kindOfStuck uint8

const (
	holders   kindOfStuck = iota // of tasks
	waiting                      // those that let a task wait
	overseers                    // without a task
)

// planClimbs plans the rungs that are due for stuck agents.
func planClimbs(s *fsm.View, l look) (p plan) {
	if !s.Settings().Ladder.Enabled {
		return plan{}
	}
	after := l.from
	see := func(id noun.AgentID, at Place) bool {
		if p.visited == l.visits || len(p.orders) == l.orders {
			p.more = true
			return false
		}
		p.visited++
		p.next = at
		if c := s.Climb(id); c.Next != noun.NoRung && c.Due <= s.Clock() {
			a := s.Agent(id)
			step := fsm.StepLadder{Agent: id, Inc: a.Inc, Rung: c.Next, Seen: c.Seen}
			p.orders = append(p.orders, Order{step, a.Name})
		}
		return true
	}
	p.next = after
	if after.list == holders {
		for id := range s.MayBeStuck(noun.AgentID(after.id)) {
			if !see(id, Place{id: uint64(id)}) {
				return p
			}
		}
		after = Place{list: waiting}
	}
	if after.list == waiting {
		for at, id := range s.MayBeDeaf(after.deaf) {
			if !see(id, Place{list: waiting, deaf: at}) {
				return p
			}
		}
		after = Place{list: overseers}
	}
	for id := range s.Overseers(noun.AgentID(after.id)) {
		if s.Agent(id).Task == 0 && !see(id, Place{list: overseers, id: uint64(id)}) {
			return p
		}
	}
	p.next = Place{}
	return p
}

// climbed types what was accepted. Nothing is typed before it is committed, so a leader that
// takes over never repeats it.
func (d *Duty) climbed(ctx context.Context, c *counts, orders []Order, outs []noun.Outcome) {
	var due []prod
	for i, o := range orders {
		step := o.Command.(fsm.StepLadder)
		if outs[i].Code != noun.OK {
			continue
		}
		d.log.Info("stuck agent", "agent", o.Name, "life", step.Inc, "rung", step.Rung)
		if step.Rung <= noun.RungInterrupt {
			due = append(due, prod{o.Name, step.Inc, step.Rung, func(reason string) fsm.Command {
				return fsm.NoteRung{Agent: step.Agent, Inc: step.Inc, Rung: step.Rung, Reason: reason}
			}})
		}
	}
	d.atTerminals(ctx, c, d.terminals[0], due)
}
