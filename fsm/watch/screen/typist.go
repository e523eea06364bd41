package screen

import (
	"fmt"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// A human may take the terminal of an agent and type there, key by key. The log holds who does, from when to
// when, and never a key. While somebody has it nobody else types: other humans are told who it is, nudges are
// refused, the ladder keeps off, and what the agent does not do meanwhile is no fault of it.

// TakeTerminal gives the terminal of an agent's present life to a human: the turn's number is the log index of
// the entry. Whoever has it already begins a new turn, as from another window, and the keys of the old one are
// refused from then on.
type TakeTerminal struct {
	Agent string // room/role or room/role.2
	By    string
	IfRev uint64 // 0: whatever it is now
}

// KeepTerminal says that a key of a turn was typed just now: not for each key, but every few seconds while
// some come. By servers.
type KeepTerminal struct {
	Agent noun.AgentID
	Grant uint64
}

// ReleaseTerminal ends a turn at a terminal; Grant 0 ends whichever there is.
type ReleaseTerminal struct {
	Agent string
	Grant uint64
	By    string
}

// NeedsLevel is the feature level of turns at terminals.
func (TakeTerminal) NeedsLevel() uint32 { return core.LevelRetry }

// NeedsLevel is the feature level of turns at terminals.
func (KeepTerminal) NeedsLevel() uint32 { return core.LevelRetry }

// NeedsLevel is the feature level of turns at terminals.
func (ReleaseTerminal) NeedsLevel() uint32 { return core.LevelRetry }

// Apply begins a turn.
func (c TakeTerminal) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.ChangeableAgent(c.Agent, c.IfRev)
	switch {
	case a == nil:
		return no
	case a.Proc != noun.ProcRunning:
		return core.Refuse(noun.Conflict, "%s does not run on any host: it has no terminal", a.Name)
	}
	t := a.Typist()
	if t != nil && (t.By == "" || t.By != c.By) {
		return core.Refuse(noun.Conflict, "%s", s.TypedText(a))
	}
	if t == nil {
		s.Event("agent.terminal_taken", core.About{Agent: a, Task: a.Task, Host: a.Host}, "by "+core.Nobody(c.By))
		t = &noun.Typist{At: s.Meta.Clock}
	}
	s.setTypist(a, noun.Typist{Inc: a.Inc, Grant: s.Meta.Index, By: c.By, At: t.At,
		Until: s.Meta.Clock.Add(noun.TypistSpan)})
	return a.Outcome()
}

// Apply lets a turn last longer. One that is over stays over (law L6).
func (c KeepTerminal) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a := s.AgentTable.Mut(c.Agent)
	if a == nil {
		return core.Refuse(noun.NotFound, "there is no agent number %d", c.Agent)
	}
	t := a.Typist()
	if t == nil || t.Grant != c.Grant {
		return core.Refuse(noun.Superseded, "this turn at the terminal of %s is over", a.Name)
	}
	next := *t
	next.Until = s.Meta.Clock.Add(noun.TypistSpan)
	if next != *t {
		s.setTypist(a, next)
	}
	return a.Outcome()
}

// Apply ends a turn; it is no error that it is over.
func (c ReleaseTerminal) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	a, no := s.ChangeableAgent(c.Agent, 0)
	if a == nil {
		return no
	}
	if t := a.Typist(); t != nil && (c.Grant == 0 || c.Grant == t.Grant) {
		why := "by " + core.Nobody(c.By)
		if c.By != t.By {
			why += fmt.Sprintf(" from %s", core.Nobody(t.By))
		}
		s.endTyping(a, why)
	}
	return a.Outcome()
}

func (s *State) setTypist(a *noun.Agent, t noun.Typist) {
	a.Note(func(n *noun.Notes) { n.Typist = &t })
	s.excused(a)
}

// endTyping ends the turn of an agent that has one. The limits of the agent run from now on.
func (s *State) endTyping(a *noun.Agent, why string) {
	t := *a.Notes().Typist
	s.Event("agent.terminal_released", core.About{Agent: a, Task: a.Task, Host: a.Host},
		fmt.Sprintf("%s, after %s", why, s.Since(t.At)))
	t.Grant, t.Until = 0, s.Meta.Clock
	s.setTypist(a, t)
}

// endTurn ends a turn in which no key has come for too long.
func (s *State) endTurn(a *noun.Agent) {
	if row := s.typistRow(a); row.Due(s.Meta.Clock) {
		s.endTyping(a, fmt.Sprintf("from %s: no key for %s", core.Nobody(a.Typist().By), noun.TypistSpan))
	}
}

// lifeOver ends the turn at a terminal that is gone.
func (s *State) lifeOver(a *noun.Agent) {
	t := a.Notes().Typist
	if t == nil || a.Typist() != nil {
		return
	}
	if t.Grant != 0 {
		s.Event("agent.terminal_released", core.About{Agent: a},
			fmt.Sprintf("from %s: life %s has ended, after %s", core.Nobody(t.By), t.Inc, s.Since(t.At)))
	}
	if t.Inc != a.Inc || !a.Proc.Fenced() {
		a.Note(func(n *noun.Notes) { n.Typist = nil })
	}
}

// Check tests what a single state can show of turns at terminals.
func (v *View) Check(c *core.Checker) {
	for _, a := range v.AgentTable.From(0) {
		t := a.Notes().Typist
		if t == nil {
			continue
		}
		c.That(t.Inc == a.Inc && a.Proc.Fenced(), "L6: %s has a turn at the terminal of life %s", t.By, t.Inc)
		c.That(t.Grant <= v.Meta.Index && t.At <= v.Meta.Clock && t.Until <= v.Meta.Clock.Add(noun.TypistSpan),
			"L1: the turn at the terminal of %s is %+v", a.Name, *t)
	}
}
