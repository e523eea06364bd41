package noun

import "time"

// TypistSpan is how long a human has a terminal after the last key.
const TypistSpan = time.Minute

// Typist is the human who types at the terminal of one life, or the last one who did. What is typed is in
// no log. Times are cluster time.
type Typist struct {
	Inc   Incarnation
	Grant uint64 // number of the turn, which only grows: a host takes the keys of no earlier one; 0: it is over
	By    string
	At    Time // since when
	Until Time // TypistSpan after the last key; when Grant is 0, when the turn ended
}

// lastTypist is the newest turn at the terminal of the present life, over or not; nil: none.
func (a *Agent) lastTypist() *Typist {
	if a.Noted == nil || a.Noted.Typist == nil || a.Noted.Typist.Inc != a.Inc || !a.Proc.Fenced() {
		return nil
	}
	return a.Noted.Typist
}

// Typist is who has the terminal of the agent's present life; nil: nobody.
func (a *Agent) Typist() *Typist {
	if t := a.lastTypist(); t != nil && t.Grant != 0 {
		return t
	}
	return nil
}

// TypedUntil is until when a human has the terminal of the present life, or had it; 0: nobody had.
func (a *Agent) TypedUntil() Time {
	if t := a.lastTypist(); t != nil {
		return t.Until
	}
	return 0
}
