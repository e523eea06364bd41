package serve

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"vigil/fsm"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// signs is a server that signs issuing keys with whatever root.key it has, as programs did that asked nobody whether
// that root counts.
type signs struct {
	vigilv1.UnimplementedTrustServer
	*identity
}

func (s signs) SignIssuer(_ context.Context, r *vigilv1.SignIssuerRequest) (*vigilv1.Certificate, error) {
	self, _ := s.holder.Self()
	name := trust.Name{Cluster: s.holder.Roots().Cluster, Kind: trust.Server, ID: self.ID}
	chain, err := s.identity.SignIssuer(r.GetCsr(), name, trust.Stamp{Generation: 1})
	return &vigilv1.Certificate{Chain: trust.DER(chain)}, err
}

// serve has a server answer with a key of a root, and gives its address.
func (k *known) serve(id string, root *trust.Authority) string {
	k.t.Helper()
	i := k.server(id)
	if err := i.dir.Put(trust.RootFiles, root); err != nil {
		k.t.Fatal(err)
	}
	lis := good(net.Listen("tcp", "127.0.0.1:0"))(k.t)
	g := grpc.NewServer(grpc.Creds(credentials.NewTLS(i.holder.Server(false, "h2"))))
	vigilv1.RegisterTrustServer(g, signs{identity: i})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Serve(lis) // until Stop
	}()
	k.t.Cleanup(func() {
		g.Stop()
		<-done
	})
	return lis.Addr().String()
}

// replaced is a cluster whose root was replaced, and the old one.
func replaced(t *testing.T) (k *known, old *trust.Authority) {
	old = good(trust.NewRoot(trust.NewCluster(), time.Now()))(t)
	next := good(old.Successor(time.Now()))(t)
	return &known{t: t, root: next, roots: good(trust.NewRoots(next.Chain[0]))(t)}, old
}

// A copy of the old root's key that was put back on some server replaces no issuing key that counts: a server passes
// over what that one signs, and takes what the right key signs.
func TestKeyOfAnOldRootReplacesNoIssuingKey(t *testing.T) {
	k, old := replaced(t)
	stale, right := k.serve("s1", old), k.serve("s2", k.root)
	asks := k.server("s3")
	issuer := func() *certificate { return good(asks.dir.Get(trust.IssuerFiles))(t).Chain[0] }
	had := issuer()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := asks.getIssuer(ctx, []string{stale}, k.root.Chain[0])
	if err == nil || !strings.Contains(err.Error(), "the key of another root") || !issuer().Equal(had) {
		t.Errorf("the only answer is of the old root: %v; the issuing key stays: %v", err, issuer().Equal(had))
	}
	if err := asks.getIssuer(ctx, []string{stale, right}, k.root.Chain[0]); err != nil || issuer().Equal(had) {
		t.Errorf("the second answer is of the root that signs: %v; there is another issuing key: %v", err,
			!issuer().Equal(had))
	}
	if asks.needsIssuer(0, k.root.Chain[0]) {
		t.Error("the issuing key that it got is not of the root that signs")
	}
}

// A server signs issuing keys only with the key of the root that signs, or of one for which that vouches: the state may
// come from a backup of before the root was replaced.
func TestOnlyTheRootThatSignsMakesIssuingKeys(t *testing.T) {
	k, old := replaced(t)
	lost := good(trust.NewRoot(k.roots.Cluster, time.Now()))(t) // instead of one whose key was lost
	for _, tt := range []struct {
		name   string
		has    *trust.Authority
		counts []*trust.Authority // of which the first signs
		want   string
	}{
		{"the right one", k.root, []*trust.Authority{k.root}, ""},
		{"the first one", old, []*trust.Authority{old}, ""},
		{"one that was replaced", old, []*trust.Authority{k.root}, code.NotFound},
		{"one that is not known to all yet", lost, []*trust.Authority{k.root, lost}, code.NotFound},
		{"its successor, in a state of before", k.root, []*trust.Authority{old}, ""},
	} {
		server := k.server("s1")
		if err := server.dir.Put(trust.RootFiles, tt.has); err != nil {
			t.Fatal(err)
		}
		l := &ledger{t: t, s: fsm.New()}
		self, _ := server.holder.Self()
		l.must(fsm.LeaderEstablished{Server: "s1"})
		l.must(fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.PutServer{ID: "s1"},
			fsm.FoundTrust{Cluster: k.roots.Cluster, Roots: []fsm.Root{{Cert: tt.counts[0].Chain[0].Raw}},
				Server: "s1", Serial: self.Serial})
		for _, root := range tt.counts[1:] {
			l.must(fsm.AddRoot{Cert: root.Chain[0].Raw})
		}
		service := &vouch.Service{Core: &base.Core{Reader: l}, Signer: server}
		csr := good(trust.Request(good(trust.NewKey())(t)))(t)
		caller := &who.Principal{Claim: who.Claim{Kind: who.Server, Name: "s1", Generation: 1}}
		got, err := service.SignIssuer(who.With(t.Context(), caller), &vigilv1.SignIssuerRequest{Csr: csr})
		if tt.want != "" {
			if err == nil || fault.Of(err).Code != tt.want || !strings.Contains(err.Error(), "the right root.key") {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
			continue
		}
		if err != nil || len(got.GetChain()) < 2 {
			t.Errorf("%s: a chain of %d, %v", tt.name, len(got.GetChain()), err)
		}
	}
}
