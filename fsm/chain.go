package fsm

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// The watchdog chain: overseers are agents that watch others and report their
// patrols; vigil looks at them every overseer_interval and on events, and decides by
// Decide, the mechanical rule, or by the answer of a triage agent that was started for that
// one look. A look is a timer of the state, so no server and no agent can hang between a
// look that is due and its decision, and a change of leader neither loses nor doubles one.

// ReportPatrol says that an overseer has been round. Saying the same cycle again changes
// nothing; cycle 0 is the next one.
type ReportPatrol struct {
	Speaker
	Cycle     uint64
	Action    string // a name, or empty
	Healthy   uint32
	Unhealthy uint32
}

// LookAtOverseer begins a look now, by a human's word.
type LookAtOverseer struct{ Agent, By string }

// HandOver leaves a mail to the next life of an overseer, which gets it before any other,
// and orders that life: both or neither.
type HandOver struct {
	Speaker
	Subject, Body string
}

// ProdOverseer takes what a decision has to be typed, before it is: so it is typed at most
// once, whoever leads. The outcome's Count is 1 when it is no longer worth typing. By the
// leader.
type ProdOverseer struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	At    noun.Time // of the decision
}

// NoteProd says that nothing could be typed.
type NoteProd struct {
	Agent  noun.AgentID
	Inc    noun.Incarnation
	Reason string // fixed words of vigil or tmux, nothing of a task or a mail
}

// OverseerFacts are all that the mechanical rule goes by.
type OverseerFacts struct {
	Dead      bool          // no process, no start that is ordered, not in its room
	Patrolled bool          // in this life
	Age       time.Duration // of the last patrol; without one, of the life
	Mail      int           // that it has not read
	Fresh     time.Duration
	Stale     time.Duration
}

// Decide is the mechanical rule. It reads nothing but these facts.
func Decide(f *OverseerFacts) noun.Decision {
	switch {
	case f.Dead:
		return noun.DecideStart
	case f.Age > f.Stale:
		return noun.DecideWake
	case f.Age >= f.Fresh && f.Mail > 0:
		return noun.DecideNudge
	}
	return noun.DecideNothing
}

// Freshness is how old the last patrol is in words.
func (f *OverseerFacts) Freshness() string {
	switch {
	case f.Age > f.Stale:
		return "very_stale"
	case f.Age >= f.Fresh:
		return "stale"
	}
	return "fresh"
}

// words are the facts for people.
func (f *OverseerFacts) words() string {
	if f.Dead {
		return fmt.Sprintf("its session is dead, %d mails wait", f.Mail)
	}
	patrol := "its last patrol was " + f.Age.Round(time.Second).String() + " ago"
	if !f.Patrolled {
		patrol = "its life began " + f.Age.Round(time.Second).String() + " ago and has reported no patrol"
	}
	return fmt.Sprintf("its session lives, %s, %d mails wait", patrol, f.Mail)
}

// Overseer gives what makes the agent an overseer; nil: it is none.
func (v *View) Overseer(a *noun.Agent) *noun.OverseerSpec {
	r := v.roles.Get(a.Role)
	if r == nil || len(r.Spec.Overseer) == 0 {
		return nil
	}
	return &r.Spec.Overseer[0]
}

// Overseers yields the overseers by number, from behind after on.
func (v *View) Overseers(after noun.AgentID) func(yield func(noun.AgentID) bool) {
	return func(yield func(noun.AgentID) bool) {
		if v.overseers.BTreeG != nil {
			v.overseers.Ascend(after+1, yield)
		}
	}
}

// OverseerFacts gathers what is known of an overseer now.
func (v *View) OverseerFacts(a *noun.Agent) OverseerFacts {
	f := OverseerFacts{Dead: !a.Lives() && a.Proc != noun.ProcOrdered, Fresh: v.meta.Settings.Chain.Fresh, Stale: v.meta.Settings.Chain.Stale}
	if spec := v.Overseer(a); spec != nil {
		if spec.Fresh > 0 {
			f.Fresh = spec.Fresh
		}
		if spec.Stale > 0 {
			f.Stale = spec.Stale
		}
	}
	f.Patrolled = a.Patrols() > 0
	f.Age = max(0, v.meta.Clock.Sub(v.patrolled(a)))
	f.Mail, _ = v.chainMail(a)
	return f
}

// patrolled is since when a patrol is awaited: the last one of this life, its beginning, or
// the end of what explains its silence (excusedUntil); the time in which its host was not heard
// is left out, since it may have been frozen.
func (v *View) patrolled(a *noun.Agent) noun.Time {
	at := a.StartedAt
	if a.Patrols() > 0 {
		at = max(at, a.Notes().Chain.PatrolAt)
	}
	at = max(at, min(a.ExcusedUntil(), v.meta.Clock))
	return at.Add(v.absent(a, at))
}

// chainMail counts the mail that waits for the overseer, and tells since when the oldest
// does. What vigil itself has written is not counted: else one nudge would ask for the next.
func (v *View) chainMail(a *noun.Agent) (n int, oldest noun.Time) {
	for _, m := range v.hooks.unread(a) {
		if m.FromInc != 0 || m.From != noun.LaddersBy && m.From != noun.WatchedBy {
			if n++; n == 1 {
				oldest = m.SentAt
			}
		}
	}
	return n, oldest
}

// SaysNew of a patrol: it is another than the last one.
func (c ReportPatrol) SaysNew(_ *View, a *noun.Agent) bool {
	return c.Cycle == 0 || a.Patrols() == 0 || c.Cycle != a.Notes().Chain.Cycle
}
