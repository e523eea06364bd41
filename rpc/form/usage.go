package form

import (
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Budget validates a budget; absent: none.
func (c *Checks) Budget(at string, b *vigilv1.Budget) noun.SpendLimit {
	l := noun.SpendLimit{Tokens: b.GetTokens(), MicroUSD: b.GetMicroUsd()}
	if err := noun.CheckSpend(l); err != nil {
		c.Fail("%s: %v.", at, err)
	}
	return l
}

// Budget copies a budget; nil: there is none.
func Budget(l noun.SpendLimit) *vigilv1.Budget {
	if l == (noun.SpendLimit{}) {
		return nil
	}
	return &vigilv1.Budget{Tokens: l.Tokens, MicroUsd: l.MicroUSD}
}

func usage(u noun.Usage) *vigilv1.Usage {
	return &vigilv1.Usage{InputTokens: u.Input, OutputTokens: u.Output, CacheTokens: u.Cache, MicroUsd: u.MicroUSD,
		Tools: u.Tools}
}

// RoomUsage tells what a room has used.
func RoomUsage(st *fsm.View, rm *noun.Room) *vigilv1.UsageState {
	return spentState(st, "room", rm.Name, rm.Spent, rm.Spend)
}

// RoleUsage tells what a role has used.
func RoleUsage(st *fsm.View, r *noun.Role) *vigilv1.UsageState {
	return spentState(st, "role", st.RoleName(r.ID), r.Spent, r.Spec.Spend())
}

func spentState(st *fsm.View, kind, name string, p *noun.Spent, l noun.SpendLimit) *vigilv1.UsageState {
	if p == nil {
		p = &noun.Spent{}
	}
	out := &vigilv1.UsageState{Kind: kind, Name: name, Day: usage(p.Day.Sum(st.Clock())), Budget: Budget(l),
		Stage: p.Stage.String()}
	if p.Lifted > st.Clock() {
		out.LiftedFor, out.LiftedBy = Lasting(p.Lifted.Sub(st.Clock())), p.By
	}
	return out
}

// AgentUsage tells what an agent has used; nil: it has told of nothing.
func AgentUsage(st *fsm.View, a *noun.Agent) *vigilv1.UsageState {
	u := a.Notes().Used
	if u == nil {
		return nil
	}
	out := &vigilv1.UsageState{Kind: "agent", Name: a.Name, Day: usage(u.Day.Sum(st.Clock())),
		Budget: Budget(st.Role(a.Role).Spec.SpendEach()), Stage: u.Stage.String(), Life: usage(u.Life),
		Incarnation: u.Inc.String(), Clamped: u.Clamped}
	out.Life.Kinds = append(out.Life.Kinds, u.Kinds...)
	return out
}
