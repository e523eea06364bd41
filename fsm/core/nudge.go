package core

import (
	"fmt"

	"vigil/fsm/noun"
)

// NoteNudge notes that something is typed into the terminal of an agent's present life
// (which the cluster does not see): an event, and nothing else.
type NoteNudge struct {
	Agent  string // room/role or room/role.2
	By     string
	Reason string
	IfRev  uint64 // 0: whatever it is now
}

// Apply says who wakes an agent. One that does not run hears nothing, and what was meant for one that has
// changed since is not for this one.
func (c NoteNudge) Apply(s *State) noun.Outcome {
	a, no := s.ChangeableAgent(c.Agent, c.IfRev)
	switch {
	case a == nil:
		return no
	case a.Proc != noun.ProcRunning:
		return Refuse(noun.Conflict, "%s does not run on any host: nobody would read it", a.Name)
	case a.Typist() != nil:
		return Refuse(noun.Conflict, "%s", s.TypedText(a))
	}
	why := "by " + Nobody(c.By)
	if c.Reason != "" {
		why += ": " + noun.Clip(c.Reason, noun.MaxReason)
	}
	s.Event("agent.nudged", About{Agent: a, Task: a.Task, Host: a.Host}, why)
	return a.Outcome()
}

// TypedText says who has the terminal of an agent that somebody has.
func (v *View) TypedText(a *noun.Agent) string {
	t := a.Typist()
	return fmt.Sprintf("%s types at the terminal of %s since %s; it is free when that is given back, at the latest %s "+
		"after the last key", Nobody(t.By), a.Name, v.Since(t.At), noun.TypistSpan)
}
