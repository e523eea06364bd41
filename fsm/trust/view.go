package trust

import (
	"iter"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// ClusterUUID is the name of the cluster in certificates; empty: nobody has an identity in it.
func (v *View) ClusterUUID() string { return v.Meta.Trust.Cluster }

// Roots are the root certificates, and the place of the one that issues.
func (v *View) Roots() (roots []noun.Root, issues int) {
	return v.Meta.Trust.Roots, int(v.Meta.Trust.Issues)
}

// TrustClock is the time that certificates age in: cluster time that a restored backup does not set
// back.
func (v *View) TrustClock() noun.Time { return v.Meta.Clock.Add(v.Meta.Trust.Ahead) }

// Ring says which keys encrypt gossip. It must not be changed.
func (v *View) Ring() *noun.Ring { return &v.Meta.Trust.Ring }

// Credential finds what is known of a name; nil: nothing was ever issued to it, or it has been gone for
// long. One that is gone has a time in Gone.
func (v *View) Credential(kind noun.IdentityKind, name string) *noun.Credential {
	return v.CredentialTable.Get(v.byName[noun.Identity{Kind: kind, Name: name}])
}

// Revoked tells whether what was issued to a name under a generation is known not to count any more. A name
// that this state does not know, or knows as gone, may have joined since under a later generation: a server that
// reads the log from its beginning gets it from such a one.
func (v *View) Revoked(kind noun.IdentityKind, name string, generation uint64) bool {
	if k := v.Credential(kind, name); k != nil {
		return generation < k.Generation || k.Gone != 0 && generation == k.Generation
	}
	return generation <= v.Meta.Trust.Floor
}

// Credentials yields those behind the one named, those that are gone included, in the order in which they
// were made.
func (v *View) Credentials(after noun.CredentialID) iter.Seq[*noun.Credential] {
	return core.Values(v.CredentialTable.From(after + 1))
}

// User finds a user; nil: there is none.
func (v *View) User(name string) *noun.User { return v.UserTable.Get(v.users[name]) }

// Users yields the users in the order in which they were added.
func (v *View) Users() iter.Seq[*noun.User] { return core.Values(v.UserTable.From(0)) }

// Tokens yields the tokens, the oldest first, those that have ended or are used up included.
func (v *View) Tokens() iter.Seq[*noun.Token] { return core.Values(v.TokenTable.From(0)) }

// Token finds a token.
func (v *View) Token(id noun.TokenID) *noun.Token { return v.TokenTable.Get(id) }

// APIToken finds an API token that is in force by the SHA-256 of what was presented.
func (v *View) APIToken(hash string) *noun.APIToken {
	t := v.APITokenTable.Get(v.byHash[hash])
	if t == nil || t.End <= v.Meta.Clock {
		return nil
	}
	return t
}

// APITokens yields the API tokens, the oldest first, those that have ended included.
func (v *View) APITokens() iter.Seq[*noun.APIToken] { return core.Values(v.APITokenTable.From(0)) }
