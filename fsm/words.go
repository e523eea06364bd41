package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// Words are proof too, and only when fresh. What an incarnation says (it joins, works,
// writes mail, reports) shows that it lives as well as a beat does, so an agent that works
// and does not beat is not called dead. A word renews the lease of its speaker and nothing
// else: no fence, no lease that has ended, and it is no progress and no answer by itself.

// Word is what a word proves: the incarnation that said it lives. The zero value proves
// nothing.
type Word struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	// Fresh is for how long from now on the word counts: a quarter of the TTL, less the
	// time since it was said. What is sealed later renews nothing.
	Fresh time.Duration
}

// WordOf is what the door makes of a command: proof when it is a word of the newest
// incarnation of its agent, with that incarnation's token, and says something new. age is
// how long ago it was said. The lease is checked again when the entry is applied.
//
// These prove nothing: a result of an attempt that is over, since it may have been kept on a
// disk; a report or a patrol that repeats the last one, since a helper may send it for an
// agent that hangs; and claims and reading mail, which programs do by themselves.
func (v *View) WordOf(cmd Command, age time.Duration) Word {
	sp := spokenBy(cmd)
	if sp == nil {
		return Word{}
	}
	a := v.AgentByName(sp.Agent)
	if a == nil || sp.Inc != a.Inc || string(sp.TokenHash) != a.TokenHash || !v.saysNew(a, cmd) {
		return Word{}
	}
	l := v.leases.Get(a.ID)
	fresh := time.Duration(l.TTL)/4 - age
	if l.Until == 0 || fresh <= 0 {
		return Word{}
	}
	return Word{Agent: a.ID, Inc: a.Inc, Fresh: fresh}
}

// IsWord tells whether the command may prove that an incarnation lives; WordOf tells
// whether it does. It needs no lock.
func IsWord(cmd Command) bool { return spokenBy(cmd) != nil }

// spokenBy gives the speaker of a word that may be proof; nil: the command is none.
func spokenBy(cmd Command) *Speaker {
	var sp Speaker
	switch c := cmd.(type) {
	case Join:
		sp = c.Speaker
	case StartTask:
		sp = c.Speaker
	case ProgressTask:
		sp = c.Speaker
	case CompleteTask:
		sp = c.Speaker
	case FailTask:
		sp = c.Speaker
	case Handoff:
		sp = c.Speaker
	case SendMail:
		sp = c.Speaker
	case AckMail:
		sp = c.Speaker
	case Declare:
		sp = c.Speaker
	case ReportPatrol:
		sp = c.Speaker
	}
	if sp.Agent == "" || sp.Inc == 0 {
		return nil
	}
	return &sp
}

// saysNew tells that the word is about what its speaker does now.
func (v *View) saysNew(a *noun.Agent, cmd Command) bool {
	switch c := cmd.(type) {
	case StartTask:
		return v.works(a, &c.Work)
	case ProgressTask:
		return v.works(a, &c.Work)
	case CompleteTask:
		return v.works(a, &c.Work)
	case FailTask:
		return v.works(a, &c.Work)
	case Handoff:
		return v.works(a, &c.Work)
	case Declare:
		d := a.Declared
		return d == nil || d.Status != c.Status || d.Waiting != c.Waiting || d.Text != c.Text
	case ReportPatrol:
		return c.Cycle == 0 || a.Patrols() == 0 || c.Cycle != a.Notes().Chain.Cycle
	}
	return true
}

// works tells that the agent holds this attempt.
func (v *View) works(a *noun.Agent, w *Work) bool {
	t := v.Task(w.Task)
	return t != nil && a.Task == t.ID && t.Holder == a.ID && t.HolderInc == a.Inc && t.Attempt == w.Attempt
}

// PackWords packs what words prove, as PackBeats packs beats.
func PackWords(dst []byte, words []Word) []byte {
	last := int64(0)
	for i := range words {
		dst, last = appendBeat(dst, last, Beat{words[i].Agent, words[i].Inc, BeatLease}), int64(words[i].Agent)
	}
	return dst
}

// renewByWords prolongs the leases of who spoke. What is no longer so is passed over
// without an answer: the speaker is answered by what becomes of its word.
func (s *State) renewByWords(packed []byte) {
	for b := range UnpackBeats(packed) {
		l := s.leases.Mut(b.Agent)
		if l != nil && l.Inc == b.Inc && l.Until > s.meta.Clock {
			s.figures.margin(l.Until - s.meta.Clock)
			l.Until = s.beaten(l)
		}
	}
}

// beatless is for how long no beat has renewed a lease that goes on because of words; 0:
// the beats of its agent arrive. Whatever should beat for it has died or was never there.
func (v *View) beatless(l *noun.Lease) time.Duration {
	age := v.meta.Clock.Sub(l.Beat)
	if l.Until == 0 || age < time.Duration(l.TTL) {
		return 0
	}
	return age
}

// noteBeatless makes missing beats visible, once until they are back.
func (s *State) noteBeatless(a *noun.Agent, l *noun.Lease) {
	if l.Beatless || s.beatless(l) == 0 {
		return
	}
	l.Beatless = true
	s.event("agent.beats_missing", about{agent: a, task: a.Task},
		"no beat for "+time.Duration(l.TTL).String()+"; only its words keep its lease: does what beats for it still run?")
}
