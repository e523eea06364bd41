package trust

import (
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Check tests what a single state can show of identities.
func (v *View) Check(c *core.Checker) {
	t := &v.Meta.Trust
	all := v.CredentialTable.Len() + v.UserTable.Len() + v.TokenTable.Len() + v.APITokenTable.Len()
	c.That(t.Cluster != "" || all == 0, "a cluster without identities has some")
	c.That(t.Cluster == "" || len(t.Roots) > 0 && len(t.Roots) <= noun.MaxRoots && int(t.Issues) < len(t.Roots),
		"%d roots, number %d issues", len(t.Roots), t.Issues)
	c.That(len(t.Roots) > 1 || t.Issues == 0, "there is %d root, number %d issues", len(t.Roots), t.Issues)
	v.checkRing(c)
	gone, holders := 0, [noun.IdentityKinds]int{}
	for id, k := range v.CredentialTable.From(0) {
		who := k.Identity()
		c.That(k.ID == id && id <= t.LastCredential && v.byName[who] == id, "%s is kept as %d and found as %d",
			who, id, v.byName[who])
		c.That(who.Check() == nil && k.Generation > 0, "%s has generation %d: %v", who, k.Generation, who.Check())
		if k.Gone == 0 {
			holders[k.Kind]++
		} else {
			gone++
			_, found := v.gone.Get(goneName{k.Gone, id})
			c.That(found && k.Serial == "", "%s is gone since %d, in the index: %v, with certificate %q",
				who, k.Gone, found, k.Serial)
		}
		user := v.User(k.Name) != nil
		c.That(k.Kind != noun.UserIdentity || (k.Gone == 0) == user, "%s is gone since %d, a user: %v",
			who, k.Gone, user)
	}
	c.That(gone == v.gone.Len() && gone <= noun.MaxGone && holders == v.holders &&
		len(v.byName) == v.CredentialTable.Len(),
		"L11: %d names are gone and %v in use, counted are %d and %v", gone, holders, v.gone.Len(), v.holders)
	for id, u := range v.UserTable.From(0) {
		k := v.Credential(noun.UserIdentity, u.Name)
		c.That(u.ID == id && id <= t.LastUser && v.users[u.Name] == id && k != nil && k.Gone == 0,
			"user %s is kept as %d and found as %d, its credential is %+v", u.Name, id, v.users[u.Name], k)
		c.That(noun.CheckBindings(u.Bindings) == nil, "user %s: %v", u.Name, noun.CheckBindings(u.Bindings))
	}
	for id, token := range v.TokenTable.From(0) {
		c.That(token.ID == id && id <= t.LastToken && len(token.Hash) == noun.SecretHash,
			"token %d is kept as %d, the newest is %d", token.ID, id, t.LastToken)
	}
	for id, token := range v.APITokenTable.From(0) {
		c.That(token.ID == id && id <= t.LastAPIToken && v.byHash[token.Hash] == id,
			"API token %d is kept as %d and found as %d", token.ID, id, v.byHash[token.Hash])
	}
	c.That(len(v.users) == v.UserTable.Len() && len(v.byHash) == v.APITokenTable.Len() &&
		v.TokenTable.Len() <= noun.MaxTokens && v.APITokenTable.Len() <= noun.MaxAPITokens,
		"L11: %d users, %d tokens and %d API tokens, found by name are %d and %d",
		v.UserTable.Len(), v.TokenTable.Len(), v.APITokenTable.Len(), len(v.users), len(v.byHash))
}
