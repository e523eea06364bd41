package core

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
	s.Entry = e
	s.Result.Outcomes = s.Result.Outcomes[:0]
	s.Result.Beats = s.Result.Beats[:0]
	s.Result.Effects = noun.Effects{Claimable: s.Result.Effects.Claimable[:0], Hosts: s.Result.Effects.Hosts[:0],
		Mail: s.Result.Effects.Mail[:0]}
	s.Meta.Index = e.Index
	if e.Stint == e.Term && e.Stamp > s.Meta.Clock {
		s.Meta.Clock = e.Stamp
	}
	for i := range e.Beats {
		s.Result.Beats = append(s.Result.Beats, s.renew(&e.Beats[i]))
	}
	s.renewByWords(e.Words)
	s.weight, s.steps = 0, noun.StepsPerEntry
	s.fire()
	s.Hooks.Settled.Call(struct{}{})
	s.workOff()
	s.forget()
	s.settleBooks()
	for i := range e.Requests {
		s.Result.Outcomes = append(s.Result.Outcomes, s.request(&e.Requests[i]))
		s.Hooks.Settled.Call(struct{}{})
		s.workOff()
		s.settleBooks()
	}
	s.Result.Effects.LastEvent = s.Meta.NextEvent - 1
	s.Entry = nil
	return s.Result
}

// request executes a command once: a repeated number of a session gets the first
// answer.
func (s *State) request(r *Request) noun.Outcome {
	if r.Planned && s.Entry.Stint != s.Entry.Term {
		return noun.Outcome{Code: noun.StaleStint, Detail: "planned in a stint that is over", Index: s.Meta.Index}
	}
	if s.session = r.Session; r.Session == 0 {
		return s.stamped(s.do(r))
	}
	ss := s.SessionTable.Mut(r.Session)
	if ss == nil {
		return s.stamped(noun.Outcome{Code: noun.UnknownSession,
			Detail: "the session has ended after " + s.Meta.Settings.SessionTTL.String() +
				" without a write; open a new one, nothing was executed"})
	}
	if out, ok := ss.Answer(r.Seq); ok {
		s.Tally.Repeated++
		return out.AsRepeated()
	}
	if r.Seq+noun.AnswersKept <= ss.Max || r.Seq <= ss.Forgot {
		return s.stamped(noun.Outcome{Code: noun.TooOld, Detail: fmt.Sprintf(
			"write %d is too old: the session is at %d and remembers %d answers", r.Seq, ss.Max, noun.AnswersKept)})
	}
	out := s.stamped(s.do(r))
	if ss = s.SessionTable.Mut(r.Session); ss != nil {
		ss.Own(s.SessionTable.Generation())
		ss.Remember(r.Seq, out)
		ss.Used = s.Meta.Clock
	}
	return out
}

func (s *State) stamped(out noun.Outcome) noun.Outcome {
	out.Index, out.Clock = s.Meta.Index, s.Meta.Clock
	switch out.Code {
	case noun.Superseded:
		s.Tally.Superseded++
	case noun.Conflict:
		s.Tally.Conflicts++
	case noun.Full:
		s.Tally.Full++
	}
	return out
}

func Refuse(code noun.Code, format string, args ...any) noun.Outcome {
	return noun.Outcome{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Changed refuses to change what has another revision by now than its caller has read.
func Changed(what string, read, rev uint64) noun.Outcome {
	return noun.Outcome{Code: noun.Conflict, Rev: rev,
		Detail: fmt.Sprintf("%s has changed: revision %d is now %d; read it again", what, read, rev)}
}
