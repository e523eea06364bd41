package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// PutUser adds a user, or gives one other roles.
type PutUser struct {
	Name     string
	Bindings []noun.Binding
	By       string
}

// RemoveUser takes everything from a user at once. The name can be added again.
type RemoveUser struct {
	Name string
	By   string
}

// PutAPIToken lets a program in until an end.
type PutAPIToken struct {
	Name     string // for people
	Hash     []byte // SHA-256 of the token
	Bindings []noun.Binding
	For      time.Duration // cluster time
	By       string
}

// RevokeAPIToken ends an API token.
type RevokeAPIToken struct {
	Token noun.APITokenID
	By    string
}

// NeedsLevel tells that the command came with core.LevelRetry.
func (PutUser) NeedsLevel() uint32        { return core.LevelRetry }
func (RemoveUser) NeedsLevel() uint32     { return core.LevelRetry }
func (PutAPIToken) NeedsLevel() uint32    { return core.LevelRetry }
func (RevokeAPIToken) NeedsLevel() uint32 { return core.LevelRetry }

// Apply adds the user or replaces the roles.
func (c PutUser) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	who := noun.Identity{Kind: noun.UserIdentity, Name: c.Name}
	if no := checkWords(who.Check(), noun.CheckBindings(c.Bindings), c.By); no.Code != noun.OK {
		return no
	}
	grows, had := noun.CostOfUser(&noun.User{Name: c.Name, Bindings: c.Bindings, By: c.By}), s.User(c.Name)
	if had != nil {
		grows -= noun.CostOfUser(had)
	} else {
		if no := s.mayHold(who.Kind); no.Code != noun.OK {
			return no
		}
		grows += noun.CostOfCredential(&noun.Credential{Name: c.Name})
	}
	if no := s.Afford(noun.ForTrust, 0, grows, 0); no.Code != noun.OK {
		return no
	}
	s.putUser(c.Name, c.Bindings, c.By)
	return noun.Outcome{Rev: s.Credential(who.Kind, who.Name).Generation}
}

func (s *State) putUser(name string, bindings []noun.Binding, by string) {
	u := s.UserTable.Mut(s.users[name])
	if u == nil {
		t := &s.Meta.Trust
		t.LastUser++
		u = s.UserTable.Put(t.LastUser)
		u.ID, u.Name = t.LastUser, name
		s.users[name] = u.ID
		s.raise(noun.Identity{Kind: noun.UserIdentity, Name: name})
	}
	u.Bindings, u.By, u.At = slices.Clone(bindings), by, s.Entry.Wall
	s.Event("user.put", core.About{}, fmt.Sprintf("by %s: %s is %s", core.Nobody(by), name, roles(bindings)))
}

// Apply removes the user, tokens to log in included.
func (c RemoveUser) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	u := s.User(c.Name)
	if u == nil {
		return core.Refuse(noun.NotFound, "there is no user %q; `vigil user list` shows them", c.Name)
	}
	if no := checkWords(nil, nil, c.By); no.Code != noun.OK {
		return no
	}
	s.Event("user.removed", core.About{}, fmt.Sprintf("by %s: %s", core.Nobody(c.By), c.Name))
	delete(s.users, c.Name)
	s.UserTable.Del(u.ID)
	s.leave(noun.Identity{Kind: noun.UserIdentity, Name: c.Name}, "the user is removed")
	return noun.Outcome{}
}

// Apply answers with the token's number.
func (c PutAPIToken) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	if no := checkWords(noun.CheckName(c.Name), noun.CheckBindings(c.Bindings), c.By); no.Code != noun.OK {
		return no
	}
	switch _, twice := s.byHash[string(c.Hash)]; {
	case len(c.Hash) != noun.SecretHash || twice:
		return core.Refuse(noun.Invalid, "the hash of the token has %d bytes, it must have %d, and be that of a "+
			"new token", len(c.Hash), noun.SecretHash)
	case c.For <= 0 || c.For > noun.MaxTokenLife:
		return core.Refuse(noun.Invalid, "a token ends after a time of at most %s, not after %s",
			noun.MaxTokenLife, c.For)
	}
	t := noun.APIToken{Name: c.Name, Hash: string(c.Hash), Bindings: slices.Clone(c.Bindings),
		End: s.Meta.Clock.Add(c.For), By: c.By, At: s.Entry.Wall}
	var ended []noun.APITokenID
	for id, t := range s.APITokenTable.From(0) {
		if t.End <= s.Meta.Clock {
			ended = append(ended, id)
		}
	}
	if n := s.APITokenTable.Len() - len(ended); n >= noun.MaxAPITokens {
		return core.Refuse(noun.Full, "there are %d API tokens, at most %d are allowed: revoke some", n,
			noun.MaxAPITokens)
	}
	if no := s.Afford(noun.ForTrust, 0, noun.CostOfAPIToken(&t), 0); no.Code != noun.OK {
		return no
	}
	for _, id := range ended {
		s.dropAPIToken(id)
	}
	s.Meta.Trust.LastAPIToken++
	t.ID = s.Meta.Trust.LastAPIToken
	*s.APITokenTable.Put(t.ID) = t
	s.byHash[t.Hash] = t.ID
	s.Event("api_token.created", core.About{}, fmt.Sprintf("by %s: API token %d (%s) is %s, ends in %s",
		core.Nobody(c.By), t.ID, t.Name, roles(t.Bindings), c.For))
	return noun.Outcome{Rev: uint64(t.ID)}
}

// Apply takes the token away.
func (c RevokeAPIToken) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	t := s.APITokenTable.Get(c.Token)
	if t == nil {
		return core.Refuse(noun.NotFound, "there is no API token %d", c.Token)
	}
	if no := checkWords(nil, nil, c.By); no.Code != noun.OK {
		return no
	}
	s.Event("api_token.revoked", core.About{}, fmt.Sprintf("by %s: API token %d (%s)", core.Nobody(c.By), t.ID,
		t.Name))
	s.dropAPIToken(c.Token)
	return noun.Outcome{}
}

func (s *State) dropAPIToken(id noun.APITokenID) {
	delete(s.byHash, s.APITokenTable.Get(id).Hash)
	s.APITokenTable.Del(id)
}

// checkWords refuses a name, bindings or a speaker that may not be so.
func checkWords(name, bindings error, by string) (no noun.Outcome) {
	switch {
	case name != nil:
		return core.Refuse(noun.Invalid, "%v", name)
	case bindings != nil:
		return core.Refuse(noun.Invalid, "%v", bindings)
	case len(by) > noun.MaxPrincipal:
		return core.Refuse(noun.Invalid, "the name of who speaks has %d bytes, at most %d are allowed", len(by),
			noun.MaxPrincipal)
	}
	return no
}

// roles says bindings in words.
func roles(list []noun.Binding) string {
	words := make([]string, len(list))
	for i, b := range list {
		if words[i] = b.Role.String(); b.Room != noun.Everywhere {
			words[i] += " of " + b.Room
		}
	}
	return noun.Clip(strings.Join(words, ", "), noun.MaxReason)
}
