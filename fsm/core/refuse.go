package core

import (
	"fmt"
	"slices"

	"vigil/fsm/noun"
)

// MaxRefused is how many refused entries the state remembers.
const MaxRefused = 64

// RefuseEntry stands in the log in the place of an entry that no server could apply: a human has
// had all servers pass over it. Nothing of that entry happens; whoever repeats a write that was in
// it is told so, else it would come back. See
// docs/decisions/cluster.md#an-entry-that-cannot-be-applied-is-refused-by-all-servers-or-by-none.
type RefuseEntry struct {
	Sum    string          // SHA-256 of the entry in whose place it stands, in hexadecimal digits
	What   string          // the commands of that entry, by name
	Writes []NumberedWrite // that were in it
}

// NumberedWrite is a write that may be repeated under its number.
type NumberedWrite struct {
	Session noun.SessionID
	Seq     uint64
}

// NeedsLevel is that of the method of watchdogs: older versions cannot read it.
func (RefuseEntry) NeedsLevel() uint32 { return LevelRetry }

// Apply remembers the refusal, and answers each write that was in the entry with it.
func (c RefuseEntry) Apply(s *State) noun.Outcome {
	list := s.Meta.Refused[max(0, len(s.Meta.Refused)-MaxRefused+1):]
	s.Meta.Refused = append(slices.Clone(list), noun.Refusal{Index: s.Meta.Index, Sum: c.Sum})
	out := s.stamped(Refuse(noun.Conflict, "this request is refused: no server could apply log entry %d, in which it "+
		"was, and an operator has had it passed over; nothing was executed", s.Meta.Index))
	for _, w := range c.Writes {
		ss := s.SessionTable.Mut(w.Session)
		if ss == nil {
			continue
		}
		if _, known := ss.Answer(w.Seq); known || w.Seq+noun.AnswersKept <= ss.Max || w.Seq <= ss.Forgot {
			continue
		}
		ss.Own(s.SessionTable.Generation())
		ss.Remember(w.Seq, out)
		ss.Used = s.Meta.Clock
	}
	s.Event("entry.refused", About{},
		fmt.Sprintf("log entry %d with %s could not be applied and is refused on every server",
			s.Meta.Index, noun.Clip(c.What, noun.MaxReason)))
	return noun.Outcome{}
}

// Refused lists the entries that were refused, by index, up to the one given.
func (v *View) Refused(upTo uint64) []noun.Refusal {
	at := slices.IndexFunc(v.Meta.Refused, func(r noun.Refusal) bool { return r.Index > upTo })
	if at < 0 {
		at = len(v.Meta.Refused)
	}
	return slices.Clone(v.Meta.Refused[:at])
}

// AgreeOnRefused is what a leader writes first in its stint: which entries it has refused, of all up to
// UpTo. It changes nothing. A server whose own state says something else ends before it applies it:
// it has refused what the leader has applied, or the other way round (law L12).
type AgreeOnRefused struct {
	UpTo    uint64
	Refused []noun.Refusal
}

// NeedsLevel is that of the method of watchdogs: older versions cannot read it.
func (AgreeOnRefused) NeedsLevel() uint32 { return LevelRetry }

// Apply changes nothing.
func (AgreeOnRefused) Apply(*State) noun.Outcome { return noun.Outcome{} }
