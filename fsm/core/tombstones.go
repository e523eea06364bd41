package core

import (
	"strings"

	"vigil/fsm/noun"
)

// rememberDeleted remembers that a room was deleted (law L9).
func (s *State) rememberDeleted(room, by string) {
	list := s.withoutTombstone(room)
	list = append(list[max(0, len(list)-noun.MaxTombstones+1):], noun.Tombstone{Room: room, By: by, At: s.Entry.Wall})
	s.Meta.Tombstones = list
}

// withoutTombstone gives a list of its own: views keep the old one.
func (v *View) withoutTombstone(room string) []noun.Tombstone {
	list := make([]noun.Tombstone, 0, len(v.Meta.Tombstones)+1)
	for _, t := range v.Meta.Tombstones {
		if t.Room != room {
			list = append(list, t)
		}
	}
	return list
}

// NoRoom is the answer about a room that does not exist, or not any more.
func (v *View) NoRoom(name string) noun.Outcome {
	if t := v.Tombstone(name); t != nil {
		return Refuse(noun.NotFound, "room %q was deleted by %s on %s; `vigil apply -f` makes it anew",
			name, Nobody(t.By), t.At.Text())
	}
	return Refuse(noun.NotFound, "%s", noun.AbsentRoom(name))
}

// NoAgent is the answer about an agent that does not exist, or not any more.
func (v *View) NoAgent(name string) noun.Outcome {
	room, _, _ := strings.Cut(name, "/")
	if t := v.Tombstone(room); t != nil && v.Room(room) == nil {
		return Refuse(noun.NotFound, "there is no agent %q: its room was deleted by %s on %s", name, Nobody(t.By),
			t.At.Text())
	}
	return Refuse(noun.NotFound, "%s", noun.AbsentAgent(name))
}
