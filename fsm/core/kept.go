package core

import "vigil/fsm/noun"

// ReportKept says what agents have left on the disk of a host. By its agentd, hourly, when that has changed.
type ReportKept struct {
	Host             noun.HostID
	Boot             string
	Bytes, Removable uint64
	Oldest           noun.Wall // see noun.HostKept
}

// NeedsLevel tells that the command came with LevelRetry.
func (ReportKept) NeedsLevel() uint32 { return LevelRetry }

// Apply notes it, for people only: nothing is decided by it.
func (c ReportKept) Apply(s *State) noun.Outcome {
	h, kept := s.HostTable.Mut(c.Host), noun.HostKept{Bytes: c.Bytes, Removable: c.Removable, Oldest: c.Oldest}
	switch {
	case h == nil:
		return Refuse(noun.NotFound, "there is no host number %d; register again", c.Host)
	case h.Boot != c.Boot:
		return Refuse(noun.Superseded, "host %s has registered with another boot id since", h.Name)
	case h.Kept != kept:
		h.Kept, h.Rev = kept, s.Meta.Index
	}
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}
