package vouch

import (
	"context"
	"crypto/x509"
	"errors"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Signer makes certificates with a key of this server. Safe for concurrent use.
type Signer interface {
	// Sign gives the certificate for a request in DER, with the chain to the root behind it. sans are
	// addresses of a server for those who do not know its name. The error of a request that is not signed
	// for wraps trust.ErrRequest.
	Sign(csr []byte, holder trust.Name, s trust.Stamp, sans []string) ([]*x509.Certificate, error)
	// SignIssuer gives the certificate for the issuing key of a server; the error is trust.ErrNoRoot on a
	// server that does not have the key of the root.
	SignIssuer(csr []byte, server trust.Name, s trust.Stamp) ([]*x509.Certificate, error)
}

// Limits of requests for certificates.
const (
	maxAddresses = 32
	maxAddress   = 253
	maxCSR       = 8 << 10
)

// Service serves tokens, certificates, users and API tokens. No secret and no key is in a log line, an
// event or the state.
type Service struct {
	vigilv1.UnimplementedTrustServer
	*base.Core
	Signer Signer // nil: nobody has an identity
}

// ready refuses what makes no sense in a cluster without identities.
func (t *Service) ready() error {
	if t.Signer == nil {
		return fault.New(code.Conflict, "Nobody has an identity in this cluster: its servers run with "+
			"`insecure`, and whoever reaches them may do everything. `vigil server init` founds one with identities.")
	}
	return nil
}

// GetTrust shows the roots, to everybody.
func (t *Service) GetTrust(context.Context, *vigilv1.GetTrustRequest) (*vigilv1.TrustAnchors, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return base.Read(t.Core, anchors), nil
}

func anchors(st *fsm.View) *vigilv1.TrustAnchors {
	roots, issues := st.Roots()
	out := &vigilv1.TrustAnchors{Cluster: st.ClusterUUID(), Issues: uint32(issues)}
	for _, r := range roots {
		out.Roots = append(out.Roots, []byte(r.DER))
	}
	return out
}

// Join lets a server or a host in by a token.
func (t *Service) Join(ctx context.Context, r *vigilv1.JoinTrustRequest) (*vigilv1.Certificate, error) {
	var c form.Checks
	who := identityOf(&c, "kind", r.GetKind(), "name", r.GetName())
	if who.Kind == noun.UserIdentity {
		c.Fail("kind is user; a server or a host joins, a user logs in.")
	}
	checkAddresses(&c, r.GetAddresses())
	return t.admit(ctx, checkPresented(&c, r), who, r, r.GetAddresses())
}

// Login gives a user a certificate by a token.
func (t *Service) Login(ctx context.Context, r *vigilv1.LoginRequest) (*vigilv1.Certificate, error) {
	var c form.Checks
	who := userOf(&c, r.GetUser())
	return t.admit(ctx, checkPresented(&c, r), who, r, nil)
}

// presented are the fields by which somebody is let in.
type presented interface {
	GetToken() uint64
	GetSecret() []byte
	GetCsr() []byte
}

func checkPresented(c *form.Checks, r presented) error {
	if r.GetToken() == 0 {
		c.Fail("token is missing; it is the number in the token that you were given.")
	}
	if n := len(r.GetSecret()); n == 0 || n > form.MaxWho {
		c.Fail("secret has %d bytes; it is the last part of the token that you were given.", n)
	}
	checkRequest(c, r.GetCsr())
	return c.Err
}

func checkRequest(c *form.Checks, csr []byte) {
	if len(csr) == 0 || len(csr) > maxCSR {
		c.Fail("csr has %d bytes; send a certificate request in DER of at most %d.", len(csr), maxCSR)
	}
}

func checkAddresses(c *form.Checks, list []string) {
	c.AtMost("addresses", len(list), maxAddresses)
	for _, a := range list {
		c.Line("addresses", a, maxAddress)
		c.Present("addresses", a, "remove the empty one")
	}
}

// admit uses a token and issues the first certificate. The token is used up only for a request that
// can be signed.
func (t *Service) admit(
	ctx context.Context, wrong error, who noun.Identity, r presented, sans []string,
) (*vigilv1.Certificate, error) {
	if wrong != nil {
		return nil, wrong
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	key, err := keyOf(r.GetCsr())
	if err != nil {
		return nil, err
	}
	id, hash := noun.TokenID(r.GetToken()), hashOf(r.GetSecret())
	known := base.Read(t.Core, func(st *fsm.View) bool {
		token := st.Token(id)
		return token != nil && token.Hash == string(hash)
	})
	if !known { // a stranger who guesses writes nothing into the log
		return nil, fault.New(code.Denied, "There is no such token, or it was revoked or has ended; ask for a new one.")
	}
	if _, err := t.sign(who, 0, r.GetCsr(), sans); err != nil { // the token would be used up for nothing
		return nil, err
	}
	out, err := t.Submit(ctx, nil, fsm.UseToken{Token: id, SecretHash: hash, Kind: who.Kind, Name: who.Name, Key: key})
	if err != nil {
		return nil, err
	}
	return t.issue(ctx, who, out.Number(), "", r.GetCsr(), key, sans)
}

// Renew gives whoever presents a certificate the next one.
func (t *Service) Renew(ctx context.Context, r *vigilv1.RenewTrustRequest) (*vigilv1.Certificate, error) {
	var c form.Checks
	checkRequest(&c, r.GetCsr())
	if checkAddresses(&c, r.GetAddresses()); c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	peer, ok := callerOf(ctx)
	if !ok {
		return nil, fault.New(code.Denied, "Only who presents a certificate can renew it; join with a token.")
	}
	key, err := keyOf(r.GetCsr())
	if err != nil {
		return nil, err
	}
	kind, _ := noun.ParseIdentityKind(string(peer.Kind))
	who := noun.Identity{Kind: kind, Name: peer.ID}
	return t.issue(ctx, who, peer.Generation, peer.Serial, r.GetCsr(), key, r.GetAddresses())
}

// issue signs a certificate, and gives it away once the state knows of it: whether the generation counts,
// and that of two copies only one goes on, is decided there. Its refusal of who has a certificate is one of
// auth_denied: it may have been revoked by mistake, or by a copy that goes away.
func (t *Service) issue(
	ctx context.Context, who noun.Identity, generation uint64, was string, csr, key []byte, sans []string,
) (*vigilv1.Certificate, error) {
	chain, err := t.sign(who, generation, csr, sans)
	if err != nil {
		return nil, err
	}
	serial := chain[0].SerialNumber.Text(16)
	if _, err := t.Submit(ctx, nil, fsm.NoteLeaf{Kind: who.Kind, Name: who.Name, Generation: generation,
		Serial: serial, Was: was, Key: key, Until: noun.Wall(chain[0].NotAfter.UnixNano()),
		Root: base.Read(t.Core, func(st *fsm.View) []byte { return rootOf(st, chain) })}); err != nil {
		if no := fault.Of(err); was != "" && no.Code == code.Denied {
			err = fault.New(code.AuthDenied, "%s", fault.Sentence(no.Text))
		}
		return nil, err
	}
	return &vigilv1.Certificate{Chain: trust.DER(chain), Serial: serial, Generation: generation,
		Anchors: base.Read(t.Core, anchors)}, nil
}

// sign makes a certificate that counts once the state has noted it.
func (t *Service) sign(
	who noun.Identity, generation uint64, csr []byte, sans []string,
) ([]*x509.Certificate, error) {
	var holder trust.Name
	var stamp trust.Stamp
	t.Reader.Read(func(st *fsm.View) {
		holder = trust.Name{Cluster: st.ClusterUUID(), Kind: trust.Kind(who.Kind.String()), ID: who.Name}
		stamp = trust.Stamp{Clock: int64(st.TrustClock()), Epoch: uint64(st.Epoch()), Generation: generation}
	})
	chain, err := t.Signer.Sign(csr, holder, stamp, sans)
	return chain, refusedRequest(err)
}

func keyOf(csr []byte) ([]byte, error) {
	key, err := trust.KeyOf(csr)
	if err != nil {
		return nil, refusedRequest(err)
	}
	return key, nil
}

// refusedRequest says that a request for a certificate is wrong, or what went wrong otherwise.
func refusedRequest(err error) error {
	switch {
	case errors.Is(err, trust.ErrRequest):
		return fault.Invalid("csr: %v.", err)
	case errors.Is(err, trust.ErrNoIssuer):
		return fault.New(code.Unavailable, "Nothing was executed: the leader has no issuing key yet. It gets one "+
			"from the server that has the key of the root as soon as that is up; try again then.")
	}
	return err
}
