package vouch

import (
	"crypto/tls"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/trust"
)

// Standing is what the state knows of who makes a claim.
type Standing struct {
	Known      bool        // there is such a server, host, user or API token
	Empty      bool        // nothing of the cluster's identities is there yet: nobody can be known
	Generation uint64      // certificates of an earlier one are revoked
	Clock      noun.Time   // now, on the clock on which certificates age
	Void       bool        // a server that is revoked has signed the certificate, and nobody knows of it
	Rights     []who.Right // of a user or an API token; never changed
}

// Identities says who calls, by certificates and by the state.
type Identities struct {
	roots func() *trust.Roots
	look  func(*fsm.View, who.Claim) Standing
	state base.Reader
}

var _ door.Identify = (*Identities)(nil)

// NewIdentities trusts the roots that the function gives at that moment. look is called under the
// read lock for each call, and must be quick.
func NewIdentities(roots func() *trust.Roots, state base.Reader, look func(*fsm.View, who.Claim) Standing) *Identities {
	return &Identities{roots: roots, look: look, state: state}
}

// Claim implements door.Identify. The chain was verified in the handshake too; here it tells the name.
func (i *Identities) Claim(cs *tls.ConnectionState) (who.Claim, error) {
	if len(cs.PeerCertificates) == 0 {
		return who.Claim{}, nil
	}
	p, err := i.roots().Verify(cs.PeerCertificates)
	if err != nil {
		return who.Claim{}, fault.New(code.AuthDenied, "%s", fault.Sentence(err.Error()))
	}
	return ClaimOf(p), nil
}

// ClaimOf is what a certificate says.
func ClaimOf(p trust.Peer) who.Claim {
	return who.Claim{Kind: who.Kind(p.Kind), Name: p.ID, Generation: p.Generation, Epoch: p.Epoch, Clock: p.Clock,
		Serial: p.Serial, Issuer: who.Issuer(p.Issuer)}
}

// Principal implements door.Identify.
func (i *Identities) Principal(c who.Claim) (who.Principal, error) {
	var s Standing
	i.state.Read(func(st *fsm.View) { s = i.look(st, c) })
	if !s.Known && (s.Empty || i.state.Leader().ID == "") {
		return who.Principal{}, &fault.Error{Code: code.NoLeader} // it may not have read its log yet
	}
	return weigh(c, s)
}

// renewedBy says who renews the certificates of people, and what programs have instead: those of hosts and servers
// renew themselves.
func renewedBy(kind who.Kind) string {
	if kind != who.User {
		return ""
	}
	return "; each command of vigil on its machine does so first, vigil room list for instance, and a program that runs " +
		"for longer takes an API token"
}

// weigh compares a claim with what is known. A replica that is behind may see a certificate from its
// future: what a later generation has issued is not revoked, and such a one is not old.
func weigh(c who.Claim, s Standing) (who.Principal, error) {
	p := who.Principal{Claim: c, Rights: s.Rights}
	switch {
	case !s.Known:
		return who.Principal{}, fault.New(code.AuthDenied,
			"There is no %s in this cluster (any more); join or log in with a new token.", &p)
	case c.Kind == who.APIToken:
		return p, nil
	case c.Generation < s.Generation:
		return who.Principal{}, fault.New(code.AuthDenied,
			"This certificate of %s was revoked; join or log in with a new token.", &p)
	case s.Void:
		return who.Principal{}, fault.New(code.AuthDenied, "This certificate of %s was signed by server %s, which is "+
			"revoked, and nothing tells that it was issued before that; join or log in with a new token.", &p,
			fault.Quote(c.Issuer.Server))
	}
	life := trust.LifeOf(trust.Kind(c.Kind))
	switch age := s.Clock.Sub(noun.Time(c.Clock)); {
	case age < life:
		return p, nil
	case age < life+trust.Grace:
		return p, fault.New(code.AuthExpired, "The certificate of %s is %s old: it can only be renewed, for %s more%s.", &p,
			age.Round(time.Second), (life + trust.Grace - age).Round(time.Minute), renewedBy(c.Kind))
	default:
		return who.Principal{}, fault.New(code.AuthDenied, "The certificate of %s is %s old: it can no longer be "+
			"renewed; join or log in with a new token.", &p, age.Round(time.Second))
	}
}
