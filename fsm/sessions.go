package fsm

import (
	"slices"
	"time"
)

// RepeatLimit is how long clients may repeat a write under its number.
const RepeatLimit = 5 * time.Minute

// MinSessionTTL is the shortest time after which a session may be forgotten: longer than any
// repetition, or a write that was done and never answered would be done again in a new session
// (law L8). Cluster time never runs faster than a client's clock.
const MinSessionTTL = RepeatLimit + time.Minute

func (ss *Session) answer(seq uint64) (Outcome, bool) {
	for i := range ss.Answers {
		if ss.Answers[i].Seq == seq {
			return ss.Answers[i].Out, true
		}
	}
	return Outcome{}, false
}

// remember keeps an answer in the place of the one that is AnswersKept older.
func (ss *Session) remember(seq uint64, out Outcome) {
	ss.Max = max(ss.Max, seq)
	out.Detail = clip(out.Detail, MaxReason)
	for i := range ss.Answers {
		if ss.Answers[i].Seq%AnswersKept == seq%AnswersKept {
			ss.Answers[i] = Answer{seq, out}
			return
		}
	}
	if n := len(ss.Answers); n == cap(ss.Answers) { // as costOfSession counts them
		ss.Answers = append(make([]Answer, 0, n+leastAnswers), ss.Answers...)
	}
	ss.Answers = append(ss.Answers, Answer{seq, out})
}

func (s *State) openSession(c *OpenSession) Outcome {
	if len(c.Client) > MaxName*4 {
		return refuse(Invalid, "client name has %d bytes, at most %d are kept", len(c.Client), MaxName*4)
	}
	if n, most := uint64(s.sessions.Len()), s.meta.Settings.Budget.MaxSessions; n >= most {
		return tooMany("sessions of clients", n, most, purseSays[ForSessions].remedy, "max_sessions")
	}
	bytes := costOfSession(&Session{Client: c.Client})
	if no := s.afford(ForSessions, 0, bytes, 0); no.Code != OK {
		return no
	}
	id := s.meta.NextSession
	s.meta.NextSession++
	ss := s.sessions.Put(id)
	ss.ID, ss.Client, ss.Used = id, c.Client, s.meta.Clock
	s.rearm(timerSession, uint64(id), &ss.Armed, s.meta.Clock.Add(s.meta.Settings.SessionTTL))
	return Outcome{Session: id}
}

func (s *State) closeSession(id SessionID) {
	if ss := s.sessions.Mut(id); ss != nil {
		s.rearm(timerSession, uint64(id), &ss.Armed, 0)
		s.sessions.Del(id)
	}
}

// ownAnswers makes the answers writable in place: after a Copy they are shared
// with the view.
func (s *State) ownAnswers(ss *Session) {
	if ss.gen != s.sessions.Generation() {
		ss.Answers = slices.Clone(ss.Answers)
		ss.gen = s.sessions.Generation()
	}
}
