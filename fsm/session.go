package fsm

// leastAnswers is how many of them a session can keep however full its budget is.
const leastAnswers = 8

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
