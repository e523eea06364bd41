package core

import (
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// OpenSession gives out a session id.
type OpenSession struct{ Client string }

func (c OpenSession) Apply(s *State) noun.Outcome {
	if len(c.Client) > noun.MaxName*4 {
		return Refuse(noun.Invalid, "client name has %d bytes, at most %d are kept", len(c.Client), noun.MaxName*4)
	}
	if n, most := uint64(s.SessionTable.Len()), s.Meta.Settings.Budget.MaxSessions; n >= most {
		return TooMany("sessions of clients", n, most, purseSays[noun.ForSessions].remedy, "max_sessions")
	}
	bytes := noun.CostOfSession(&noun.Session{Client: c.Client})
	if no := s.Afford(noun.ForSessions, 0, bytes, 0); no.Code != noun.OK {
		return no
	}
	id := s.Meta.NextSession
	s.Meta.NextSession++
	ss := s.SessionTable.Put(id)
	ss.ID, ss.Client, ss.Used = id, c.Client, s.Meta.Clock
	s.Rearm(timerSession, uint64(id), &ss.Armed, s.sessionRow(ss))
	return noun.Outcome{Session: id}
}

// CloseSession forgets the session that it is written in, and its answers.
type CloseSession struct{}

// Apply leaves nothing of the session.
func (CloseSession) Apply(s *State) noun.Outcome {
	if ss := s.SessionTable.Mut(s.session); ss != nil {
		s.Rearm(timerSession, uint64(ss.ID), &ss.Armed, due.Row{})
		s.SessionTable.Del(ss.ID)
	}
	return noun.Outcome{}
}
