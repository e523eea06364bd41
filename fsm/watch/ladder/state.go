package ladder

import (
	"vigil/fsm/core"
	"vigil/fsm/evidence"
	"vigil/fsm/noun"
)

// State is the ladder for stuck agents of a state that goes on.
type State struct {
	*core.State
	View
}

// View tells where agents stand on the ladder, and whom to look at.
type View struct{ evidence.View }

// Install hangs the ladder on the core.
func Install(c *core.State) *State {
	s := &State{c, View{evidence.View{Base: core.Base{View: &c.View}}}}
	h := core.Attach(c, s)
	h.AgentRows = append(h.AgentRows, s.agentRows)
	h.AgentSpoke.Add(s.answer)
	h.Lasts[noun.EscAgentStuck] = func(e *noun.Escalation) bool {
		a := s.AgentByName(e.Agent)
		return a != nil && s.Climb(a.ID).Rung == noun.RungEscalate
	}
	return s
}
