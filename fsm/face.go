package fsm

import (
	"errors"

	"vigil/fsm/core"
	"vigil/fsm/evidence"
	"vigil/fsm/trust"
	"vigil/fsm/watch/budget"
	"vigil/fsm/watch/chain"
	"vigil/fsm/watch/escalation"
	"vigil/fsm/watch/ladder"
	"vigil/fsm/watch/mail"
	"vigil/fsm/watch/screen"
	"vigil/fsm/watch/silence"
)

// State is the replicated state with all features of supervision. See the package comment for who
// may use it.
type State struct {
	*core.State
	View
}

// View reads the state and has no way to write. It belongs under the lock that guards Apply. What
// its pointers show is good until that lock is given back.
type View struct {
	core.Base
	ofAgents
	*ofMail
	*ofEscalations
	*ofSilence
	*ofLadder
	*ofChain
	*ofTrust
	*ofBudget
	*ofScreen
}

// What features show to readers.
type (
	ofAgents      = evidence.View
	ofMail        = mail.View
	ofEscalations = escalation.View
	ofSilence     = silence.View
	ofLadder      = ladder.View
	ofChain       = chain.View
	ofTrust       = trust.View
	ofBudget      = budget.View
	ofScreen      = screen.View
)

// features are the watchdogs that hang on the core, in the order in which they are told what has
// happened. CONTRIBUTING.md lists what goes with the folder of one.
var features = []struct {
	name    string
	install func(*State)
}{
	{"mail", func(s *State) { s.View.ofMail = &mail.Install(s.State).View }},
	{"screen", func(s *State) { s.View.ofScreen = &screen.Install(s.State).View }},
	{"silence", func(s *State) { s.View.ofSilence = &silence.Install(s.State).View }},
	{"chain", func(s *State) { s.View.ofChain = &chain.Install(s.State).View }},
	{"ladder", func(s *State) { s.View.ofLadder = &ladder.Install(s.State).View }},
	{"budget", func(s *State) { s.View.ofBudget = &budget.Install(s.State).View }},
	{"escalation", func(s *State) { s.View.ofEscalations = &escalation.Install(s.State).View }},
	{"trust", func(s *State) { s.View.ofTrust = &trust.Install(s.State).View }},
}

// New returns the state of a cluster to which nothing has happened yet.
func New() *State { return without("") }

// without leaves out one feature, or "all".
func without(feature string) *State {
	s := &State{State: core.New()}
	s.View.Base = core.Base{View: &s.State.View}
	s.View.ofAgents = ofAgents{Base: s.View.Base}
	for _, f := range features {
		if feature != f.name && feature != "all" {
			f.install(s)
		}
	}
	return s
}

// Outnumber is that of the core: a restored backup hands out no number that the replaced state has.
func (s *State) Outnumber(replaced *View) { s.State.Outnumber(replaced.Base.View) }

// Check tests every law that a single state can show, and that the indexes say
// what the tables say. It walks everything and is meant for tests and for
// inspecting snapshots. The error joins everything that is wrong.
func (v *View) Check() error {
	var c core.Checker
	v.Base.Check(&c)
	if v.ofSilence != nil {
		v.ofSilence.Check(&c)
	}
	if v.ofChain != nil {
		v.ofChain.Check(&c)
	}
	if v.ofLadder != nil {
		v.ofLadder.Check(&c)
	}
	if v.ofMail != nil {
		v.ofMail.Check(&c)
	}
	if v.ofEscalations != nil {
		v.ofEscalations.Check(&c)
	}
	if v.ofTrust != nil {
		v.ofTrust.Check(&c)
	}
	if v.ofBudget != nil {
		v.ofBudget.Check(&c)
	}
	if v.ofScreen != nil {
		v.ofScreen.Check(&c)
	}
	return errors.Join(c.Errs...)
}
