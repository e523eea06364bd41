package mail

import (
	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is the mail of a state that goes on: it sends, hands over, reminds and forgets.
type State struct {
	*core.State
	View
}

// View reads the mail of a state.
type View struct {
	core.Base
	boxes  map[noun.AgentID]*mailbox
	sentBy *btree.BTreeG[sentMail]
	ended  core.Ended[noun.MailID] // closed mails, in the cluster and by room
}

// Install hangs mail on the core.
func Install(c *core.State) *State {
	s := &State{c, View{Base: core.Base{View: &c.View}}}
	s.reset(struct{}{})
	h := core.Attach(c, s)
	h.AgentRows = append(h.AgentRows, s.boxRows)
	h.AgentGoes.Add(s.dropMailbox)
	h.SettingsPut.Add(s.rearmMail)
	h.Calls = append(h.Calls, s.calls)
	h.MailChanged.Add(s.lookAt)
	h.LevelRaised.Add(func(uint32) { s.lookAtAll() })
	h.Reset.Add(s.reset)
	h.Index.Add(s.index)
	h.Timers[core.TimerMail] = func(id uint64) { s.fireMail(noun.MailID(id)) }
	h.Mail, h.Unread = s.letter, s.unread
	h.Recall.Add(s.recallMail)
	h.Relief[noun.ForMail] = s.relief
	h.Lasts[noun.EscMailUnanswered] = s.unanswered
	return s
}

func (s *State) reset(struct{}) {
	s.boxes, s.sentBy, s.ended = map[noun.AgentID]*mailbox{}, core.Sorted(lessSent), core.NewEnded[noun.MailID]()
}

func (s *State) index(struct{}) {
	for id, m := range s.MailTable.From(0) {
		s.indexMail(m, +1)
		s.Arm(core.TimerMail, uint64(id), m.Armed)
	}
}
