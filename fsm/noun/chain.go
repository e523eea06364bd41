package noun

import (
	"fmt"
	"time"
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
	Interval    time.Duration // between looks at one overseer
	Fresh       time.Duration // a patrol younger than this is fresh
	Stale       time.Duration // one older than this is very stale
	TriageLimit time.Duration // for the answer of triage: the life of its marker
}

// Decision is what a look ends with, from the least to the most. The numbers are written
// to disk.
type Decision uint8

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

// longestPatrol bounds what a role may set for its overseers.
const longestPatrol = 7 * 24 * time.Hour

// CheckOverseer tells what is wrong with a role of overseers.
func CheckOverseer(r *RoleSpec) error {
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
		return fmt.Errorf("overseer: fresh %s or stale %s is out of range, 0 to %s is allowed", o.Fresh,
			o.Stale, longestPatrol)
	}
	return nil
}

// Patrols counts the patrols of the present life.
func (a *Agent) Patrols() uint32 {
	if c := a.Notes().Chain; c != nil && c.Inc == a.Inc {
		return c.Patrols
	}
	return 0
}

// Useful tells that the life has done something: a task, or a patrol.
func (a *Agent) Useful() bool { return a.Done > 0 || a.Patrols() > 0 || a.Notes().Answered > 0 }

const (
	// MaxOverruled is how often in a row triage may say less than the mechanical rule.
	MaxOverruled = 3
	// MaxStarts is how many looks in a row find an overseer dead before a human is called.
	MaxStarts = 3
	// LookPriority puts looks before other tasks of a triage role.
	LookPriority = 1000
)

// What a look at an overseer may decide, the mildest first.
const (
	DecideNothing Decision = iota
	DecideNudge
	DecideWake
	DecideStart
)

// Deciders.
const (
	ByNobody Decider = iota // no look has ended yet
	ByRule
	ByTriage
)
