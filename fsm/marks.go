package fsm

import (
	"fmt"
	"slices"
	"strings"
)

// marksKept is how many Marks wait for the reports of slow servers.
const marksKept = 4

func (s *State) mark(c *Mark) Outcome {
	list := slices.Clone(s.meta.Marks[max(0, len(s.meta.Marks)-marksKept+1):])
	s.meta.Marks = append(list, MarkReport{Index: s.meta.Index, Voters: slices.Clone(c.Voters)})
	return Outcome{}
}

// reportHash compares the servers' hashes of one Mark. A server whose hash is in
// the minority, while a majority of the voters agrees, is marked as diverged (L12).
func (s *State) reportHash(c *ReportHash) Outcome {
	at := slices.IndexFunc(s.meta.Marks, func(m MarkReport) bool { return m.Index == c.Index })
	if at < 0 {
		return refuse(NotFound, "there is no open mark at index %d", c.Index)
	}
	s.meta.Marks = slices.Clone(s.meta.Marks)
	m := &s.meta.Marks[at]
	if !slices.Contains(m.Voters, c.Server) || slices.ContainsFunc(m.Hashes, func(h KV) bool { return h.Key == c.Server }) {
		return Outcome{}
	}
	m.Hashes = append(slices.Clone(m.Hashes), KV{c.Server, string(c.Hash)})
	if truth, decided := m.majority(); decided {
		s.diverge(m, truth)
	} else if s.disputed(m) {
		s.event("servers.differ", about{}, m.text())
		s.escalateDispute(m)
	}
	return Outcome{}
}

// majority gives the hash that more than half of the voters have reported.
func (m *MarkReport) majority() (hash string, decided bool) {
	votes := map[string]int{}
	for _, h := range m.Hashes {
		votes[h.Value]++
	}
	for _, h := range m.Hashes { // in order of arrival: map order must not matter
		if votes[h.Value]*2 > len(m.Voters) {
			return h.Value, true
		}
	}
	return "", false
}

// disputed tells that hashes differ and no majority says which is right: all voters differ,
// or those that would decide are down or have not reported yet. Servers that are known to
// have diverged have no say.
func (v *View) disputed(m *MarkReport) bool {
	if _, decided := m.majority(); decided {
		return false
	}
	first := ""
	for _, h := range m.Hashes {
		switch {
		case slices.Contains(v.meta.Diverged, h.Key):
		case first == "":
			first = h.Value
		case h.Value != first:
			return true
		}
	}
	return false
}

// text lists which servers have reported which hash, by their first bytes.
func (m *MarkReport) text() string {
	var list []string
	for _, h := range m.Hashes {
		list = append(list, fmt.Sprintf("%s=%x", h.Key, h.Value[:min(4, len(h.Value))]))
	}
	return strings.Join(list, " ")
}

func (s *State) diverge(m *MarkReport, truth string) {
	for _, h := range m.Hashes {
		if h.Value != truth && !slices.Contains(s.meta.Diverged, h.Key) {
			s.meta.Diverged = append(slices.Clone(s.meta.Diverged), h.Key)
			s.event("server.diverged", about{}, h.Key)
			s.escalateServer(h.Key)
		}
	}
}
