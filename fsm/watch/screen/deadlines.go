package screen

import (
	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

var (
	kindPrompt = &due.Kind{Name: "permission prompt", Then: "a human is called"}
	kindInput  = &due.Kind{Name: "question", Then: "a human is called"}
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

// promptRow is the row for which a human must be called for a permission prompt. That the agent has
// declared it, as hooks do at once, puts nothing off: nobody hears of a declaration. (Before the
// feature level began it did, until the end of what was declared.) While it lasts the escalation is
// reminded of, like any other; a prompt that still stands when a human has closed it has its limit anew.
func (s *State) promptRow(a *noun.Agent) due.Row {
	sc := a.Screen()
	if sc == nil || sc.Kind != noun.PromptPermission || sc.Called != 0 || a.Order == noun.StopOrder {
		return due.Row{}
	}
	r := due.Row{Kind: kindPrompt, Of: due.OfAgent(a.ID), From: max(sc.At, sc.Closed),
		Span: s.Meta.Settings.Prompt.Limit}
	if d := a.Declared; s.Level() < core.LevelRetry && d.Asks(s.Meta.Clock) {
		r.Put = due.Hold{Until: d.Until, Why: "it has said itself that it needs input"}
	}
	return r
}

// inputRow is the row for which a human must be called since the agent says that it waits for one. A permission
// prompt that its host sees has a row of its own. What lapses before calls nobody.
func (s *State) inputRow(a *noun.Agent) due.Row {
	d, limit := a.Declared, s.Meta.Settings.Prompt.Limit
	if s.Level() < core.LevelRetry || d == nil || d.Waiting != noun.WaitingInput || d.Called != 0 || !a.Lives() ||
		a.Order == noun.StopOrder || a.Shows(noun.PromptPermission) || d.Until <= d.Since.Add(limit) {
		return due.Row{}
	}
	return due.Row{Kind: kindInput, Of: due.OfAgent(a.ID), From: d.Since, Span: limit}
}
