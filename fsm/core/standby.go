package core

import (
	"slices"

	"vigil/fsm/noun"
)

// A standby is a server that is sent the log and has no vote: it takes the place of one that is lost. Who has a
// vote is a matter of raft's configuration; the state says which of those without one are to be kept, since all
// others are on their way to a vote.

// Standby tells whether the server is kept although it has no vote. It says nothing about one that has.
func (v *View) Standby(id string) bool { return slices.Contains(v.Meta.Standbys, id) }

// SetStandby says that a server is kept without a vote, or no longer. By the leader, before a server loses its vote
// and after it got one.
type SetStandby struct {
	ID      string
	Standby bool
	Why     string // a sentence for the history, written by the leader
}

func (SetStandby) NeedsLevel() uint32 { return LevelRetry }

// Apply changes nothing when the server is already what the command says.
func (c SetStandby) Apply(s *State) noun.Outcome {
	if c.ID == "" {
		return Refuse(noun.Invalid, "a standby needs the id of a server")
	}
	if s.Standby(c.ID) == c.Standby {
		return noun.Outcome{}
	}
	list := slices.DeleteFunc(slices.Clone(s.Meta.Standbys), func(id string) bool { return id == c.ID })
	kind := "server.voter"
	if c.Standby {
		kind = "server.standby"
		list = append(list, c.ID)
		slices.Sort(list)
	}
	s.Meta.Standbys = list
	text := c.ID
	if c.Why != "" {
		text += ": " + c.Why
	}
	s.Event(kind, About{}, text)
	return noun.Outcome{}
}
