package fsm

import (
	"fmt"
	"slices"
	"strings"

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
func (c ReportScreen) Apply(s *State) noun.Outcome {
	a, no := s.onHost(c.Host, c.Agent, c.Inc)
	switch {
	case a == nil:
		return no
	case !a.Proc.Fenced():
		return refuse(noun.Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	case c.Kind >= noun.PromptKindsPlus:
		return refuse(noun.Invalid, "prompt kind %d is none that this server knows", c.Kind)
	}
	now, old := s.meta.Clock, noun.Screen{}
	if sc := a.Screen(); sc != nil {
		old = *sc
	}
	next := old
	if next.Inc != a.Inc {
		next = noun.Screen{Inc: a.Inc, At: now, QuietAt: now}
	}
	if next.Kind != c.Kind {
		next.Kind, next.At, next.Called = c.Kind, now, 0
		next.Excused = min(next.Excused, now)
		if c.Kind == noun.PromptPermission || c.Kind == noun.PromptUsageLimit {
			next.Excused = now.Add(noun.NeedsInputLimit)
		}
		if old.Kind > noun.PromptNone || c.Kind > noun.PromptNone {
			s.event("agent.prompt", about{agent: a, task: a.Task, host: a.Host}, noun.PromptTexts[c.Kind])
		}
	}
	if next.Quiet != c.Quiet {
		next.Quiet, next.QuietAt = c.Quiet, now
	}
	if next != old {
		a.Note(func(n *noun.Notes) { n.Screen = &next })
		s.hooks.AgentExcused.call(a)
		s.rearm(timerAgent, uint64(a.ID), &a.Armed, s.agentDeadline(a))
		if t := s.tasks.Mut(a.Task); t != nil { // its progress limit may end earlier now
			s.rearm(timerTask, uint64(t.ID), &t.Armed, s.taskDeadline(t))
		}
	}
	out := a.Outcome()
	out.Rev = a.Rev
	return out
}

// promptDeadline is when a human must be called for a permission prompt; 0: never. Who has
// declared that it needs input has said so itself. While it lasts the escalation is reminded
// of, like any other.
func (v *View) promptDeadline(a *noun.Agent) noun.Time {
	sc := a.Screen()
	if sc == nil || sc.Kind != noun.PromptPermission || sc.Called != 0 || a.Order == noun.StopOrder {
		return 0
	}
	at := sc.At.Add(v.meta.Settings.Prompt.Limit)
	if d := a.Declared; d.Holds(v.meta.Clock) && d.Waiting == noun.WaitingInput {
		at = max(at, d.Until)
	}
	return at
}

// callForPrompt calls a human when it is time to, with what is known.
func (s *State) callForPrompt(a *noun.Agent) {
	if at := s.promptDeadline(a); at == 0 || at > s.meta.Clock {
		return
	}
	next := *a.Screen()
	next.Called = s.meta.Clock
	a.Note(func(n *noun.Notes) { n.Screen = &next })
	facts := []noun.KV{{Key: "shown_for", Value: s.since(next.At).String()}, {Key: "runner", Value: s.roles.Get(a.Role).Spec.Runner}}
	s.hooks.Human.call(noun.Escalation{Kind: noun.EscPrompt, Subject: a.Name, Priority: noun.MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a), Facts: facts})
}

// rearmPrompts sets timers anew after prompt_limit has changed.
func (s *State) rearmPrompts(put Put) {
	if !put.Any("prompt_limit") {
		return
	}
	for id, a := range s.agents.From(0) {
		if a.Shows(noun.PromptPermission) {
			a = s.agents.Mut(id)
			s.rearm(timerAgent, uint64(id), &a.Armed, s.agentDeadline(a))
		}
	}
}

// Apply takes note of what a host can do. What was seen with runners that are not
// watched any more would stand for ever, so it is forgotten.
func (c ReportTerminals) Apply(s *State) noun.Outcome {
	h := s.hosts.Mut(c.Host)
	switch {
	case h == nil:
		return refuse(noun.NotFound, "there is no host number %d", c.Host)
	case h.Boot != c.Boot:
		return refuse(noun.Superseded, "host %s has registered with another boot id since", h.Name)
	case len(c.Tool) > noun.MaxTool || len(c.Runners) > noun.MaxRoles || len(c.Watched) > noun.MaxRoles:
		return refuse(noun.Invalid, "the name of what makes terminals has %d bytes, at most %d are allowed; of runners at most %d", len(c.Tool), noun.MaxTool, noun.MaxRoles)
	}
	old := h.Terminal
	h.Terminal = &noun.HostTerminal{Tool: c.Tool, Why: noun.Clip(c.Why, noun.MaxReason), Runners: slices.Clone(c.Runners), Watched: slices.Clone(c.Watched)}
	if was := h.Terminals(); old == nil || (&noun.Host{Terminal: old}).Terminals() != was {
		s.event("host.terminals", about{host: h.ID}, noun.Clip(was, noun.MaxReason))
		h.Rev = s.meta.Index
	}
	for _, id := range s.agentsOn(h.ID) {
		a := s.agents.Get(id)
		if a.Screen() == nil || slices.Contains(c.Watched, s.roles.Get(a.Role).Spec.Runner) {
			continue
		}
		ReportScreen{Host: h.ID, Agent: id, Inc: a.Inc}.Apply(s)
	}
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}

// Degraded tells why nothing can be typed to an agent: its host makes no terminals, or its
// runner asks for none. Empty: it can be, or nobody knows. Every automatic decision about the
// agent says it.
func (v *View) Degraded(id noun.AgentID) string {
	a := v.Agent(id)
	if a == nil {
		return ""
	}
	h := v.Host(a.Host)
	switch {
	case !a.Managed && a.Part != noun.PartDisconnected:
		return "degraded: it was started by hand, so it has no terminal: mail only"
	case h == nil || h.Terminal == nil:
		return ""
	case h.Terminal.Tool == "":
		return strings.Replace(h.Terminals(), "degraded: no tmux", "degraded: no tmux on host "+h.Name, 1)
	}
	if r := v.roles.Get(a.Role).Spec.Runner; !slices.Contains(h.Terminal.Runners, r) {
		return fmt.Sprintf("degraded: its runner %s has no terminal: nothing can be typed; mail and restarts only", r)
	}
	return ""
}
