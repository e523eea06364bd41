package screen

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is what hosts see on the terminals of agents.
type State struct {
	*core.State
	View
}

// View reads what hosts see on terminals, and who types there.
type View struct{ core.Base }

// Install hangs screens on the core.
func Install(c *core.State) *State {
	s := &State{c, View{core.Base{View: &c.View}}}
	h := core.Attach(c, s)
	h.SettingsPut.Add(s.rearmPrompts)
	h.AgentDue = append(h.AgentDue, s.promptRow, s.inputRow, s.typistRow)
	h.AgentFires.Add(s.callForPrompt)
	h.AgentFires.Add(s.callForInput)
	h.AgentFires.Add(s.endTurn)
	h.AgentChanged.Add(s.lifeOver)
	h.Closed.Add(s.closed)
	h.Lasts[noun.EscPrompt] = func(e *noun.Escalation) bool {
		a := s.AgentByName(e.Agent)
		return a != nil && a.Shows(noun.PromptPermission)
	}
	h.LevelRaised.Add(func(uint32) { s.rearmWaiting() })
	h.Lasts[noun.EscNeedsInput] = func(e *noun.Escalation) bool {
		a := s.AgentByName(e.Agent)
		return a != nil && a.Lives() && a.Declared.Asks(s.Meta.Clock)
	}
	return s
}
