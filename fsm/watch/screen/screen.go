package screen

import (
	"slices"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// What the hosts see on the terminals of their agents. An agentd matches
// the last lines with the patterns of the agent's runner and tells which kind of prompt
// stands there, never the text. It is evidence like any other: a prompt says something as
// long as it stands, and nothing once it is gone. What flows over a screen is no word of the
// agent, since a spinner flows for ever: it ends no episode of the ladder and makes no
// stalled agent healthy. It only keeps the ladder from a restart, see unrestartable.

// ReportScreen is what a host sees of a life, when that has changed.
type ReportScreen struct {
	Host  noun.HostID
	Agent noun.AgentID
	Inc   noun.Incarnation
	Kind  noun.PromptKind
	Quiet bool
}

// ReportTerminals says what a host can do about terminals: when its agentd begins, and when
// that changes.
type ReportTerminals struct {
	Host             noun.HostID
	Boot             string
	Tool, Why        string
	Runners, Watched []string // sorted
}

// Apply takes note of what a host sees. Like a declaration it touches no revision.
func (c ReportScreen) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.OnHost(c.Host, c.Agent, c.Inc)
	switch {
	case a == nil:
		return no
	case !a.Proc.Fenced():
		return core.Refuse(noun.Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	case c.Kind >= noun.PromptKindsPlus:
		return core.Refuse(noun.Invalid, "prompt kind %d is none that this server knows", c.Kind)
	}
	now, old := s.Meta.Clock, noun.Screen{}
	if sc := a.Screen(); sc != nil {
		old = *sc
	}
	next := old
	if next.Inc != a.Inc {
		next = noun.Screen{Inc: a.Inc, At: now, QuietAt: now}
	}
	if next.Kind != c.Kind {
		next.Kind, next.At, next.Called, next.Closed = c.Kind, now, 0, 0
		next.Excused = min(next.Excused, now)
		switch {
		case c.Kind == noun.PromptUsageLimit && s.Level() >= core.LevelRetry:
			// The words stay there when the limit is over, and no tool goes on by itself.
			next.Excused = now.Add(s.Meta.Settings.UsagePause)
		case c.Kind == noun.PromptPermission, c.Kind == noun.PromptUsageLimit:
			next.Excused = now.Add(noun.NeedsInputLimit)
		}
		if old.Kind > noun.PromptNone || c.Kind > noun.PromptNone {
			s.Event("agent.prompt", core.About{Agent: a, Task: a.Task, Host: a.Host}, noun.PromptTexts[c.Kind])
		}
	}
	if next.Quiet != c.Quiet {
		next.Quiet, next.QuietAt = c.Quiet, now
	}
	if next != old {
		a.Note(func(n *noun.Notes) { n.Screen = &next })
		s.answered(a, &old, &next)
		s.excused(a)
	}
	out := a.Outcome()
	out.Rev = a.Rev
	return out
}

// declaredBefore is how long before a host sees a prompt a hook may have declared it: the host looks every
// few seconds, twice, and does not report more often than that.
const declaredBefore = time.Minute

// answered ends a declared needs_input with the permission prompt that it was about: the hook that said so is not
// run again when somebody answers, and what comes then, also nothing at all, would be excused for a day.
func (s *State) answered(a *noun.Agent, old, now *noun.Screen) {
	d := a.Declared
	switch {
	case s.Level() < core.LevelRetry || !d.Asks(s.Meta.Clock):
		return
	case old.Inc != a.Inc || old.Kind != noun.PromptPermission:
		return
	case now.Kind == noun.PromptPermission || now.Kind == noun.PromptUnknown: // nobody looks any more
		return
	case d.At < old.At.Add(-declaredBefore): // it waits for something else
		return
	}
	next := *d
	next.Until, next.Excused = s.Meta.Clock, min(d.Excused, s.Meta.Clock)
	a.Declared = &next
	s.Event("agent.declared", core.About{Agent: a, Task: a.Task}, d.Kind()+" is over: the prompt on its terminal has gone")
}

// excused follows a change of what explains the silence of an agent: its limits may end earlier now.
func (s *State) excused(a *noun.Agent) {
	s.Hooks.AgentExcused.Call(a)
	s.Rearm(core.TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
	if t := s.TaskTable.Mut(a.Task); t != nil {
		s.Rearm(core.TimerTask, uint64(t.ID), &t.Armed, s.TaskRow(t))
	}
}

// callForPrompt calls a human when it is time to, with what is known.
func (s *State) callForPrompt(a *noun.Agent) {
	if row := s.promptRow(a); !row.Due(s.Meta.Clock) {
		return
	}
	next := *a.Screen()
	next.Called = s.Meta.Clock
	a.Note(func(n *noun.Notes) { n.Screen = &next })
	facts := []noun.KV{{Key: "shown_for", Value: s.Since(next.At).String()},
		{Key: "runner", Value: s.RoleTable.Get(a.Role).Spec.Runner}}
	s.call(a, noun.EscPrompt, noun.EscNeedsInput, facts)
}

// closed has a human called once more who has closed the escalation about a prompt that goes on to stand there, or
// about the one before it: that nothing is left to decide is not so. Whoever looks after it acknowledges it.
func (s *State) closed(e noun.Escalation) {
	a := s.AgentByName(e.Subject)
	if s.Level() < core.LevelRetry || e.Kind != noun.EscPrompt || a == nil || !a.Shows(noun.PromptPermission) ||
		a.Screen().Called == 0 {
		return
	}
	a = s.AgentTable.Mut(a.ID)
	next := *a.Screen()
	next.Called, next.Closed = 0, s.Meta.Clock
	a.Note(func(n *noun.Notes) { n.Screen = &next })
	s.Rearm(core.TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
}

// callForInput calls a human for an agent that says that it waits for one. A clock that has jumped over
// the end of what was declared calls nobody.
func (s *State) callForInput(a *noun.Agent) {
	if row := s.inputRow(a); !row.Due(s.Meta.Clock) {
		return
	}
	next := *a.Declared
	next.Called = s.Meta.Clock
	a.Declared = &next
	if !next.Asks(s.Meta.Clock) {
		return
	}
	s.call(a, noun.EscNeedsInput, noun.EscPrompt, []noun.KV{{Key: "declared_for", Value: s.Since(next.Since).String()},
		{Key: "runner", Value: s.RoleTable.Get(a.Role).Spec.Runner}})
}

// call calls a human for an agent that waits for one, once for what was seen and what was said: what the
// other of the two was about is the same, or is over.
func (s *State) call(a *noun.Agent, kind, other noun.EscalationKind, facts []noun.KV) {
	if s.Level() >= core.LevelRetry {
		s.Hooks.Over.Call(noun.Escalation{Kind: other, Subject: a.Name})
	}
	s.Hooks.Human.Call(noun.Escalation{Kind: kind, Subject: a.Name, Priority: noun.MailHigh,
		Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.RoomTable.Get(a.Room).Name, Host: s.HostNameOf(a), Facts: facts})
}

// rearmPrompts sets timers anew after prompt_limit has changed.
func (s *State) rearmPrompts(put core.Put) {
	if put.Any("prompt_limit") {
		s.rearmWaiting()
	}
}

// rearmWaiting sets the timers of agents anew that wait for a human.
func (s *State) rearmWaiting() {
	for id, a := range s.AgentTable.From(0) {
		if d := a.Declared; a.Shows(noun.PromptPermission) || d != nil && d.Waiting == noun.WaitingInput {
			a = s.AgentTable.Mut(id)
			s.Rearm(core.TimerAgent, uint64(id), &a.Armed, s.AgentRow(a))
		}
	}
}

// Apply takes note of what a host can do. What was seen with runners that are not
// watched any more would stand for ever, so it is forgotten.
func (c ReportTerminals) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	h := s.HostTable.Mut(c.Host)
	switch {
	case h == nil:
		return core.Refuse(noun.NotFound, "there is no host number %d", c.Host)
	case h.Boot != c.Boot:
		return core.Refuse(noun.Superseded, "host %s has registered with another boot id since", h.Name)
	case len(c.Tool) > noun.MaxTool || len(c.Runners) > noun.MaxRoles || len(c.Watched) > noun.MaxRoles:
		return core.Refuse(noun.Invalid,
			"the name of what makes terminals has %d bytes, at most %d are allowed; of runners at most %d",
			len(c.Tool), noun.MaxTool, noun.MaxRoles)
	}
	old := h.Terminal
	h.Terminal = &noun.HostTerminal{Tool: c.Tool, Why: noun.Clip(c.Why, noun.MaxReason),
		Runners: slices.Clone(c.Runners), Watched: slices.Clone(c.Watched)}
	if was := h.Terminals(); old == nil || (&noun.Host{Terminal: old}).Terminals() != was {
		s.Event("host.terminals", core.About{Host: h.ID}, noun.Clip(was, noun.MaxReason))
		h.Rev = s.Meta.Index
	}
	for _, id := range s.AgentsOn(h.ID) {
		a := s.AgentTable.Get(id)
		if a.Screen() == nil || slices.Contains(c.Watched, s.RoleTable.Get(a.Role).Spec.Runner) {
			continue
		}
		ReportScreen{Host: h.ID, Agent: id, Inc: a.Inc}.Apply(s.State)
	}
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}
