package fsm

import "vigil/fsm/noun"

// OpenSession gives out a session id.
type OpenSession struct{ Client string }

func (c OpenSession) Apply(s *State) noun.Outcome {
	if len(c.Client) > noun.MaxName*4 {
		return refuse(noun.Invalid, "client name has %d bytes, at most %d are kept", len(c.Client), noun.MaxName*4)
	}
	if n, most := uint64(s.sessions.Len()), s.meta.Settings.Budget.MaxSessions; n >= most {
		return tooMany("sessions of clients", n, most, purseSays[noun.ForSessions].remedy, "max_sessions")
	}
	bytes := noun.CostOfSession(&noun.Session{Client: c.Client})
	if no := s.afford(noun.ForSessions, 0, bytes, 0); no.Code != noun.OK {
		return no
	}
	id := s.meta.NextSession
	s.meta.NextSession++
	ss := s.sessions.Put(id)
	ss.ID, ss.Client, ss.Used = id, c.Client, s.meta.Clock
	s.rearm(timerSession, uint64(id), &ss.Armed, s.meta.Clock.Add(s.meta.Settings.SessionTTL))
	return noun.Outcome{Session: id}
}

// CloseSession forgets the session that it is written in, and its answers.
type CloseSession struct{}

// Apply leaves nothing of the session.
func (CloseSession) Apply(s *State) noun.Outcome {
	if ss := s.sessions.Mut(s.session); ss != nil {
		s.rearm(timerSession, uint64(ss.ID), &ss.Armed, 0)
		s.sessions.Del(ss.ID)
	}
	return noun.Outcome{}
}
