package trust

import (
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// outnumber brings identities in line when a backup takes the place of a state. They are of the cluster,
// not of the backup: what was revoked since stays revoked, and what was let in since stays in. Tokens of
// the backup are void, since they may have been used.
//
//   - The state that is replaced has none (a server that goes on alone from what its disk has): those of the
//     backup count.
//   - It is another cluster: only what it has counts, since its members hold no certificates but its own.
//   - It is the same cluster: of each name the greater generation counts.
func (s *State) outnumber(was core.Replaced) {
	t, old := &s.Meta.Trust, was.Meta.Trust
	mine := t.Cluster
	ahead := max(s.TrustClock(), was.Meta.Clock.Add(old.Ahead)).Sub(s.Meta.Clock)
	lost := was.Lost || old.LastToken < t.LastToken // what comes next may have been handed out before
	credentials, users := s.takeOut(was)
	switch {
	case old.Cluster != "" && old.Cluster != mine:
		*t, credentials, users = old, nil, nil
		t.Ahead = was.Meta.Clock.Add(old.Ahead).Sub(s.Meta.Clock)
	case old.Cluster == "":
		lost = true
		t.Ring = anew(t.Ring)
	default:
		last, floor := *t, max(t.Floor, old.Floor)
		*t = old
		t.Floor, t.Ahead = floor, ahead
		t.LastToken, t.LastAPIToken = max(t.LastToken, last.LastToken), max(t.LastAPIToken, last.LastAPIToken)
	}
	t.Ring.Acks = nil // of servers that may be others by now
	s.mergeCredentials(was, credentials)
	s.mergeUsers(was, users)
	if lost && t.Cluster == mine && mine != "" {
		t.Floor += core.RestoreLeap
	}
	s.evict()
}

// takeOut empties the tables; the tokens of the replaced state take the place of those of the backup.
func (s *State) takeOut(was core.Replaced) (credentials []noun.Credential, users []noun.User) {
	for id, k := range s.CredentialTable.From(0) {
		credentials = append(credentials, *k)
		s.CredentialTable.Del(id)
	}
	for id, u := range s.UserTable.From(0) {
		users = append(users, *u)
		s.UserTable.Del(id)
	}
	for id := range s.TokenTable.From(0) {
		s.TokenTable.Del(id)
	}
	for id := range s.APITokenTable.From(0) {
		s.APITokenTable.Del(id)
	}
	s.reset(struct{}{})
	// In the clock of the backup they have as long to live as they had.
	left := func(end noun.Time) noun.Time { return max(1, s.Meta.Clock.Add(end.Sub(was.Meta.Clock))) }
	for id, token := range was.TokenTable.From(0) {
		t := s.TokenTable.Put(id)
		*t = *token
		t.End = left(token.End)
	}
	for id, token := range was.APITokenTable.From(0) {
		t := s.APITokenTable.Put(id)
		*t = *token
		t.End = left(token.End)
		s.byHash[t.Hash] = id
	}
	return credentials, users
}

// mergeCredentials gives each name the greater generation of both states.
func (s *State) mergeCredentials(was core.Replaced, backup []noun.Credential) {
	floor := was.Meta.Trust.Floor
	own := map[noun.Identity]int{}
	for i := range backup {
		own[backup[i].Identity()] = i
	}
	put := func(k noun.Credential) *noun.Credential {
		s.Meta.Trust.LastCredential++
		k.ID = s.Meta.Trust.LastCredential
		at := s.CredentialTable.Put(k.ID)
		*at = k
		if k.Gone != 0 {
			at.Gone = max(s.Meta.Clock, 1)
		}
		s.byName[k.Identity()] = k.ID
		s.count(at, +1)
		return at
	}
	for _, k := range was.CredentialTable.From(0) {
		i, both := own[k.Identity()]
		if !both || k.Generation >= backup[i].Generation {
			put(*k)
			continue
		}
		forgetLeaf(put(backup[i]))
	}
	for _, k := range backup {
		if _, done := s.byName[k.Identity()]; done {
			continue
		}
		at := put(k)
		forgetLeaf(at) // newer ones may have been issued
		if k.Gone == 0 && k.Generation <= floor {
			s.retire(at) // it was gone, and has been forgotten
		}
	}
}

// mergeUsers keeps the users of the replaced state as they are, and adds those of the backup that were not
// removed since.
func (s *State) mergeUsers(was core.Replaced, backup []noun.User) {
	put := func(u noun.User) {
		s.Meta.Trust.LastUser++
		u.ID = s.Meta.Trust.LastUser
		*s.UserTable.Put(u.ID) = u
		s.users[u.Name] = u.ID
	}
	for _, u := range was.UserTable.From(0) {
		put(*u)
	}
	for _, u := range backup {
		if k := s.Credential(noun.UserIdentity, u.Name); s.User(u.Name) == nil && k != nil && k.Gone == 0 {
			u.Bindings = slices.Clone(u.Bindings)
			put(u)
		}
	}
	for _, u := range s.UserTable.From(0) { // of a generation of the backup that was above, and gone
		if k := s.Credential(noun.UserIdentity, u.Name); k == nil || k.Gone != 0 {
			delete(s.users, u.Name)
			s.UserTable.Del(u.ID)
		}
	}
}
