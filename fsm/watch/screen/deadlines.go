package screen

import (
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

var (
	kindPrompt = &due.Kind{Name: "permission prompt", Then: "a human is called"}
	kindTypist = &due.Kind{Name: "terminal taken", Then: "the terminal is free again"}
)

// typistRow is when the terminal of an agent is free again without a further key.
func (s *State) typistRow(a *noun.Agent) due.Row {
	t := a.Typist()
	if t == nil {
		return due.Row{}
	}
	return due.Row{Kind: kindTypist, Of: due.OfAgent(a.ID), From: t.Until.Add(-noun.TypistSpan), Span: noun.TypistSpan}
}

// promptRow is the row for which a human must be called for a permission prompt. Who has declared
// that it needs input has said so itself. While it lasts the escalation is reminded of, like any
// other.
func (s *State) promptRow(a *noun.Agent) due.Row {
	sc := a.Screen()
	if sc == nil || sc.Kind != noun.PromptPermission || sc.Called != 0 || a.Order == noun.StopOrder {
		return due.Row{}
	}
	r := due.Row{Kind: kindPrompt, Of: due.OfAgent(a.ID), From: sc.At, Span: s.Meta.Settings.Prompt.Limit}
	if d := a.Declared; d.Holds(s.Meta.Clock) && d.Waiting == noun.WaitingInput {
		r.Put = due.Hold{Until: d.Until, Why: "it has said itself that it needs input"}
	}
	return r
}
