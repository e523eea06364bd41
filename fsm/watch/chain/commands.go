package chain

import (
	"vigil/fsm/core"
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
	core.Speaker
	Cycle     uint64
	Action    string // a name, or empty
	Healthy   uint32
	Unhealthy uint32
}

// LookAtOverseer begins a look now, by a human's word.
type LookAtOverseer struct{ Agent, By string }

// AnswerLook completes a task with a result that is a decision. The door has read it, so that
// no state machine parses what an agent says. The decision counts where the task is a look; for
// any other task this is a CompleteTask.
type AnswerLook struct {
	core.CompleteTask
	Decision noun.Decision
	Reason   string // at most noun.MaxTriageWhy bytes of UTF-8
}

// HandOver leaves a mail to the next life of an overseer, which gets it before any other,
// and orders that life: both or neither.
type HandOver struct {
	core.Speaker
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

// Overseers yields the overseers by number, from behind after on.
func (v *View) Overseers(after noun.AgentID) func(yield func(noun.AgentID) bool) {
	return func(yield func(noun.AgentID) bool) {
		if v.overseers.BTreeG != nil {
			v.overseers.Ascend(after+1, yield)
		}
	}
}

// SaysNew of a patrol: it is another than the last one.
func (c ReportPatrol) SaysNew(_ *core.View, a *noun.Agent) bool {
	return c.Cycle == 0 || a.Patrols() == 0 || c.Cycle != a.Notes().Chain.Cycle
}
