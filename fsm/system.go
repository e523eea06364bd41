package fsm

import (
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
)

// LeaderEstablished opens a stint; its answer carries the clock to start from.
type LeaderEstablished struct{ Server, APIAddr string }

func (c LeaderEstablished) Apply(s *State) noun.Outcome {
	if s.now.Stint != s.now.Term {
		return refuse(noun.StaleStint, "the stint is over")
	}
	s.meta.Stint = noun.Stint{Term: s.now.Term, Server: c.Server, APIAddr: c.APIAddr}
	s.event("leader.established", about{}, c.Server)
	s.res.Effects.Plan = true
	return noun.Outcome{}
}

// LeaderUnreached says that a leader gives its office to another server, since nobody
// reaches its API.
type LeaderUnreached struct {
	Server, To string
	Silent     time.Duration // since somebody last reached it
}

func (c LeaderUnreached) Apply(s *State) noun.Outcome {
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

// PutServer records what a server says of itself.
type PutServer noun.Server

func (c PutServer) Apply(s *State) noun.Outcome {
	if c.ID == "" {
		return refuse(noun.Invalid, "a server needs an id")
	}
	at, found := s.member(c.ID)
	list := slices.Clone(s.meta.Servers)
	if found {
		if list[at] == noun.Server(c) {
			return noun.Outcome{}
		}
		list[at] = noun.Server(c)
	} else {
		list = slices.Insert(list, at, noun.Server(c))
	}
	s.meta.Servers = list
	s.event("server.announced", about{}, c.ID+" "+c.Version)
	return noun.Outcome{}
}

// DropServer forgets a server that was removed from the cluster.
type DropServer struct{ ID string }

func (c DropServer) Apply(s *State) noun.Outcome {
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
