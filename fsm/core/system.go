package core

import (
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
)

// LeaderEstablished opens a stint; its answer carries the clock to start from.
type LeaderEstablished struct{ Server, APIAddr string }

func (c LeaderEstablished) Apply(s *State) noun.Outcome {
	if s.Entry.Stint != s.Entry.Term {
		return Refuse(noun.StaleStint, "the stint is over")
	}
	s.Meta.Stint = noun.Stint{Term: s.Entry.Term, Server: c.Server, APIAddr: c.APIAddr}
	s.Event("leader.established", About{}, c.Server)
	s.Result.Effects.Plan = true
	return noun.Outcome{}
}

// LeaderUnreached says that a leader gives its office to another server, since nobody
// reaches its API.
type LeaderUnreached struct {
	Server, To string
	Silent     time.Duration // since somebody last reached it
}

func (c LeaderUnreached) Apply(s *State) noun.Outcome {
	if c.Server != s.Meta.Stint.Server {
		return Refuse(noun.Conflict, "server %s does not lead", c.Server)
	}
	s.Event("leader.unreached", About{}, c.Server+": nobody has reached its API for "+
		c.Silent.Round(time.Second).String()+"; it gives its office to "+c.To)
	return noun.Outcome{}
}

// Member finds a server in the list of those that have announced themselves and were not
// removed since; else at is its place.
func (v *View) Member(id string) (at int, found bool) {
	return slices.BinarySearchFunc(v.Meta.Servers, id,
		func(p noun.Server, id string) int { return strings.Compare(p.ID, id) })
}

// PutServer records what a server says of itself.
type PutServer noun.Server

func (c PutServer) Apply(s *State) noun.Outcome {
	if c.ID == "" {
		return Refuse(noun.Invalid, "a server needs an id")
	}
	at, found := s.Member(c.ID)
	list := slices.Clone(s.Meta.Servers)
	if found {
		if list[at] == noun.Server(c) {
			return noun.Outcome{}
		}
		list[at] = noun.Server(c)
	} else {
		list = slices.Insert(list, at, noun.Server(c))
	}
	s.Meta.Servers = list
	s.Event("server.announced", About{}, c.ID+" "+c.Version)
	return noun.Outcome{}
}

// DropServer forgets a server that was removed from the cluster. What one has that never announced itself, such as
// an identity, goes too, although there is nothing else to forget.
type DropServer struct{ ID string }

func (c DropServer) Apply(s *State) noun.Outcome {
	gone := func(p noun.Server) bool { return p.ID == c.ID }
	s.Meta.Standbys = slices.DeleteFunc(slices.Clone(s.Meta.Standbys), func(id string) bool { return id == c.ID })
	if !slices.ContainsFunc(s.Meta.Servers, gone) {
		s.Hooks.ServerGoes.Call(c.ID)
		return Refuse(noun.NotFound, "%s", noun.AbsentServer(c.ID))
	}
	s.Meta.Servers = slices.DeleteFunc(slices.Clone(s.Meta.Servers), gone)
	s.Meta.Diverged = slices.DeleteFunc(slices.Clone(s.Meta.Diverged), func(id string) bool { return id == c.ID })
	s.dropViews(c.ID, nil)
	s.Event("server.removed", About{}, c.ID)
	s.Hooks.ServerGoes.Call(c.ID)
	return noun.Outcome{}
}
