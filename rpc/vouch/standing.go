package vouch

import (
	"encoding/hex"
	"strconv"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
)

// StandingOf is what the state knows of who makes a claim; for NewIdentities. A server that this
// replica has never heard of, or knows as gone, may have joined since: its certificate is as good as its
// chain. What a revoked server has signed counts only where the state has noted that very certificate: it
// went out before.
func StandingOf(st *fsm.View, c who.Claim) Standing {
	s := Standing{Clock: st.TrustClock(), Empty: st.ClusterUUID() == ""}
	if c.Kind == who.APIToken {
		hash, err := hex.DecodeString(c.Serial)
		if t := st.APIToken(string(hash)); err == nil && t != nil && strconv.FormatUint(uint64(t.ID), 10) == c.Name {
			s.Known, s.Rights = true, rightsOf(t.Bindings)
		}
		return s
	}
	kind, ok := noun.ParseIdentityKind(string(c.Kind))
	if !ok {
		return s
	}
	k := st.Credential(kind, c.Name)
	switch {
	case k != nil && k.Gone == 0:
		s.Known, s.Generation = true, k.Generation
	case c.Kind == who.Server:
		s.Known = !st.Revoked(kind, c.Name, c.Generation)
	}
	if by := c.Issuer; by.Server != "" && st.Revoked(noun.ServerIdentity, by.Server, by.Generation) {
		s.Void = k == nil || c.Serial != k.Serial && c.Serial != k.Before
	}
	if c.Kind == who.User {
		u := st.User(c.Name)
		if s.Known = s.Known && u != nil; s.Known {
			s.Rights = rightsOf(u.Bindings)
		}
	}
	return s
}

// RevokedServer tells whether the certificate of a server is known not to count any more. Its age does not
// matter here: a voter that was away for months may be the one whose vote the others need.
func RevokedServer(st *fsm.View, c who.Claim) bool {
	s := StandingOf(st, c)
	return !s.Known || s.Void || c.Generation < s.Generation
}

func rightsOf(bindings []noun.Binding) []who.Right {
	out := make([]who.Right, len(bindings))
	for i, b := range bindings {
		out[i] = who.Right{Role: code.Role(b.Role), Room: b.Room}
	}
	return out
}
