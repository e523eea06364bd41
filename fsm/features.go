package fsm

import "vigil/fsm/noun"

// install hangs the features of supervision on the core, in the order in which they are told what
// has happened. A feature goes by deleting its lines here and its folder.
func install(s *State) {
	h := s.hooks
	s.installMail(h)
	s.installScreens(h)
	s.installSilence(h)
	s.installChain(h)
	s.installLadder(h)
	s.installEscalations(h)
}

func (s *State) installMail(h *Hooks) {
	h.AgentGoes.Add(func(a *noun.Agent) { s.dropMailbox(a.ID) })
	h.SettingsPut.Add(s.rearmMail)
	h.Index.Add(func(struct{}) { s.indexMails() })
	h.Timers[timerMail] = func(id uint64) { s.fireMail(noun.MailID(id)) }
	h.Mail, h.Unread = s.letter, s.unread
	h.Recall.Add(s.recallMail)
	h.Relief[noun.ForMail] = s.mailRelief
}

func (s *State) installScreens(h *Hooks) {
	h.SettingsPut.Add(s.rearmPrompts)
	h.AgentDue = append(h.AgentDue, s.promptDeadline)
	h.AgentFires.Add(s.callForPrompt)
}

func (s *State) installSilence(h *Hooks) {
	h.AgentChanged.Add(s.reviewExcuse)
	h.AgentExcused.Add(s.reviewExcuse)
	h.RoomTouched.Add(s.noteActivity)
	h.RoomChanged.Add(s.placeRoom)
	h.RoomOpened.Add(s.openRoom)
	h.RoomGoes.Add(func(id noun.RoomID) { delete(s.silences, id) })
	h.SettingsPut.Add(func(Put) { s.placeOwn() })
	h.Resumed.Add(func(struct{}) { s.quietSince() })
	h.Index.Add(func(struct{}) { s.indexRooms() })
}

func (s *State) installChain(h *Hooks) {
	h.AgentChanged.Add(s.followOverseer)
	h.AgentGoes.Add(s.loseOverseer)
	h.TaskMoved.Add(s.followLook)
	h.RoleGoes.Add(s.endLooks)
	h.MailChanged.Add(s.followMail)
	h.SettingsPut.Add(func(Put) { s.reviewOverseers() })
	h.Settled.Add(func(struct{}) { s.concludeLooks() })
	h.Index.Add(func(struct{}) { s.indexChain() })
	h.Timers[timerChain] = func(id uint64) { s.fireChain(noun.AgentID(id)) }
}

func (s *State) installLadder(h *Hooks) { h.AgentSpoke.Add(s.answer) }

func (s *State) installEscalations(h *Hooks) {
	h.SettingsPut.Add(func(Put) { s.rearmReminders() })
	h.Index.Add(func(struct{}) { s.indexEscalations() })
	h.Timers[timerEscalation] = func(id uint64) { s.fireEscalation(noun.EscalationID(id)) }
	h.Human.Add(s.escalate)
}
