package escalation

import (
	"strings"

	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is the escalations of a state that goes on: it opens, announces and forgets them.
type State struct {
	*core.State
	View
}

// View reads the escalations of a state.
type View struct {
	core.Base
	byKey   map[escalationKey]noun.EscalationID // the newest about something
	opened  int
	alone   int // of these, not acknowledged
	open    *btree.BTreeG[openEscalation]
	closed  *btree.BTreeG[closedEscalation]
	pending *btree.BTreeG[noun.EscalationID] // with a notice that is to be delivered
}

// Install hangs escalations on the core.
func Install(c *core.State) *State {
	s := &State{c, View{Base: core.Base{View: &c.View}}}
	s.reset(struct{}{})
	h := core.Attach(c, s)
	h.AgentRows = append(h.AgentRows, s.agentRows)
	h.SettingsPut.Add(func(core.Put) { s.rearmReminders() })
	h.Reset.Add(s.reset)
	h.Index.Add(s.index)
	h.Timers[core.TimerEscalation] = func(id uint64) { s.fireEscalation(noun.EscalationID(id)) }
	h.Human.Add(s.escalate)
	h.Over.Add(s.over)
	h.Called = s.called
	h.AgentGoes.Add(s.agentGoes)
	h.TaskMoved.Add(s.taskMoved)
	h.TaskGoes.Add(s.taskGoes)
	h.RoleGoes.Add(s.roleGoes)
	h.RoomGoes.Add(s.roomGoes)
	h.LevelRaised.Add(s.closeGone)
	h.LevelRaised.Add(func(uint32) { s.rearmReminders() })
	h.Lasts[noun.EscRoleFailing] = func(e *noun.Escalation) bool {
		room, role, _ := strings.Cut(e.Subject, "/")
		r := s.RoleByName(room, role)
		return r != nil && r.Half != nil
	}
	h.Lasts[noun.EscTaskFailed] = s.failedLast
	return s
}

func (s *State) reset(struct{}) {
	s.View = View{Base: s.Base, byKey: map[escalationKey]noun.EscalationID{},
		open: core.Sorted(lessOpen), closed: core.Sorted(lessClosed), pending: core.Ordered[noun.EscalationID]()}
}

func (s *State) index(struct{}) {
	for id, e := range s.EscalationTable.From(0) {
		s.indexEscalation(e, +1)
		s.Arm(core.TimerEscalation, uint64(id), e.Armed)
	}
}
