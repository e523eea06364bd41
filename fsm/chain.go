package fsm

import (
	"fmt"
	"time"
)

// The watchdog chain (seed 004): overseers are agents that watch others and report their
// patrols; vigil looks at them every overseer_interval and on events, and decides by
// Decide, the mechanical rule, or by the answer of a triage agent that was started for that
// one look. A look is a timer of the state, so no server and no agent can hang between a
// look that is due and its decision, and a change of leader neither loses nor doubles one.

// Limits of what overseers say.
const (
	MaxPatrolAction = 64  // of a name
	MaxTriageWhy    = 512 // of a triage agent's reason; the rest is cut
)

// HandOverKind is the kind of the mail that a life leaves to the next one.
const HandOverKind = "handover"

const (
	// maxOverruled is how often in a row triage may say less than the mechanical rule.
	maxOverruled = 3
	// maxStarts is how many looks in a row find an overseer dead before a human is called.
	maxStarts = 3
	// lookPriority puts looks before other tasks of a triage role.
	lookPriority = 1000
)

// OverseerSpec makes a role one of overseers.
type OverseerSpec struct {
	Triage       string        // role of the same room whose agents answer looks; empty: the mechanical rule alone
	HandoffAfter uint32        // patrols of one life after which a hand-over is due; 0: never
	Fresh        time.Duration // as overseer_fresh and overseer_stale; 0: those
	Stale        time.Duration
}

// ChainSettings are those of the watchdog chain.
type ChainSettings struct {
	Enabled     bool
	Interval    time.Duration // between looks at one overseer (seed 004, Daemon Heartbeat)
	Fresh       time.Duration // a patrol younger than this is fresh (seed 004, Heartbeat Freshness)
	Stale       time.Duration // one older than this is very stale
	TriageLimit time.Duration // for the answer of triage: the life of its marker
}

// Decision is what a look ends with, from the least to the most. The numbers are written
// to disk.
type Decision uint8

// Decisions of seed 004, Boot Decision Matrix.
const (
	DecideNothing Decision = iota
	DecideNudge
	DecideWake
	DecideStart
)

var decisionNames = [...]string{"NOTHING", "NUDGE", "WAKE", "START"}

func (d Decision) String() string {
	if int(d) < len(decisionNames) {
		return decisionNames[d]
	}
	return "UNKNOWN"
}

// DecisionNames are the words for decisions, by number.
func DecisionNames() []string { return decisionNames[:] }

// Decider tells who has decided. The numbers are written to disk.
type Decider uint8

// Deciders.
const (
	ByNobody Decider = iota // no look has ended yet
	ByRule
	ByTriage
)

var deciderNames = [...]string{"none", "mechanical", "triage"}

func (d Decider) String() string { return deciderNames[d] }

// Chain is what is known of an overseer and of the looks at it. It is replaced, never
// changed.
type Chain struct {
	Since Time // when it became an overseer
	Armed Time // when its timer is set; 0: none

	// The patrols of life Inc, which need not be the present one.
	Inc       Incarnation
	PatrolAt  Time
	Patrols   uint32
	Cycle     uint64 // as the overseer counts
	Action    string // a name
	Healthy   uint32
	Unhealthy uint32

	// The last look. While Task is not 0 it waits for triage: Task is the marker that makes
	// a second look impossible.
	LookAt Time // of its beginning, or of a turn at which none was due
	Task   TaskID
	Asked  string // the human who asked for it; empty: its turn or an event

	// The last decision.
	Decision  Decision
	By        Decider
	DecidedAt Time
	Facts     string // in fixed words
	Degraded  string // why the rule has decided although the role names a triage; fixed words
	Act       string // what followed, in fixed words
	Why       string // what triage says; for people who ask, in no event

	WokenAt   Time   // of the last WAKE that was carried out; 0: none
	Prod      Time   // DecidedAt of what is still to be typed; 0: nothing is
	Mail      MailID // what the chain wrote to it last
	Overruled uint32 // looks in a row in which triage has said less than the rule
	Starts    uint32 // looks in a row that have found it dead
}

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
	Agent AgentID
	Inc   Incarnation
	At    Time // of the decision
}

// NoteProd says that nothing could be typed.
type NoteProd struct {
	Agent  AgentID
	Inc    Incarnation
	Reason string // fixed words of vigil or tmux, nothing of a task or a mail
}

func (ReportPatrol) command()   {}
func (LookAtOverseer) command() {}
func (HandOver) command()       {}
func (ProdOverseer) command()   {}
func (NoteProd) command()       {}

// longestPatrol bounds what a role may set for its overseers.
const longestPatrol = 7 * 24 * time.Hour

// checkOverseer tells what is wrong with a role of overseers.
func checkOverseer(r *RoleSpec) error {
	if len(r.Overseer) == 0 {
		return nil
	}
	o := &r.Overseer[0]
	if o.Triage != "" {
		if err := CheckName(o.Triage); err != nil {
			return fmt.Errorf("overseer: triage: %w", err)
		}
	}
	switch {
	case len(r.Overseer) > 1:
		return fmt.Errorf("overseer: it is given %d times", len(r.Overseer))
	case r.Start != StartAlways:
		return fmt.Errorf("overseer: an overseer is started always, not on demand")
	case o.Triage == r.Name:
		return fmt.Errorf("overseer: triage: who hangs cannot see it; name another role than %q", r.Name)
	case o.Fresh < 0 || o.Fresh > longestPatrol || o.Stale < 0 || o.Stale > longestPatrol:
		return fmt.Errorf("overseer: fresh %s or stale %s is out of range, 0 to %s is allowed", o.Fresh, o.Stale, longestPatrol)
	}
	return nil
}

// executeChain runs what concerns overseers.
func (s *State) executeChain(c Command) Outcome {
	switch c := c.(type) {
	case ReportPatrol:
		return s.reportPatrol(&c)
	case LookAtOverseer:
		return s.lookAtOverseer(&c)
	case HandOver:
		return s.handOver(&c)
	case ProdOverseer:
		return s.prodOverseer(&c)
	case NoteProd:
		return s.noteProd(&c)
	}
	panic("fsm: not a command about overseers")
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

// Decide is the mechanical rule (seed 004, Boot Decision Matrix). It reads nothing else.
func Decide(f *OverseerFacts) Decision {
	switch {
	case f.Dead:
		return DecideStart
	case f.Age > f.Stale:
		return DecideWake
	case f.Age >= f.Fresh && f.Mail > 0:
		return DecideNudge
	}
	return DecideNothing
}

// Freshness is how old the last patrol is in words (seed 004, Heartbeat Freshness).
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
func (v *View) Overseer(a *Agent) *OverseerSpec {
	r := v.roles.Get(a.Role)
	if r == nil || len(r.Spec.Overseer) == 0 {
		return nil
	}
	return &r.Spec.Overseer[0]
}

// Overseers yields the overseers by number, from behind after on.
func (v *View) Overseers(after AgentID) func(yield func(AgentID) bool) {
	return func(yield func(AgentID) bool) {
		if v.overseers.BTreeG != nil {
			v.overseers.Ascend(after+1, yield)
		}
	}
}

// OverseerFacts gathers what is known of an overseer now.
func (v *View) OverseerFacts(a *Agent) OverseerFacts {
	f := OverseerFacts{Dead: !a.on() && a.Proc != ProcOrdered, Fresh: v.meta.Settings.Chain.Fresh, Stale: v.meta.Settings.Chain.Stale}
	if spec := v.Overseer(a); spec != nil {
		if spec.Fresh > 0 {
			f.Fresh = spec.Fresh
		}
		if spec.Stale > 0 {
			f.Stale = spec.Stale
		}
	}
	f.Patrolled = a.patrols() > 0
	f.Age = max(0, v.meta.Clock.Sub(v.patrolled(a)))
	f.Mail, _ = v.chainMail(a)
	return f
}

// patrols counts the patrols of the present life.
func (a *Agent) patrols() uint32 {
	if c := a.Notes().Chain; c != nil && c.Inc == a.Inc {
		return c.Patrols
	}
	return 0
}

// useful tells that the life has done something: a task, or a patrol.
func (a *Agent) useful() bool { return a.Done > 0 || a.patrols() > 0 }

// patrolled is since when a patrol is awaited: the last one of this life, its beginning, or
// the end of what explains its silence (excusedUntil); the time in which its host was not heard
// is left out, since it may have been frozen.
func (v *View) patrolled(a *Agent) Time {
	at := a.StartedAt
	if a.patrols() > 0 {
		at = max(at, a.Notes().Chain.PatrolAt)
	}
	at = max(at, min(a.excusedUntil(), v.meta.Clock))
	return at.Add(v.absent(a, at))
}

// chainMail counts the mail that waits for the overseer, and tells since when the oldest
// does. What vigil itself has written is not counted: else one nudge would ask for the next.
func (v *View) chainMail(a *Agent) (n int, oldest Time) {
	for _, id := range v.unread(a) {
		if m := v.mails.Get(id); m.FromInc != 0 || m.From != LaddersBy && m.From != WatchedBy {
			if n++; n == 1 {
				oldest = m.SentAt
			}
		}
	}
	return n, oldest
}
