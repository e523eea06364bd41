package trust

import (
	"fmt"
	"strconv"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// NoteLeaf notes that a certificate is issued to who holds one; nothing is handed out before it. A
// certificate whose successor is in use is not renewed: somebody else has its key (law L7 rests on hosts
// being one). Users may hold several.
type NoteLeaf struct {
	Kind       noun.IdentityKind
	Name       string
	Generation uint64    // of the new certificate
	Serial     string    // of the new certificate
	Was        string    // serial of the one that asks; empty: it was let in by a token
	Key        []byte    // SHA-256 of the public key of the new certificate
	Until      noun.Wall // date of the new certificate, for people
	Root       []byte    // SHA-256 of the root behind it; empty: not known
}

// RaiseGeneration revokes whatever was issued to a name, and the tokens that name it. A name that no
// member, host or user has is free then.
type RaiseGeneration struct {
	Kind noun.IdentityKind
	Name string
	By   string
}

// NeedsLevel tells that the command came with core.LevelRetry.
func (NoteLeaf) NeedsLevel() uint32        { return core.LevelRetry }
func (RaiseGeneration) NeedsLevel() uint32 { return core.LevelRetry }

// Apply notes the certificate. A refusal as a clone opens an escalation, and changes nothing else.
func (c NoteLeaf) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	who := noun.Identity{Kind: c.Kind, Name: c.Name}
	if c.Serial == "" || len(c.Serial) > noun.MaxSerial || len(c.Was) > noun.MaxSerial ||
		len(c.Key) != noun.SecretHash || len(c.Root) != 0 && len(c.Root) != noun.SecretHash {
		return core.Refuse(noun.Invalid, "a certificate has a serial of 1 to %d bytes, and the hashes of its key and "+
			"root have %d", noun.MaxSerial, noun.SecretHash)
	}
	k := s.CredentialTable.Mut(s.byName[who])
	switch {
	case k == nil || k.Gone != 0:
		return core.Refuse(noun.Denied, "%s has no identity in this cluster any more; join with a new token", who)
	case k.Generation != c.Generation:
		return core.Refuse(noun.Denied, "generation %d of %s is revoked; join with a new token", c.Generation, who)
	}
	repeated := c.Was == k.Before && string(c.Key) == k.Key // the answer to the last renewal was lost
	switch {
	case c.Kind == noun.UserIdentity || k.Serial == "" || c.Was == k.Serial:
		k.Before = c.Was
	case !repeated:
		s.callForClone(k)
		return core.Refuse(noun.Denied, "certificate %s of %s is not the newest one: another machine has this "+
			"identity; revoke it, and join with a new token on the machine that is to have it", c.Was, who)
	}
	k.Serial, k.Key, k.IssuedAt, k.Until = c.Serial, string(c.Key), s.TrustClock(), c.Until
	k.Root, k.RootsRev = string(c.Root), s.Meta.Trust.RootsRev
	return noun.Outcome{Rev: k.Generation}
}

func (s *State) callForClone(k *noun.Credential) {
	e := noun.Escalation{Kind: noun.EscIdentityCloned, Subject: k.Identity().String(), Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "generation", Value: strconv.FormatUint(k.Generation, 10)}}}
	if h := s.HostByKey(k.Name); k.Kind == noun.HostIdentity && h != nil {
		e.Host = h.Name
	}
	s.Hooks.Human.Call(e)
}

// Apply answers with the generation that counts from now.
func (c RaiseGeneration) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	who := noun.Identity{Kind: c.Kind, Name: c.Name}
	k := s.CredentialTable.Get(s.byName[who])
	if len(c.By) > noun.MaxPrincipal {
		return core.Refuse(noun.Invalid, "the name of who speaks has %d bytes, at most %d are allowed", len(c.By),
			noun.MaxPrincipal)
	}
	if k == nil || k.Gone != 0 {
		return core.Refuse(noun.NotFound, "%s has no identity in this cluster", who)
	}
	s.dropTokens(who)
	if !s.known(who) {
		s.leave(who, "revoked by "+core.Nobody(c.By))
	} else {
		s.outdate(who, "was revoked")
		k = s.raise(who)
		s.Event("identity.revoked", core.About{}, fmt.Sprintf("by %s: %s, generation %d", core.Nobody(c.By), who,
			k.Generation))
	}
	return noun.Outcome{Rev: s.Credential(who.Kind, who.Name).Generation}
}

// known tells whether the cluster has somebody of the name beside its certificate.
func (v *View) known(who noun.Identity) bool {
	switch who.Kind {
	case noun.ServerIdentity:
		_, member := v.Member(who.Name)
		return member
	case noun.HostIdentity:
		return v.HostByKey(who.Name) != nil
	}
	return v.User(who.Name) != nil
}

// raise gives a name a generation above any that it had, and makes it known if it is not.
func (s *State) raise(who noun.Identity) *noun.Credential {
	k := s.CredentialTable.Mut(s.byName[who])
	if k == nil {
		t := &s.Meta.Trust
		t.LastCredential++
		k = s.CredentialTable.Put(t.LastCredential)
		k.ID, k.Kind, k.Name = t.LastCredential, who.Kind, who.Name
		s.byName[who] = k.ID
	} else {
		s.count(k, -1)
	}
	k.Generation, k.Gone = max(k.Generation, s.Meta.Trust.Floor)+1, 0
	forgetLeaf(k)
	s.count(k, +1)
	s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscIdentityCloned, Subject: who.String()})
	return k
}

// forgetLeaf makes the next certificate the first one.
func forgetLeaf(k *noun.Credential) {
	k.Serial, k.Before, k.Key, k.IssuedAt, k.Until = "", "", "", 0, 0
	k.Root, k.RootsRev = "", 0
}

// leave takes a name out of use: what it holds is revoked, and its generation is remembered.
func (s *State) leave(who noun.Identity, why string) {
	k := s.Credential(who.Kind, who.Name)
	if k == nil || k.Gone != 0 {
		return
	}
	k = s.raise(who)
	s.dropTokens(who)
	s.retire(k)
	s.outdate(who, "is gone")
	s.Event("identity.revoked", core.About{}, fmt.Sprintf("%s: %s, generation %d", who, why, k.Generation))
	s.evict()
}

// retire marks a name as gone.
func (s *State) retire(k *noun.Credential) {
	s.count(k, -1)
	k.Gone = max(s.Meta.Clock, 1)
	k.Token, k.Joined, k.Labels, k.Runners = 0, "", nil, nil
	s.count(k, +1)
}

// evict forgets the names that went first. No name falls behind its generation: whoever gets it anew is
// above all that are forgotten.
func (s *State) evict() {
	for s.gone.Len() > noun.MaxGone {
		first, _ := s.gone.Min()
		k := s.CredentialTable.Get(first.id)
		s.Meta.Trust.Floor = max(s.Meta.Trust.Floor, k.Generation)
		s.gone.Delete(first)
		delete(s.byName, k.Identity())
		s.CredentialTable.Del(first.id)
	}
}

// mayAdmit refuses one more identity than there may be. had is what is known of the name.
func (s *State) mayAdmit(who noun.Identity, had *noun.Credential, t *noun.Token) noun.Outcome {
	grows := noun.CostOfCredential(&noun.Credential{Name: who.Name, Joined: t.Hash, Labels: t.Labels,
		Runners: t.Runners})
	if had != nil && had.Gone == 0 {
		grows -= noun.CostOfCredential(had)
	} else if no := s.mayHold(who.Kind); no.Code != noun.OK {
		return no
	}
	return s.Afford(noun.ForTrust, 0, grows, 0)
}

// mayHold refuses one more identity of a kind than there may be.
func (v *View) mayHold(kind noun.IdentityKind) (no noun.Outcome) {
	machines := v.holders[noun.ServerIdentity] + v.holders[noun.HostIdentity]
	switch {
	case kind == noun.UserIdentity && v.holders[kind] >= noun.MaxUsers:
		return core.Refuse(noun.Full, "there are %d users, at most %d are allowed: "+
			"remove some with `vigil user remove`", v.holders[kind], noun.MaxUsers)
	case kind != noun.UserIdentity && machines >= noun.MaxMachines:
		return core.Refuse(noun.Full, "%d servers and hosts have an identity, at most %d are allowed: "+
			"forget hosts that will not come back (`vigil host forget`)", machines, noun.MaxMachines)
	}
	return no
}

// admit gives a name to who was let in. A machine is the only one of its name from now on; a user may
// log in on several.
func (s *State) admit(who noun.Identity, had *noun.Credential) *noun.Credential {
	if had != nil && had.Gone == 0 && who.Kind == noun.UserIdentity {
		return s.CredentialTable.Mut(had.ID)
	}
	return s.raise(who)
}
