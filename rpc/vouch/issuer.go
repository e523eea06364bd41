package vouch

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// SignIssuer signs the issuing key of another server. The caller is a server whose generation was checked. A key of a
// root that does not sign, or not yet, makes none: whose certificate comes from it is refused by all others.
func (t *Service) SignIssuer(ctx context.Context, r *vigilv1.SignIssuerRequest) (*vigilv1.Certificate, error) {
	var c form.Checks
	if checkRequest(&c, r.GetCsr()); c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	peer, ok := callerOf(ctx)
	if !ok || peer.Kind != trust.Server {
		return nil, fault.New(code.Denied, "Only a server has an issuing key.")
	}
	var stamp trust.Stamp
	var issuing string // the root that signs, in DER
	server := peer.Name
	t.Reader.Read(func(st *fsm.View) {
		server.Cluster = st.ClusterUUID()
		stamp = trust.Stamp{Clock: int64(st.TrustClock()), Epoch: uint64(st.Epoch())}
		if known := st.Credential(noun.ServerIdentity, peer.ID); known != nil {
			stamp.Generation = known.Generation
		}
		if roots, issues := st.Roots(); issues < len(roots) {
			issuing = roots[issues].DER
		}
	})
	chain, err := t.Signer.SignIssuer(r.GetCsr(), server, stamp)
	switch {
	case errors.Is(err, trust.ErrNoRoot):
		return nil, fault.New(code.NotFound,
			"This server does not have the key of the root: ask the one that founded the cluster.")
	case err != nil:
		return nil, refusedRequest(err)
	case !slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return string(c.Raw) == issuing }):
		return nil, fault.New(code.NotFound, "This server has the key of another root than the one that signs, perhaps "+
			"an old copy: put the right root.key into the folder trust of its data directory.")
	}
	return &vigilv1.Certificate{Chain: trust.DER(chain), Serial: chain[0].SerialNumber.Text(16)}, nil
}
