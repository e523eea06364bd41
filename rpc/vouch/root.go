package vouch

import (
	"context"
	"crypto/sha256"
	"crypto/x509"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// mostBehind is how many servers and hosts are named that the replacement of a root waits for.
const mostBehind = 20

// GetRoots shows the roots.
func (t *Service) GetRoots(context.Context, *vigilv1.GetRootsRequest) (*vigilv1.Roots, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return base.Read(t.Core, showRoots), nil
}

func showRoots(st *fsm.View) *vigilv1.Roots {
	roots, issues := st.Roots()
	w := st.RootWait()
	out := &vigilv1.Roots{Revision: w.Rev, Step: string(w.Step), BehindCount: uint32(len(w.Behind))}
	for i, r := range roots {
		shown := &vigilv1.RootCertificate{Issues: i == issues}
		if c, err := x509.ParseCertificate([]byte(r.DER)); err == nil {
			shown.Fingerprint, shown.NotAfter = trust.Pin(c), timestamppb.New(c.NotAfter)
		}
		out.Roots = append(out.Roots, shown)
	}
	for _, who := range w.Behind[:min(len(w.Behind), mostBehind)] {
		if h := st.HostByKey(who.Name); who.Kind == noun.HostIdentity && h != nil {
			who.Name = h.Name
		}
		out.Behind = append(out.Behind, who.String())
	}
	if w.Left > 0 {
		out.Left = durationpb.New(w.Left)
	}
	return out
}

// ReplaceRoot begins to replace the root. It takes no root for which the present one does not vouch, unless
// that one's key is said to be lost.
func (t *Service) ReplaceRoot(ctx context.Context, r *vigilv1.ReplaceRootRequest) (*vigilv1.Roots, error) {
	var c form.Checks
	if len(r.GetChain()) == 0 {
		c.Fail("chain is missing; send the new root in DER, and the same key signed by the present one.")
	}
	c.AtMost("chain", len(r.GetChain()), noun.MaxRoots)
	for _, der := range r.GetChain() {
		if len(der) > noun.MaxRoot {
			c.Fail("chain has a certificate of %d bytes, at most %d are allowed.", len(der), noun.MaxRoot)
		}
	}
	if c.Err != nil {
		return nil, c.Err
	}
	if err := t.ready(); err != nil {
		return nil, err
	}
	vouched, err := t.checkRoot(r.GetChain())
	if err != nil {
		return nil, fault.Invalid("chain: %v.", err)
	}
	if !vouched && !r.GetLost() {
		return nil, fault.New(code.Invalid, "The present root does not vouch for this one: make it with "+
			"`vigil root rotate` where its key is, or say that the key is lost.")
	}
	cmd := fsm.AddRoot{Cert: r.GetChain()[0], Issues: vouched, By: byWhom(ctx)}
	return change(ctx, t, r, cmd, nil, func(st *fsm.View, _ *noun.Outcome) *vigilv1.Roots { return showRoots(st) })
}

// checkRoot tells whether the root that issues vouches for another one. A root that is there already was
// looked at.
func (t *Service) checkRoot(der [][]byte) (vouched bool, err error) {
	chain, err := trust.Parse(der)
	if err != nil {
		return false, err
	}
	present, there := "", false
	t.Reader.Read(func(st *fsm.View) {
		roots, issues := st.Roots()
		present = roots[issues].DER
		there = roots[len(roots)-1].DER == string(der[0])
	})
	if there {
		return true, nil
	}
	old, err := x509.ParseCertificate([]byte(present))
	if err != nil {
		return false, err
	}
	return trust.CheckRoot(old, chain)
}

// rootOf gives the hash of the root behind a certificate; nil: it is none that the cluster has.
func rootOf(st *fsm.View, chain []*x509.Certificate) []byte {
	roots, _ := st.Roots()
	for _, c := range chain[1:] {
		for _, r := range roots {
			if r.DER == string(c.Raw) {
				sum := sha256.Sum256(c.Raw)
				return sum[:]
			}
		}
	}
	return nil
}
