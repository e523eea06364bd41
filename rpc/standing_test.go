package rpc

import (
	"testing"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// A server that is removed, or revoked, keeps the key with which it signed. What it signs from then on
// counts nowhere, whomever it names; what the state has noted before goes on counting.
func TestWhatARevokedServerSignsIsVoid(t *testing.T) {
	w, roots := trusting(t, 1)
	token := w.token(t, "host", "")
	cert, err := w.trust(0).Join(within(t), &vigilv1.JoinTrustRequest{Token: token.GetToken(), Secret: token.GetSecret(),
		Csr: certRequest(t), Kind: "host", Name: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	judge := vouch.NewIdentities(func() *trust.Roots { return roots }, w.nodes[0], vouch.StandingOf)
	noted := vouch.ClaimOf(verified(t, roots, cert))
	if noted.Issuer != (who.Issuer{Server: "s1", Generation: 1}) {
		t.Fatalf("the certificate is signed by %+v", noted.Issuer)
	}
	forged := noted
	forged.Serial = "ff"
	by := func(kind who.Kind, name string, generation uint64, issuer who.Issuer) who.Claim {
		return who.Claim{Kind: kind, Name: name, Generation: generation, Serial: "ff", Issuer: issuer}
	}
	s1, s1Anew, s2 := who.Issuer{Server: "s1", Generation: 1}, who.Issuer{Server: "s1", Generation: 2},
		who.Issuer{Server: "s2", Generation: 1}
	cases := map[string]struct {
		claim         who.Claim
		before, after string
	}{
		"one that was noted":              {noted, "ok", "ok"},
		"of the same name":                {forged, "ok", code.AuthDenied},
		"an admin":                        {by(who.User, "ann", 1, s1), "ok", code.AuthDenied},
		"a server that nobody knows":      {by(who.Server, "s9", 1, s1), "ok", code.AuthDenied},
		"itself, as it was":               {by(who.Server, "s1", 1, s1), "ok", code.AuthDenied},
		"itself, as it would be":          {by(who.Server, "s1", 2, s1), "ok", code.AuthDenied},
		"signed with its next key":        {by(who.User, "ann", 1, s1Anew), "ok", "ok"},
		"a new server of another":         {by(who.Server, "s9", 1, s2), "ok", "ok"},
		"a generation that nobody gets":   {by(who.Server, "s9", 0, s2), code.AuthDenied, code.AuthDenied},
		"an admin, signed by the new key": {by(who.User, "ann", 1, s2), "ok", "ok"},
	}
	for _, revoked := range []bool{false, true} {
		if revoked {
			if err := w.do(fsm.RaiseGeneration{Kind: noun.ServerIdentity, Name: "s1", By: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		for what, tt := range cases {
			want := tt.before
			if revoked {
				want = tt.after
			}
			_, err := judge.Principal(tt.claim)
			if codeOf(err) != want {
				t.Errorf("%s, revoked: %t: %v, want %s", what, revoked, err, want)
			}
			w.nodes[0].Read(func(st *fsm.View) {
				if got := vouch.RevokedServer(st, tt.claim); tt.claim.Kind == who.Server && got != (err != nil) {
					t.Errorf("%s, revoked: %t, at the port of the log: %t", what, revoked, got)
				}
			})
		}
	}
}

// A server that was removed and has joined again may be the leader from which a replica reads of its
// removal: that replica hears it on, and nothing of what it had before (the log would never come to its end).
func TestServerThatJoinedAgainIsHeardByWhoReadsOfItsRemoval(t *testing.T) {
	w, _ := trusting(t, 1)
	join := func() uint64 {
		token := w.token(t, "server", "")
		cert, err := w.trust(0).Join(within(t), &vigilv1.JoinTrustRequest{Token: token.GetToken(),
			Secret: token.GetSecret(), Csr: certRequest(t), Kind: "server", Name: "s4"})
		if err != nil {
			t.Fatal(err)
		}
		return cert.GetGeneration()
	}
	revoked := func(generation uint64) (out bool) {
		w.nodes[0].Read(func(st *fsm.View) {
			out = vouch.RevokedServer(st, who.Claim{Kind: who.Server, Name: "s4", Generation: generation, Serial: "ff"})
		})
		return out
	}
	first := join()
	if err := w.do(fsm.RaiseGeneration{Kind: noun.ServerIdentity, Name: "s4", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if !revoked(first) || !revoked(first+1) || revoked(first+2) {
		t.Errorf("generation %d is gone; revoked are %d: %t, %d: %t, %d: %t", first, first, revoked(first),
			first+1, revoked(first+1), first+2, revoked(first+2))
	}
	if again := join(); again != first+2 || revoked(again) {
		t.Errorf("it joined again with generation %d, revoked: %t", again, revoked(again))
	}
}
