package screen

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is what hosts see on the terminals of agents.
type State struct{ *core.State }

// Install hangs screens on the core.
func Install(c *core.State) *State {
	s := &State{c}
	h := core.Attach(c, s)
	h.SettingsPut.Add(s.rearmPrompts)
	h.AgentDue = append(h.AgentDue, s.promptRow)
	h.AgentFires.Add(s.callForPrompt)
	h.Lasts[noun.EscPrompt] = func(e *noun.Escalation) bool {
		a := s.AgentByName(e.Agent)
		return a != nil && a.Shows(noun.PromptPermission)
	}
	return s
}
