package fsm

import (
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
)

func (s *State) leaderEstablished(c *LeaderEstablished) noun.Outcome {
	if s.now.Stint != s.now.Term {
		return refuse(noun.StaleStint, "the stint is over")
	}
	s.meta.Stint = noun.Stint{Term: s.now.Term, Server: c.Server, APIAddr: c.APIAddr}
	s.event("leader.established", about{}, c.Server)
	s.res.Effects.Plan = true
	return noun.Outcome{}
}

func (s *State) leaderUnreached(c *LeaderUnreached) noun.Outcome {
	if c.Server != s.meta.Stint.Server {
		return refuse(noun.Conflict, "server %s does not lead", c.Server)
	}
	s.event("leader.unreached", about{}, c.Server+": nobody has reached its API for "+c.Silent.Round(time.Second).String()+"; it gives its office to "+c.To)
	return noun.Outcome{}
}

// member finds a server in the list of those that have announced themselves and were not
// removed since; else at is its place.
func (v *View) member(id string) (at int, found bool) {
	return slices.BinarySearchFunc(v.meta.Servers, id, func(p noun.Server, id string) int { return strings.Compare(p.ID, id) })
}

func (s *State) putServer(c *PutServer) noun.Outcome {
	if c.ID == "" {
		return refuse(noun.Invalid, "a server needs an id")
	}
	at, found := s.member(c.ID)
	list := slices.Clone(s.meta.Servers)
	if found {
		if list[at] == noun.Server(*c) {
			return noun.Outcome{}
		}
		list[at] = noun.Server(*c)
	} else {
		list = slices.Insert(list, at, noun.Server(*c))
	}
	s.meta.Servers = list
	s.event("server.announced", about{}, c.ID+" "+c.Version)
	return noun.Outcome{}
}

func (s *State) dropServer(c *DropServer) noun.Outcome {
	gone := func(p noun.Server) bool { return p.ID == c.ID }
	if !slices.ContainsFunc(s.meta.Servers, gone) {
		return refuse(noun.NotFound, "there is no server %q", c.ID)
	}
	s.meta.Servers = slices.DeleteFunc(slices.Clone(s.meta.Servers), gone)
	s.meta.Diverged = slices.DeleteFunc(slices.Clone(s.meta.Diverged), func(id string) bool { return id == c.ID })
	s.dropViews(c.ID, nil)
	s.event("server.removed", about{}, c.ID)
	return noun.Outcome{}
}
