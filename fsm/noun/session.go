package noun

import (
	"slices"
	"time"
)

// LeastAnswers is how many of them a session can keep however full its budget is.
const LeastAnswers = 8

// AnswersKept is how many answers a session remembers: a client may have this
// many writes in flight and still retry any of them safely.
const AnswersKept = 64

// Session lets a client repeat a write without doing it twice: writes carry the
// session and a number, a repeated number gets the first answer.
type Session struct {
	ID      SessionID
	Client  string   // for people
	Answers []Answer // at most one for each residue of Seq modulo AnswersKept
	Used    Time     // last write
	Armed   Time
	Max     uint64 // greatest number seen

	gen uint64 // of the table when Answers was last owned; not replicated

	Forgot uint64 // greatest number whose answer was forgotten for want of space
}

// Answer is the outcome of one numbered write.
type Answer struct {
	Seq uint64
	Out Outcome
}

func (ss *Session) Answer(seq uint64) (Outcome, bool) {
	for i := range ss.Answers {
		if ss.Answers[i].Seq == seq {
			return ss.Answers[i].Out, true
		}
	}
	return Outcome{}, false
}

// Remember keeps an answer in the place of the one that is AnswersKept older.
func (ss *Session) Remember(seq uint64, out Outcome) {
	ss.Max = max(ss.Max, seq)
	out.Detail = Clip(out.Detail, MaxReason)
	for i := range ss.Answers {
		if ss.Answers[i].Seq%AnswersKept == seq%AnswersKept {
			ss.Answers[i] = Answer{seq, out}
			return
		}
	}
	if n := len(ss.Answers); n == cap(ss.Answers) { // as CostOfSession counts them
		ss.Answers = append(make([]Answer, 0, n+LeastAnswers), ss.Answers...)
	}
	ss.Answers = append(ss.Answers, Answer{seq, out})
}

// Own makes the answers writable in place: after a copy of the table, which gen counts, they are
// shared with it.
func (ss *Session) Own(gen uint64) {
	if ss.gen != gen {
		ss.Answers, ss.gen = slices.Clone(ss.Answers), gen
	}
}

// Keep replaces the answers.
func (ss *Session) Keep(answers []Answer, gen uint64) { ss.Answers, ss.gen = answers, gen }

// RepeatLimit is how long clients may repeat a write under its number.
const RepeatLimit = 5 * time.Minute

// MinSessionTTL is the shortest time after which a session may be forgotten: longer than any
// repetition, or a write that was done and never answered would be done again in a new session
// (law L8). Cluster time never runs faster than a client's clock.
const MinSessionTTL = RepeatLimit + time.Minute
