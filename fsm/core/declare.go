package core

import (
	"time"
	"unicode/utf8"

	"vigil/fsm/noun"
)

// Declare is what an incarnation says of its own condition; each one is also a health
// report.
type Declare struct {
	Speaker
	Status  noun.DeclaredStatus
	Waiting noun.Waiting
	// For is how long it holds: 0 exactly for what has no end of its own (healthy,
	// degraded, busy without an end), at most what DeclareLimit of State allows.
	For  time.Duration
	Text string // for people, at most MaxReason bytes; never in a server's log
	// Seq numbers the declarations of a life: one that is not above the last is
	// answered and changes nothing. 0: not numbered.
	Seq uint64
}

// Apply takes note of what an incarnation says of itself. It touches nothing that
// indexes, starts or orders depend on, and no revision: a report every 30 s must not
// make a human's change a conflict.
func (c Declare) Apply(s *State) noun.Outcome {
	a, no := s.Present(&c.Speaker)
	if a == nil {
		return no
	}
	if no := s.checkDeclare(&c); no.Code != noun.OK {
		return no
	}
	now, old, out := s.Meta.Clock, a.Declared, a.Outcome()
	out.Rev = a.Rev
	if old != nil && c.Seq != 0 && c.Seq <= old.Seq {
		out.Count = 1
		return out
	}
	d := &noun.Declaration{Status: c.Status, Waiting: c.Waiting, Text: c.Text, Seq: c.Seq, At: now, Since: now}
	same := c.Status == noun.StatusHealthy && c.Waiting == noun.WaitingNone
	if old != nil {
		same = old.Status == d.Status && old.Waiting == d.Waiting
		d.Seq = max(d.Seq, old.Seq)
		d.Excused = min(old.Excused, now)
	}
	if same && old != nil {
		d.Since = old.Since
	}
	switch asks := c.Waiting == noun.WaitingInput && s.Level() >= LevelRetry; {
	case asks && old.Asks(now): // it still waits
		d.Since, d.Called = old.Since, old.Called
	case asks: // what has lapsed was another question
		d.Since = now
	}
	if c.For > 0 {
		d.Until = now.Add(c.For)
		d.Excused = d.Until
	}
	if !same || c.For > 0 {
		s.Hooks.AgentSpoke.Call(a)
	}
	a.Declared = d
	s.Touch(a.Room)
	s.Hooks.AgentExcused.Call(a)
	if a.Shows(noun.PromptPermission) || s.Level() >= LevelRetry {
		// a human may have to be called earlier now, or its start limit may end earlier
		s.Rearm(TimerAgent, uint64(a.ID), &a.Armed, s.AgentRow(a))
	}
	if !same {
		text := d.Kind()
		if c.For > 0 {
			text += " for " + c.For.String()
		}
		s.Event("agent.declared", About{Agent: a, Task: a.Task}, text)
	}
	if t := s.TaskTable.Mut(a.Task); t != nil { // its progress limit may end earlier now
		s.Rearm(TimerTask, uint64(t.ID), &t.Armed, s.TaskRow(t))
	}
	return out
}

func (v *View) checkDeclare(c *Declare) noun.Outcome {
	limit, which := v.Meta.Settings.DeclareLimit, "setting declare_limit"
	if c.Waiting == noun.WaitingInput {
		limit, which = noun.NeedsInputLimit, "the limit for needs_input"
	}
	switch {
	case c.Status > noun.StatusDegraded || c.Waiting > noun.WaitingTool:
		return Refuse(noun.Invalid, "status or waiting has a value that this server does not know")
	case c.For < 0:
		return Refuse(noun.Invalid, "for is %s; it cannot be negative", c.For)
	case c.Waiting != noun.WaitingNone && c.For == 0:
		return Refuse(noun.Invalid, "%s needs an end: say for how long, at most %s (%s)", c.Waiting, limit, which)
	case c.Waiting == noun.WaitingNone && c.Status != noun.StatusBusy && c.For != 0:
		return Refuse(noun.Invalid, "%s has no end: for goes with busy, needs_input, sleeping and in_tool", c.Status)
	case c.For > limit:
		return Refuse(noun.Invalid,
			"%s is too long: at most %s is allowed (%s); declare it again before it lapses", c.For, limit, which)
	case len(c.Text) > noun.MaxReason:
		return Refuse(noun.Invalid, "the text has %d bytes, at most %d are allowed", len(c.Text), noun.MaxReason)
	case !utf8.ValidString(c.Text):
		return Refuse(noun.Invalid, "the text must be valid UTF-8")
	}
	return noun.Outcome{}
}
