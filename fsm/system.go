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

// member finds a server in the list of those that have announced themselves and were not
// removed since; else at is its place.
func (v *View) member(id string) (at int, found bool) {
	return slices.BinarySearchFunc(v.meta.Servers, id, func(p PutServer, id string) int { return strings.Compare(p.ID, id) })
}

func (s *State) putServer(c *PutServer) Outcome {
	if c.ID == "" {
		return refuse(Invalid, "a server needs an id")
	}
	at, found := s.member(c.ID)
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
