package core

import (
	"iter"

	"vigil/fsm/noun"
)

// AuditNote says of a request who has made it; see noun.Audit for the fields. It counts for people and
// API tokens, and only when the command was done: who is refused has changed nothing.
type AuditNote struct {
	Who, Method, Room, Source, Digest string
}

// NoteAudit changes nothing. It is written before something is done that is no command, as moving the
// leadership is; who does it is in Request.Audit.
type NoteAudit struct{}

// NeedsLevel tells that the command came with LevelRetry.
func (NoteAudit) NeedsLevel() uint32 { return LevelRetry }

// Apply does nothing.
func (NoteAudit) Apply(*State) noun.Outcome { return noun.Outcome{} }

// do executes the command of a request, and once it is done notes who has made it.
func (s *State) do(r *Request) noun.Outcome {
	out := r.Cmd.Apply(s)
	if out.Code != noun.OK || s.Meta.Level < LevelRetry {
		return out
	}
	for i := range r.Audit {
		n := &r.Audit[i]
		s.Weigh(weightOfEvent)
		s.putAudit(noun.Audit{Index: s.Meta.Index, At: s.Meta.Clock, Wall: s.Entry.Wall,
			Who: noun.Clip(n.Who, noun.MaxPrincipal), Method: noun.Clip(n.Method, noun.MaxAuditMethod),
			Room: noun.Clip(n.Room, noun.MaxAuditRoom), Source: noun.Clip(n.Source, noun.MaxAuditSource),
			Digest: noun.Clip(n.Digest, noun.MaxDigest)})
	}
	return out
}

// putAudit appends an entry under the next number, and drops what is beyond the number kept.
func (s *State) putAudit(a noun.Audit) {
	s.Meta.LastAudit++
	a.Seq = s.Meta.LastAudit
	*s.AuditTable.Put(a.Seq) = a
	for s.Meta.LastAudit-s.Meta.PastAudit > noun.MaxAudit {
		s.dropAudit()
	}
}

// dropAudit drops the oldest entry, which is there.
func (s *State) dropAudit() {
	s.Meta.PastAudit++
	s.AuditTable.Del(s.Meta.PastAudit)
}

// keepAudit adds to the audit of a backup what the state that it replaces knows beyond it: who restores
// an older backup does not wipe out what was done since.
func (s *State) keepAudit(replaced *View) {
	known := s.Meta.LastAudit
	for _, a := range replaced.AuditTable.From(0) {
		if a.Seq <= known {
			if mine := s.AuditTable.Get(a.Seq); mine != nil && *mine == *a {
				continue
			}
		}
		s.putAudit(*a)
	}
}

// Audit yields the entries of the audit with a greater number, the oldest first.
func (v *View) Audit(after uint64) iter.Seq[*noun.Audit] { return Values(v.AuditTable.From(after + 1)) }

// LastAudit is the number of the newest entry of the audit; 0: there was none yet.
func (v *View) LastAudit() uint64 { return v.Meta.LastAudit }
