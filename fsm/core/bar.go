package core

import (
	"slices"

	"vigil/fsm/noun"
)

// Used is what a host tells of the usage of one life: all of it since that life began, as far as one run of
// its daemon has counted.
type Used struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	Run   uint64 // which run of the daemon has counted

	Input, Output, Cache, MicroUSD                        uint64 // see noun.Usage
	Other, Shell, Read, Edit, Search, Web, Delegated, MCP uint64 // uses of tools, by kind
}

// Kinds are the uses of tools by kind, in the order of the fields.
func (u *Used) Kinds() [noun.ToolKinds]uint64 {
	return [...]uint64{u.Other, u.Shell, u.Read, u.Edit, u.Search, u.Web, u.Delegated, u.MCP}
}

// Total is all of it.
func (u *Used) Total() noun.Usage {
	total := noun.Usage{Input: u.Input, Output: u.Output, Cache: u.Cache, MicroUSD: u.MicroUSD}
	for _, n := range u.Kinds() {
		total = total.Plus(noun.Usage{Tools: n})
	}
	return total
}

// use hands on what a host tells of the usage of its lives.
func (s *State) use(b *HostBeats) {
	for _, u := range b.Usage {
		if a := s.AgentTable.Get(u.Agent); a != nil && a.Host == b.Host && u.Inc <= a.Inc {
			s.Hooks.Used.Call(u)
		}
	}
}

// roleBarred tells whether a feature keeps a role from starts and new tasks.
func (v *View) roleBarred(r *noun.Role) bool {
	return slices.ContainsFunc(v.Hooks.RoleBarred, func(f func(*noun.Role) bool) bool { return f(r) })
}

// agentBarred tells whether a feature keeps one agent from them.
func (v *View) agentBarred(a *noun.Agent) bool {
	return slices.ContainsFunc(v.Hooks.AgentBarred, func(f func(*noun.Agent) bool) bool { return f(a) })
}

// BarRole follows the begin and the end of a bar of a role, or of the room that it is in: what runs goes on,
// start orders that no host has accepted are taken back.
func (s *State) BarRole(r *noun.Role) {
	s.Weigh(weightOfLook / looksPerWeight)
	s.reviewRole(r.ID)
	s.offer(r)
}

// BarAgent does the same for one agent; was is its shadow from before.
func (s *State) BarAgent(a *noun.Agent, was shadow) {
	s.Settle(a, was)
	s.offer(s.RoleTable.Get(a.Role))
}
