package mail

import (
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// calls tells that mail wants an agent on demand started: it is urgent enough, and no life has got
// it yet. What a life has read and not acknowledged starts no other one, or a reader that answers
// nothing would be started again and again; a human is called for it.
func (v *View) calls(a *noun.Agent) bool {
	wakes := v.Meta.Settings.MailWakes
	if wakes == noun.WakesNever || v.Meta.Level < core.LevelRetry {
		return false
	}
	return slices.ContainsFunc(v.boxes[a.ID].list(false), func(id noun.MailID) bool {
		m := v.MailTable.Get(id)
		return m.State == noun.MailQueued && wakes.Wakes(m.Priority) && !passedOver(a, m) && !v.ownWords(a, m)
	})
}

// passedOver tells that the last life of an agent began with the mail in its box and ended by
// itself without having read it. The next one would do the same.
func passedOver(a *noun.Agent, m *noun.Mail) bool {
	x := a.LastExit
	return x != nil && x.Kind == noun.ExitClean && x.Inc == a.Inc && a.StartedAt > m.SentAt
}

// ownWords tells that a mail starts nobody whatever its priority: a hand-over, and what vigil itself
// asks of those that live.
func (v *View) ownWords(a *noun.Agent, m *noun.Mail) bool {
	return v.handover(a, m) || m.FromInc == 0 && (m.From == noun.LaddersBy || m.From == noun.WatchedBy)
}

// lookAt looks again whether mail calls for an agent.
func (s *State) lookAt(id noun.AgentID) {
	if a := s.AgentTable.Get(id); a != nil {
		s.Want(a)
	}
}

// lookAtAll does so for everybody who may have mail.
func (s *State) lookAtAll() {
	for _, a := range s.AgentTable.From(0) {
		if len(s.boxes[a.ID].list(false)) > 0 {
			s.Want(a)
		}
	}
}
