package fsm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What the hosts see on the terminals of their agents. An agentd matches
// the last lines with the patterns of the agent's runner and tells which kind of prompt
// stands there, never the text. It is evidence like any other: a prompt says something as
// long as it stands, and nothing once it is gone. What flows over a screen is no word of the
// agent, since a spinner flows for ever: it ends no episode of the ladder and makes no
// stalled agent healthy. It only keeps the ladder from a restart, see unrestartable.

// PromptKind is what stands at the end of a terminal.
type PromptKind uint8

// Kinds of prompts. The numbers are written to disk.
const (
	PromptUnknown    PromptKind = iota // nobody looks, or can
	PromptNone                         // looked at, and none
	PromptPermission                   // a human must allow or answer something
	PromptUsageLimit                   // the tool is out of quota
	PromptError                        // the tool has stopped with an error
	PromptIdle                         // the tool waits for its next instruction
	promptKindsPlus                    // one more than the last
)

var promptNames = [promptKindsPlus]string{"unknown", "none", "permission", "usage_limit", "error", "idle"}

func (k PromptKind) String() string { return promptNames[k] }

// PromptNames are the words for kinds of prompts, by number.
func PromptNames() []string { return promptNames[:] }

// sentences about prompts, for reasons, events and rooms that are exempt.
var promptTexts = [promptKindsPlus]string{"nobody looks at its terminal", "its terminal shows no prompt",
	"its terminal shows a permission prompt", "its terminal shows that its tool is out of quota",
	"its terminal shows an error", "its terminal shows the idle prompt"}

// Screen is what a host has seen of one life. Times are cluster time.
type Screen struct {
	Inc     Incarnation
	Kind    PromptKind
	At      Time // since when it is Kind
	Quiet   bool // for a while, which is the host's setting, nothing new was printed
	QuietAt Time // since when Quiet is as it is
	// Excused is until when nobody expects progress or reports: as long as a human may
	// leave a question without an answer, or when the prompt went.
	Excused Time
	Called  Time // when a human was called for this prompt; 0: not yet
}

// PromptSettings are those of prompts.
type PromptSettings struct {
	Limit time.Duration // a permission prompt calls a human after
	Idle  time.Duration // at the idle prompt, with a task and without a sign of work: stalled
}

// HostTerminal is what a host can do about terminals.
type HostTerminal struct {
	Tool    string   // "tmux 3.3a"; empty: none, see Why
	Why     string   // why there is none
	Runners []string // that give their agents one, sorted
	Watched []string // whose agents' prompts are recognized, sorted
}

// ReportScreen is what a host sees of a life, when that has changed.
type ReportScreen struct {
	Host  HostID
	Agent AgentID
	Inc   Incarnation
	Kind  PromptKind
	Quiet bool
}

// ReportTerminals says what a host can do about terminals: when its agentd begins, and when
// that changes.
type ReportTerminals struct {
	Host             HostID
	Boot             string
	Tool, Why        string
	Runners, Watched []string // sorted
}

func (ReportScreen) command()    {}
func (ReportTerminals) command() {}

// MaxTool is the longest name of what makes terminals, in bytes.
const MaxTool = 64

// Screen is what is seen of the agent's present life; nil: nothing.
func (a *Agent) Screen() *Screen {
	if a.Noted == nil || a.Noted.Screen == nil || a.Noted.Screen.Inc != a.Inc || !a.Proc.Fenced() {
		return nil
	}
	return a.Noted.Screen
}

// shows tells that a prompt of this kind stands on the agent's terminal.
func (a *Agent) shows(k PromptKind) bool {
	sc := a.Screen()
	return sc != nil && sc.Kind == k
}

// screenExcuse is Screen.Excused, 0 without a screen.
func (a *Agent) screenExcuse() Time {
	if sc := a.Screen(); sc != nil {
		return sc.Excused
	}
	return 0
}

// reportScreen takes note of what a host sees. Like a declaration it touches no revision.
func (s *State) reportScreen(c *ReportScreen) Outcome {
	a, no := s.onHost(c.Host, c.Agent, c.Inc)
	switch {
	case a == nil:
		return no
	case !a.Proc.Fenced():
		return refuse(Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	case c.Kind >= promptKindsPlus:
		return refuse(Invalid, "prompt kind %d is none that this server knows", c.Kind)
	}
	now, old := s.meta.Clock, Screen{}
	if sc := a.Screen(); sc != nil {
		old = *sc
	}
	next := old
	if next.Inc != a.Inc {
		next = Screen{Inc: a.Inc, At: now, QuietAt: now}
	}
	if next.Kind != c.Kind {
		next.Kind, next.At, next.Called = c.Kind, now, 0
		next.Excused = min(next.Excused, now)
		if c.Kind == PromptPermission || c.Kind == PromptUsageLimit {
			next.Excused = now.Add(NeedsInputLimit)
		}
		if old.Kind > PromptNone || c.Kind > PromptNone {
			s.event("agent.prompt", about{agent: a, task: a.Task, host: a.Host}, promptTexts[c.Kind])
		}
	}
	if next.Quiet != c.Quiet {
		next.Quiet, next.QuietAt = c.Quiet, now
	}
	if next != old {
		a.note(func(n *Notes) { n.Screen = &next })
		s.reviewExcuse(a)
		s.rearm(timerAgent, uint64(a.ID), &a.Armed, s.agentDeadline(a))
		if t := s.tasks.Mut(a.Task); t != nil { // its progress limit may end earlier now
			s.rearm(timerTask, uint64(t.ID), &t.Armed, s.taskDeadline(t))
		}
	}
	out := a.outcome()
	out.Rev = a.Rev
	return out
}

// promptDeadline is when a human must be called for a permission prompt; 0: never. Who has
// declared that it needs input has said so itself. While it lasts the escalation is reminded
// of, like any other.
func (v *View) promptDeadline(a *Agent) Time {
	sc := a.Screen()
	if sc == nil || sc.Kind != PromptPermission || sc.Called != 0 || a.Order == StopOrder {
		return 0
	}
	at := sc.At.Add(v.meta.Settings.Prompt.Limit)
	if d := a.Declared; d.Holds(v.meta.Clock) && d.Waiting == WaitingInput {
		at = max(at, d.Until)
	}
	return at
}

// callForPrompt calls a human, with what is known.
func (s *State) callForPrompt(a *Agent) {
	next := *a.Screen()
	next.Called = s.meta.Clock
	a.note(func(n *Notes) { n.Screen = &next })
	facts := []KV{{"shown_for", s.since(next.At).String()}, {"runner", s.roles.Get(a.Role).Spec.Runner}}
	s.escalate(Escalation{Kind: EscPrompt, Subject: a.Name, Priority: MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a), Facts: facts})
}

// rearmPrompts sets timers anew after prompt_limit has changed.
func (s *State) rearmPrompts(c *PutSettings) {
	if !slices.ContainsFunc(c.Values, func(kv KV) bool { return kv.Key == "prompt_limit" }) {
		return
	}
	for id, a := range s.agents.From(0) {
		if a.shows(PromptPermission) {
			a = s.agents.Mut(id)
			s.rearm(timerAgent, uint64(id), &a.Armed, s.agentDeadline(a))
		}
	}
}

// reportTerminals takes note of what a host can do. What was seen with runners that are not
// watched any more would stand for ever, so it is forgotten.
func (s *State) reportTerminals(c *ReportTerminals) Outcome {
	h := s.hosts.Mut(c.Host)
	switch {
	case h == nil:
		return refuse(NotFound, "there is no host number %d", c.Host)
	case h.Boot != c.Boot:
		return refuse(Superseded, "host %s has registered with another boot id since", h.Name)
	case len(c.Tool) > MaxTool || len(c.Runners) > MaxRoles || len(c.Watched) > MaxRoles:
		return refuse(Invalid, "the name of what makes terminals has %d bytes, at most %d are allowed; of runners at most %d", len(c.Tool), MaxTool, MaxRoles)
	}
	old := h.Terminal
	h.Terminal = &HostTerminal{Tool: c.Tool, Why: clip(c.Why, MaxReason), Runners: slices.Clone(c.Runners), Watched: slices.Clone(c.Watched)}
	if was := h.Terminals(); old == nil || (&Host{Terminal: old}).Terminals() != was {
		s.event("host.terminals", about{host: h.ID}, clip(was, MaxReason))
		h.Rev = s.meta.Index
	}
	for _, id := range s.agentsOn(h.ID) {
		a := s.agents.Get(id)
		if a.Screen() == nil || slices.Contains(c.Watched, s.roles.Get(a.Role).Spec.Runner) {
			continue
		}
		s.reportScreen(&ReportScreen{Host: h.ID, Agent: id, Inc: a.Inc})
	}
	return Outcome{Host: h.ID, Rev: h.Rev}
}

// Terminals says what the host can do about terminals; empty: its agentd has not said.
func (h *Host) Terminals() string {
	switch t := h.Terminal; {
	case t == nil:
		return ""
	case t.Tool != "":
		return t.Tool
	case t.Why != "" && t.Why != "no tmux":
		return fmt.Sprintf("degraded: no tmux (%s): %s", t.Why, degradedMeans)
	}
	return "degraded: no tmux: " + degradedMeans
}

// degradedMeans is what a host without terminals can do (seed 004, Degraded Mode).
const degradedMeans = "nothing can be typed or observed; mail and restarts only"

// Degraded tells why nothing can be typed to an agent: its host makes no terminals, or its
// runner asks for none. Empty: it can be, or nobody knows. Every automatic decision about the
// agent says it.
func (v *View) Degraded(id AgentID) string {
	a := v.Agent(id)
	if a == nil {
		return ""
	}
	h := v.Host(a.Host)
	switch {
	case !a.Managed && a.Part != PartDisconnected:
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
