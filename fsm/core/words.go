package core

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
	said, sp := spoken(cmd)
	if said == nil {
		return Word{}
	}
	a := v.AgentByName(sp.Agent)
	if a == nil || sp.Inc != a.Inc || string(sp.TokenHash) != a.TokenHash || !said.SaysNew(v, a) {
		return Word{}
	}
	l := v.LeaseTable.Get(a.ID)
	fresh := time.Duration(l.TTL)/4 - age
	if l.Until == 0 || fresh <= 0 {
		return Word{}
	}
	return Word{Agent: a.ID, Inc: a.Inc, Fresh: fresh}
}

// IsWord tells whether the command may prove that an incarnation lives; WordOf tells
// whether it does. It needs no lock.
func IsWord(cmd Command) bool {
	said, _ := spoken(cmd)
	return said != nil
}

// Said is a command by which an incarnation says something, and so may prove that it lives.
type Said interface {
	Speaks() Speaker
	// SaysNew tells that it is about what the speaker does now, and no repetition.
	SaysNew(v *View, a *noun.Agent) bool
}

func spoken(cmd Command) (Said, Speaker) {
	said, ok := cmd.(Said)
	if !ok {
		return nil, Speaker{}
	}
	sp := said.Speaks()
	if sp.Agent == "" || sp.Inc == 0 {
		return nil, Speaker{}
	}
	return said, sp
}

// Speaks gives who says it.
func (sp Speaker) Speaks() Speaker { return sp }

// SaysNew of a word about an attempt: its speaker holds it.
func (w Work) SaysNew(v *View, a *noun.Agent) bool {
	t := v.Task(w.Task)
	return t != nil && a.Task == t.ID && t.Holder == a.ID && t.HolderInc == a.Inc && t.Attempt == w.Attempt
}

// SaysNew of a start by hand or of a process: it always is.
func (c Join) SaysNew(*View, *noun.Agent) bool { return true }

// SaysNew of a declaration: it is another than the last one.
func (c Declare) SaysNew(_ *View, a *noun.Agent) bool {
	d := a.Declared
	return d == nil || d.Status != c.Status || d.Waiting != c.Waiting || d.Text != c.Text
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
		l := s.LeaseTable.Mut(b.Agent)
		if l != nil && l.Inc == b.Inc && l.Until > s.Meta.Clock {
			s.Tally.margin(l.Until - s.Meta.Clock)
			l.Until = s.beaten(l)
		}
	}
}

// Beatless is for how long no beat has renewed a lease that goes on because of words; 0:
// the beats of its agent arrive. Whatever should beat for it has died or was never there.
func (v *View) Beatless(l *noun.Lease) time.Duration {
	age := v.Meta.Clock.Sub(l.Beat)
	if l.Until == 0 || age < time.Duration(l.TTL) {
		return 0
	}
	return age
}

// noteBeatless makes missing beats visible, once until they are back.
func (s *State) noteBeatless(a *noun.Agent, l *noun.Lease) {
	if l.Beatless || s.Beatless(l) == 0 {
		return
	}
	l.Beatless = true
	s.Event("agent.beats_missing", About{Agent: a, Task: a.Task},
		"no beat for "+time.Duration(l.TTL).String()+
			"; only its words keep its lease: does what beats for it still run?")
}
