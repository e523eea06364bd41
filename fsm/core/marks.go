package core

import (
	"slices"

	"vigil/fsm/noun"
)

// MarksKept is how many Marks wait for the reports of slow servers.
const MarksKept = 4

// Mark asks all servers to hash the state at this entry; Voters say how many
// reports there can be.
type Mark struct{ Voters []string }

func (c Mark) Apply(s *State) noun.Outcome {
	list := slices.Clone(s.Meta.Marks[max(0, len(s.Meta.Marks)-MarksKept+1):])
	s.Meta.Marks = append(list, noun.MarkReport{Index: s.Meta.Index, Voters: slices.Clone(c.Voters)})
	return noun.Outcome{}
}

// ReportHash is a server's answer to the Mark at Index.
type ReportHash struct {
	Server string
	Index  uint64
	Hash   []byte
}

// Apply compares the servers' hashes of one Mark. A server whose hash is in
// the minority, while a majority of the voters agrees, is marked as diverged (L12).
func (c ReportHash) Apply(s *State) noun.Outcome {
	at := slices.IndexFunc(s.Meta.Marks, func(m noun.MarkReport) bool { return m.Index == c.Index })
	if at < 0 {
		return Refuse(noun.NotFound, "there is no open mark at index %d", c.Index)
	}
	s.Meta.Marks = slices.Clone(s.Meta.Marks)
	m := &s.Meta.Marks[at]
	if !slices.Contains(m.Voters, c.Server) ||
		slices.ContainsFunc(m.Hashes, func(h noun.KV) bool { return h.Key == c.Server }) {
		return noun.Outcome{}
	}
	m.Hashes = append(slices.Clone(m.Hashes), noun.KV{Key: c.Server, Value: string(c.Hash)})
	if truth, decided := m.Majority(); decided {
		s.diverge(m, truth)
	} else if s.disputed(m) {
		s.Event("servers.differ", About{}, m.Text())
		s.escalateDispute(m)
	}
	return noun.Outcome{}
}

// disputed tells that hashes differ and no majority says which is right: all voters differ,
// or those that would decide are down or have not reported yet. Servers that are known to
// have diverged have no say.
func (v *View) disputed(m *noun.MarkReport) bool {
	if _, decided := m.Majority(); decided {
		return false
	}
	first := ""
	for _, h := range m.Hashes {
		switch {
		case slices.Contains(v.Meta.Diverged, h.Key):
		case first == "":
			first = h.Value
		case h.Value != first:
			return true
		}
	}
	return false
}

func (s *State) diverge(m *noun.MarkReport, truth string) {
	for _, h := range m.Hashes {
		if h.Value != truth && !slices.Contains(s.Meta.Diverged, h.Key) {
			s.Meta.Diverged = append(slices.Clone(s.Meta.Diverged), h.Key)
			s.Event("server.diverged", About{}, h.Key)
			s.escalateServer(h.Key)
		}
	}
}
