package fsm

import (
	"slices"
	"strings"
	"time"
)

func (s *State) leaderEstablished(c *LeaderEstablished) Outcome {
	if s.now.Stint != s.now.Term {
		return refuse(StaleStint, "the stint is over")
	}
	s.meta.Stint = Stint{Term: s.now.Term, Server: c.Server, APIAddr: c.APIAddr}
	s.event("leader.established", about{}, c.Server)
	s.res.Effects.Plan = true
	return Outcome{}
}

func (s *State) leaderUnreached(c *LeaderUnreached) Outcome {
	if c.Server != s.meta.Stint.Server {
		return refuse(Conflict, "server %s does not lead", c.Server)
	}
	s.event("leader.unreached", about{}, c.Server+": nobody has reached its API for "+c.Silent.Round(time.Second).String()+"; it gives its office to "+c.To)
	return Outcome{}
}

func (s *State) putServer(c *PutServer) Outcome {
	if c.ID == "" {
		return refuse(Invalid, "a server needs an id")
	}
	at, found := slices.BinarySearchFunc(s.meta.Servers, c.ID, func(p PutServer, id string) int { return strings.Compare(p.ID, id) })
	list := slices.Clone(s.meta.Servers)
	if found {
		if list[at] == *c {
			return Outcome{}
		}
		list[at] = *c
	} else {
		list = slices.Insert(list, at, *c)
	}
	s.meta.Servers = list
	s.event("server.announced", about{}, c.ID+" "+c.Version)
	return Outcome{}
}

func (s *State) dropServer(c *DropServer) Outcome {
	gone := func(p PutServer) bool { return p.ID == c.ID }
	if !slices.ContainsFunc(s.meta.Servers, gone) {
		return refuse(NotFound, "there is no server %q", c.ID)
	}
	s.meta.Servers = slices.DeleteFunc(slices.Clone(s.meta.Servers), gone)
	s.meta.Diverged = slices.DeleteFunc(slices.Clone(s.meta.Diverged), func(id string) bool { return id == c.ID })
	s.dropViews(c.ID, nil)
	s.event("server.removed", about{}, c.ID)
	return Outcome{}
}

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
	votes := map[string]int{}
	for _, h := range m.Hashes {
		votes[h.Value]++
	}
	for _, h := range m.Hashes { // in order of arrival: map order must not matter
		if votes[h.Value]*2 > len(m.Voters) {
			s.diverge(m, h.Value)
			break
		}
	}
	return Outcome{}
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
