package fsm

import (
	"fmt"

	"vigil/fsm/noun"
)

// Apply turns one log entry into the next state and says what became of it. It
// is deterministic: the same entries give the same image on every server. The
// slices in the result are reused by the next Apply.
//
// A command that is refused changes nothing. Only a broken invariant panics.
func (s *State) Apply(e *Entry) noun.Result {
	s.now = e
	s.res.Outcomes = s.res.Outcomes[:0]
	s.res.Beats = s.res.Beats[:0]
	s.res.Effects = noun.Effects{Claimable: s.res.Effects.Claimable[:0], Hosts: s.res.Effects.Hosts[:0], Mail: s.res.Effects.Mail[:0]}
	s.meta.Index = e.Index
	if e.Stint == e.Term && e.Stamp > s.meta.Clock {
		s.meta.Clock = e.Stamp
	}
	for i := range e.Beats {
		s.res.Beats = append(s.res.Beats, s.renew(&e.Beats[i]))
	}
	s.renewByWords(e.Words)
	s.steps = noun.StepsPerEntry
	s.fire()
	s.hooks.Settled.call(struct{}{})
	s.workOff()
	s.forget()
	s.settleBooks()
	for i := range e.Requests {
		s.res.Outcomes = append(s.res.Outcomes, s.request(&e.Requests[i]))
		s.hooks.Settled.call(struct{}{})
		s.workOff()
		s.settleBooks()
	}
	s.res.Effects.LastEvent = s.meta.NextEvent - 1
	s.now = nil
	return s.res
}

// request executes a command once: a repeated number of a session gets the first
// answer.
func (s *State) request(r *Request) noun.Outcome {
	if r.Planned && s.now.Stint != s.now.Term {
		return noun.Outcome{Code: noun.StaleStint, Detail: "planned in a stint that is over", Index: s.meta.Index}
	}
	if s.session = r.Session; r.Session == 0 {
		return s.stamped(r.Cmd.Apply(s))
	}
	ss := s.sessions.Mut(r.Session)
	if ss == nil {
		return s.stamped(noun.Outcome{Code: noun.UnknownSession,
			Detail: "the session has ended after " + s.meta.Settings.SessionTTL.String() + " without a write; open a new one, nothing was executed"})
	}
	if out, ok := ss.Answer(r.Seq); ok {
		s.figures.Repeated++
		return out.AsRepeated()
	}
	if r.Seq+noun.AnswersKept <= ss.Max || r.Seq <= ss.Forgot {
		return s.stamped(noun.Outcome{Code: noun.TooOld, Detail: fmt.Sprintf(
			"write %d is too old: the session is at %d and remembers %d answers", r.Seq, ss.Max, noun.AnswersKept)})
	}
	out := s.stamped(r.Cmd.Apply(s))
	if ss = s.sessions.Mut(r.Session); ss != nil {
		ss.Own(s.sessions.Generation())
		ss.Remember(r.Seq, out)
		ss.Used = s.meta.Clock
	}
	return out
}

func (s *State) stamped(out noun.Outcome) noun.Outcome {
	out.Index, out.Clock = s.meta.Index, s.meta.Clock
	switch out.Code {
	case noun.Superseded:
		s.figures.Superseded++
	case noun.Conflict:
		s.figures.Conflicts++
	case noun.Full:
		s.figures.Full++
	}
	return out
}

func refuse(code noun.Code, format string, args ...any) noun.Outcome {
	return noun.Outcome{Code: code, Detail: fmt.Sprintf(format, args...)}
}
