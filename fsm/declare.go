package fsm

import (
	"time"
	"unicode/utf8"
)

// DeclaredStatus is how an agent says it is.
type DeclaredStatus uint8

// Declared statuses. The numbers are written to disk.
const (
	StatusHealthy  DeclaredStatus = iota
	StatusBusy                    // at work, and slow to answer
	StatusDegraded                // at work, with difficulties
)

var declaredNames = [...]string{"healthy", "busy", "degraded"}

func (d DeclaredStatus) String() string { return declaredNames[d] }

// Waiting is what an agent says it waits for.
type Waiting uint8

// What agents wait for. The numbers are written to disk.
const (
	WaitingNone  Waiting = iota
	WaitingInput         // a human's answer
	WaitingUntil         // a time: its tool is out of quota, a window is not open yet
	WaitingTool          // the end of a long call of a tool
)

var waitingNames = [...]string{"none", "needs_input", "parked", "in_tool"}

func (w Waiting) String() string { return waitingNames[w] }

// StatusNames are the words for how an agent says it is, by number.
func StatusNames() []string { return declaredNames[:] }

// WaitingNames are the words for what an agent waits for, by number.
func WaitingNames() []string { return waitingNames[:] }

// NeedsInputLimit is how long an agent may declare that it waits for a human:
// longer than for anything else, since humans have weekends.
const NeedsInputLimit = 7 * 24 * time.Hour

// Declaration is what an incarnation has said last of its own condition. It ends with
// the life or with the next one, or lapses at Until; nothing happens then, so it has no
// timer and is judged against the clock.
type Declaration struct {
	Status  DeclaredStatus
	Waiting Waiting
	Text    string
	Seq     uint64
	At      Time // of the last report
	Since   Time // of the first report that said the same
	Until   Time // when it lapses; 0: it has no end of its own
	// Excused is until when nobody expects progress or reports: the clocks of both run
	// from here at the earliest. It is Until, or when a later declaration ended that.
	Excused Time
}

// Holds tells whether the agent has declared something with an end that is not over:
// it is busy, parked, in a tool or waits for a human, and silence means nothing.
func (d *Declaration) Holds(now Time) bool { return d != nil && d.Until > now }

// Kind is the declaration in one word, as it was said: what it waits for, else how it is.
func (d *Declaration) Kind() string {
	if d.Waiting != WaitingNone {
		return d.Waiting.String()
	}
	return d.Status.String()
}

// declare takes note of what an incarnation says of itself. It touches nothing that
// indexes, starts or orders depend on, and no revision: a report every 30 s must not
// make a human's change a conflict.
func (s *State) declare(c *Declare) Outcome {
	a, no := s.present(&c.Speaker)
	if a == nil {
		return no
	}
	if no := s.checkDeclare(c); no.Code != OK {
		return no
	}
	now, old, out := s.meta.Clock, a.Declared, a.outcome()
	out.Rev = a.Rev
	if old != nil && c.Seq != 0 && c.Seq <= old.Seq {
		out.Count = 1
		return out
	}
	d := &Declaration{Status: c.Status, Waiting: c.Waiting, Text: c.Text, Seq: c.Seq, At: now, Since: now}
	same := c.Status == StatusHealthy && c.Waiting == WaitingNone
	if old != nil {
		same = old.Status == d.Status && old.Waiting == d.Waiting
		d.Seq = max(d.Seq, old.Seq)
		d.Excused = min(old.Excused, now)
	}
	if same && old != nil {
		d.Since = old.Since
	}
	if c.For > 0 {
		d.Until = now.Add(c.For)
		d.Excused = d.Until
	}
	if !same || c.For > 0 {
		s.answer(a)
	}
	a.Declared = d
	s.touch(a.Room)
	s.reviewExcuse(a)
	if a.shows(PromptPermission) { // a human may have to be called earlier now
		s.rearm(timerAgent, uint64(a.ID), &a.Armed, s.agentDeadline(a))
	}
	if !same {
		text := d.Kind()
		if c.For > 0 {
			text += " for " + c.For.String()
		}
		s.event("agent.declared", about{agent: a, task: a.Task}, text)
	}
	if t := s.tasks.Mut(a.Task); t != nil { // its progress limit may end earlier now
		s.rearm(timerTask, uint64(t.ID), &t.Armed, s.taskDeadline(t))
	}
	return out
}

func (v *View) checkDeclare(c *Declare) Outcome {
	limit, which := v.meta.Settings.DeclareLimit, "setting declare_limit"
	if c.Waiting == WaitingInput {
		limit, which = NeedsInputLimit, "the limit for needs_input"
	}
	switch {
	case c.Status > StatusDegraded || c.Waiting > WaitingTool:
		return refuse(Invalid, "status or waiting has a value that this server does not know")
	case c.For < 0:
		return refuse(Invalid, "for is %s; it cannot be negative", c.For)
	case c.Waiting != WaitingNone && c.For == 0:
		return refuse(Invalid, "%s needs an end: say for how long, at most %s (%s)", c.Waiting, limit, which)
	case c.Waiting == WaitingNone && c.Status != StatusBusy && c.For != 0:
		return refuse(Invalid, "%s has no end: for goes with busy, needs_input, parked and in_tool", c.Status)
	case c.For > limit:
		return refuse(Invalid, "%s is too long: at most %s is allowed (%s); declare it again before it lapses", c.For, limit, which)
	case len(c.Text) > MaxReason:
		return refuse(Invalid, "the text has %d bytes, at most %d are allowed", len(c.Text), MaxReason)
	case !utf8.ValidString(c.Text):
		return refuse(Invalid, "the text must be valid UTF-8")
	}
	return Outcome{}
}

// excusedUntil is until when nobody expects anything of an agent: by its own word, or because
// of the prompt that its host sees.
func (a *Agent) excusedUntil() Time {
	if a.Declared == nil {
		return a.screenExcuse()
	}
	return max(a.Declared.Excused, a.screenExcuse())
}

// excused is until when nobody expects progress of a task, because of its holder.
func (v *View) excused(t *Task) Time {
	a := v.agents.Get(t.Holder)
	if a == nil || a.Task != t.ID {
		return 0
	}
	return a.excusedUntil()
}
