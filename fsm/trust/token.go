package trust

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// PutToken makes a token by which somebody can join.
type PutToken struct {
	SecretHash []byte // SHA-256
	Kind       noun.IdentityKind
	Name       string // of whom it lets in; of a user always. Empty: of anybody whose name is free
	Labels     []noun.KV
	Runners    []string
	Uses       uint32
	For        time.Duration // cluster time
	By         string
}

// RevokeToken ends a token. Who has joined by it stays.
type RevokeToken struct {
	Token noun.TokenID
	By    string
}

// UseToken lets somebody in by a token. Key is the SHA-256 of the public key for which a certificate is
// asked: with the same one it can be repeated until the token ends, for the same generation.
type UseToken struct {
	Token      noun.TokenID
	SecretHash []byte
	Kind       noun.IdentityKind
	Name       string
	Key        []byte
}

// NeedsLevel tells that the command came with core.LevelRetry.
func (PutToken) NeedsLevel() uint32    { return core.LevelRetry }
func (RevokeToken) NeedsLevel() uint32 { return core.LevelRetry }
func (UseToken) NeedsLevel() uint32    { return core.LevelRetry }

// Apply answers with the token's number.
func (c PutToken) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	if err := c.check(); err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	if c.Kind == noun.UserIdentity && s.User(c.Name) == nil {
		return core.Refuse(noun.NotFound, "there is no user %q; `vigil user add` adds one", c.Name)
	}
	t := noun.Token{Hash: string(c.SecretHash), Kind: c.Kind, Name: c.Name, Labels: slices.Clone(c.Labels),
		Runners: slices.Sorted(slices.Values(c.Runners)), Uses: c.Uses, End: s.Meta.Clock.Add(c.For),
		By: c.By, At: s.Entry.Wall}
	ended := slices.Collect(s.endedTokens())
	if n := s.TokenTable.Len() - len(ended); n >= noun.MaxTokens {
		return core.Refuse(noun.Full, "there are %d tokens, at most %d are allowed: "+
			"revoke some with `vigil token revoke`", n, noun.MaxTokens)
	}
	if no := s.Afford(noun.ForTrust, 0, noun.CostOfToken(&t), 0); no.Code != noun.OK {
		return no
	}
	for _, id := range ended {
		s.TokenTable.Del(id)
	}
	s.Meta.Trust.LastToken++
	t.ID = s.Meta.Trust.LastToken
	*s.TokenTable.Put(t.ID) = t
	s.Event("token.created", core.About{}, fmt.Sprintf("by %s: %s, for %s, ends in %s", core.Nobody(c.By),
		text(&t), noun.Plural(c.Uses, "use"), c.For))
	return noun.Outcome{Rev: uint64(t.ID)}
}

func (c *PutToken) check() error {
	switch {
	case len(c.SecretHash) != noun.SecretHash:
		return fmt.Errorf("the hash of the secret has %d bytes, it must have %d", len(c.SecretHash),
			noun.SecretHash)
	case c.Kind == 0 || c.Kind >= noun.IdentityKinds:
		return fmt.Errorf("a token is for a server, a host or a user")
	case c.Name == "" && c.Kind == noun.UserIdentity:
		return fmt.Errorf("a token for a user names the user")
	case c.Uses == 0 || c.Uses > noun.MaxTokenUses,
		c.Uses > 1 && c.Name != "" && c.Kind != noun.UserIdentity:
		return fmt.Errorf("a token has 1 to %d uses, and one if it names a server or host", noun.MaxTokenUses)
	case c.For <= 0 || c.For > noun.MaxTokenLife:
		return fmt.Errorf("a token ends after a time of at most %s, not after %s", noun.MaxTokenLife, c.For)
	case len(c.By) > noun.MaxPrincipal:
		return fmt.Errorf("the name of who speaks has %d bytes, at most %d are allowed", len(c.By),
			noun.MaxPrincipal)
	case c.Kind != noun.HostIdentity && len(c.Labels)+len(c.Runners) > 0:
		return fmt.Errorf("only a token for a host can ask for labels and runners")
	case len(c.Labels) > noun.MaxTokenKVs || len(c.Runners) > noun.MaxTokenKVs:
		return fmt.Errorf("at most %d labels and %d runners are allowed", noun.MaxTokenKVs, noun.MaxTokenKVs)
	}
	for i, kv := range c.Labels {
		if kv.Key == "" || len(kv.Key) > noun.MaxName || len(kv.Value) > noun.MaxTokenValue ||
			i > 0 && c.Labels[i-1].Key >= kv.Key {
			return fmt.Errorf("labels are sorted, and have names of 1 to %d and values of at most %d bytes",
				noun.MaxName, noun.MaxTokenValue)
		}
	}
	for _, r := range c.Runners {
		if err := noun.CheckName(r); err != nil {
			return fmt.Errorf("a runner: %w", err)
		}
	}
	if c.Name == "" {
		return nil
	}
	return noun.Identity{Kind: c.Kind, Name: c.Name}.Check()
}

// Apply takes the token away, whatever is left of it.
func (c RevokeToken) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	t := s.TokenTable.Get(c.Token)
	if t == nil {
		return core.Refuse(noun.NotFound, "there is no token %d; `vigil token list` shows them", c.Token)
	}
	s.Event("token.revoked", core.About{}, fmt.Sprintf("by %s: %s", core.Nobody(c.By), text(t)))
	s.TokenTable.Del(c.Token)
	return noun.Outcome{}
}

// Apply answers with the generation of who is let in.
func (c UseToken) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	who := noun.Identity{Kind: c.Kind, Name: c.Name}
	t := s.TokenTable.Get(c.Token)
	if t == nil || len(c.SecretHash) != noun.SecretHash || t.Hash != string(c.SecretHash) {
		return core.Refuse(noun.Denied, "there is no such token, or it was revoked or has ended; ask for a new one")
	}
	if t.End <= s.Meta.Clock {
		return core.Refuse(noun.Denied, "token %d has ended; ask for a new one", t.ID)
	}
	if len(c.Key) != noun.SecretHash {
		return core.Refuse(noun.Invalid, "the hash of the public key has %d bytes, it must have %d", len(c.Key),
			noun.SecretHash)
	}
	if err := who.Check(); err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	if t.Kind != c.Kind || t.Name != "" && t.Name != c.Name {
		return core.Refuse(noun.Denied, "token %d is for %s, not for %s", t.ID, whom(t), who)
	}
	had := s.Credential(c.Kind, c.Name)
	if had != nil && had.Gone == 0 && had.Token == t.ID && had.Joined == string(c.Key) { // its answer was lost
		forgetLeaf(s.CredentialTable.Mut(had.ID))
		return noun.Outcome{Rev: had.Generation, Count: 1}
	}
	switch {
	case t.Uses == 0:
		return core.Refuse(noun.Denied, "token %d is used up; ask for a new one", t.ID)
	case had != nil && had.Gone == 0 && t.Name == "":
		return core.Refuse(noun.Conflict, "%s has an identity already; to replace it make a token for this name: "+
			"`vigil token create --role %s --name %s`", who, c.Kind, c.Name)
	case c.Kind == noun.UserIdentity && s.User(c.Name) == nil:
		return core.Refuse(noun.Denied, "there is no user %q any more", c.Name)
	}
	if no := s.mayAdmit(who, had, t); no.Code != noun.OK {
		return no
	}
	s.TokenTable.Mut(t.ID).Uses--
	k := s.admit(who, had)
	k.Token, k.Joined, k.Labels, k.Runners = t.ID, string(c.Key), t.Labels, t.Runners
	s.Event("token.used", core.About{}, fmt.Sprintf("%s joined, generation %d, by %s of %s", who, k.Generation,
		text(t), core.Nobody(t.By)))
	return noun.Outcome{Rev: k.Generation}
}

// endedTokens yields the tokens whose time is over. They are removed when the next one is made: whoever
// comes too late is told so until then.
func (s *State) endedTokens() iter.Seq[noun.TokenID] {
	return func(yield func(noun.TokenID) bool) {
		for id, t := range s.TokenTable.From(0) {
			if t.End <= s.Meta.Clock && !yield(id) {
				return
			}
		}
	}
}

// dropTokens takes away what would let this name in.
func (s *State) dropTokens(who noun.Identity) {
	for id, t := range s.TokenTable.From(0) {
		if t.Kind == who.Kind && t.Name == who.Name {
			s.TokenTable.Del(id)
		}
	}
}

// whom a token lets in, in words.
func whom(t *noun.Token) string {
	if t.Name == "" {
		return "a " + t.Kind.String()
	}
	return noun.Identity{Kind: t.Kind, Name: t.Name}.String()
}

func text(t *noun.Token) string { return fmt.Sprintf("token %d for %s", t.ID, whom(t)) }
