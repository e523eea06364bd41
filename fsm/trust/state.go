package trust

import (
	"strconv"
	"strings"

	"github.com/tidwall/btree"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// State is the identities of a state that goes on.
type State struct {
	*core.State
	View
}

// View reads the identities of a state.
type View struct {
	core.Base
	byName  map[noun.Identity]noun.CredentialID
	users   map[string]noun.UserID
	byHash  map[string]noun.APITokenID
	gone    *btree.BTreeG[goneName]
	holders [noun.IdentityKinds]int // credentials in use
}

// goneName orders names that are gone: the first to go is the first to be forgotten.
type goneName struct {
	at noun.Time
	id noun.CredentialID
}

func lessGone(a, b goneName) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.id < b.id
}

// Install hangs identities on the core.
func Install(c *core.State) *State {
	s := &State{c, View{Base: core.Base{View: &c.View}}}
	s.reset(struct{}{})
	h := core.Attach(c, s)
	h.Reset.Add(s.reset)
	h.Index.Add(s.index)
	h.HostGoes.Add(func(h *noun.Host) {
		s.leave(noun.Identity{Kind: noun.HostIdentity, Name: h.Key}, "the host is forgotten")
	})
	h.ServerGoes.Add(func(id string) {
		s.leave(noun.Identity{Kind: noun.ServerIdentity, Name: id}, "the server was removed")
		s.Meta.Trust.Ring.Acks = s.Ring().WithoutAck(id)
	})
	h.Outnumbers.Add(s.outnumber)
	h.Lasts[noun.EscIdentityCloned] = func(e *noun.Escalation) bool {
		word, name, _ := strings.Cut(e.Subject, "/")
		kind, _ := noun.ParseIdentityKind(word)
		k := s.Credential(kind, name)
		return k != nil && k.Gone == 0 && len(e.Facts) > 0 &&
			e.Facts[0].Value == strconv.FormatUint(k.Generation, 10)
	}
	return s
}

func (s *State) reset(struct{}) {
	s.View = View{Base: s.Base, byName: map[noun.Identity]noun.CredentialID{}, users: map[string]noun.UserID{},
		byHash: map[string]noun.APITokenID{}, gone: core.Sorted(lessGone)}
}

func (s *State) index(struct{}) {
	for _, c := range s.CredentialTable.From(0) {
		s.byName[c.Identity()] = c.ID
		s.count(c, +1)
	}
	for id, u := range s.UserTable.From(0) {
		s.users[u.Name] = id
	}
	for id, t := range s.APITokenTable.From(0) {
		s.byHash[t.Hash] = id
	}
}

// count adds (by 1) or takes away (by -1) a credential's share of the indexes by what it is.
func (s *State) count(c *noun.Credential, by int) {
	switch {
	case c.Gone == 0:
		s.holders[c.Kind] += by
	case by > 0:
		s.gone.Set(goneName{c.Gone, c.ID})
	default:
		s.gone.Delete(goneName{c.Gone, c.ID})
	}
}
