package chain

import (
	"vigil/fsm/core"
	"vigil/fsm/evidence"
	"vigil/fsm/noun"
)

// State is the watchdog chain of a state that goes on: it looks at overseers, asks triage and
// decides.
type State struct {
	*core.State
	View
	looked []noun.TaskID // looks that ended in what is being applied; empty between entries
	said   AnswerLook    // what is being applied, when it has a decision; empty between entries
}

// View reads what is known of overseers.
type View struct {
	evidence.View
	overseers core.IdSet                   // agents of roles of overseers
	looks     map[noun.TaskID]noun.AgentID // tasks that ask triage about an overseer
}

// Install hangs the watchdog chain on the core.
func Install(c *core.State) *State {
	s := &State{State: c, View: View{View: evidence.View{Base: core.Base{View: &c.View}}}}
	s.reset(struct{}{})
	h := core.Attach(c, s)
	h.AgentChanged.Add(s.followOverseer)
	h.AgentGoes.Add(s.loseOverseer)
	h.TaskMoved.Add(s.followLook)
	h.RoleGoes.Add(s.endLooks)
	h.MailChanged.Add(s.followMail)
	h.SettingsPut.Add(func(core.Put) { s.reviewOverseers() })
	h.Settled.Add(func(struct{}) { s.concludeLooks() })
	h.Reset.Add(s.reset)
	h.Index.Add(s.index)
	h.Timers[core.TimerChain] = func(id uint64) { s.fireChain(noun.AgentID(id)) }
	h.Lasts[noun.EscOverseerDown] = func(e *noun.Escalation) bool {
		a := s.AgentByName(e.Agent)
		return a != nil && s.Overseer(a) != nil && !a.Lives() && s.chainOff(a) == ""
	}
	return s
}

func (s *State) reset(struct{}) {
	s.overseers, s.looks = core.IdSet{}, map[noun.TaskID]noun.AgentID{}
	s.looked, s.said = nil, AnswerLook{}
}

func (s *State) index(struct{}) {
	for id, a := range s.AgentTable.From(0) {
		s.overseers.Put(a.ID, s.Overseer(a) != nil)
		if c := a.Notes().Chain; c != nil {
			s.Arm(core.TimerChain, uint64(id), c.Armed)
			if c.Task != 0 {
				s.looks[c.Task] = a.ID
				s.SetAside(c.Task)
			}
		}
	}
}
