package duty

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// planProds plans to type what the watchdog chain has decided and nobody has typed yet. The order
// takes it out of the state, so that a leader that takes over never repeats it.
func planProds(s *fsm.View, l look) (p plan) {
	p.next = l.from
	for id := range s.Overseers(noun.AgentID(l.from.id)) {
		if p.visited == l.visits || len(p.orders) == l.orders {
			p.more = true
			return p
		}
		p.visited++
		p.next = Place{id: uint64(id)}
		a := s.Agent(id)
		if c := a.Notes().Chain; c != nil && c.Prod != 0 {
			p.orders = append(p.orders, Order{fsm.ProdOverseer{Agent: id, Inc: a.Inc, At: c.Prod}, a.Name})
		}
	}
	p.next = Place{}
	return p
}

// prodded types what was taken out and is still worth typing.
func (d *Duty) prodded(ctx context.Context, c *counts, orders []Order, outs []noun.Outcome) {
	var due []prod
	for i, o := range orders {
		x := o.Command.(fsm.ProdOverseer)
		if outs[i].Code == noun.OK && outs[i].Count == 0 {
			due = append(due, prod{o.Name, x.Inc, noun.RungNudge, func(reason string) fsm.Command {
				return fsm.NoteProd{Agent: x.Agent, Inc: x.Inc, Reason: reason}
			}})
		}
	}
	d.atTerminals(ctx, c, d.terminals[1], due)
}
