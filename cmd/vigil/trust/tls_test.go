package trust

import (
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// What comes next follows from what is left, and is said to whoever has to do it.
func TestNextOfACertificate(t *testing.T) {
	span := durationpb.New
	for _, c := range []struct {
		of   *vigilv1.Identity
		want string
	}{
		{&vigilv1.Identity{Kind: "server"}, "joins by a new token"},
		{&vigilv1.Identity{Kind: "user"}, "log in by a new token"},
		{&vigilv1.Identity{Kind: "host", Gone: true}, "out of use"},
		{&vigilv1.Identity{Kind: "server", Serial: "1", RenewsIn: span(time.Hour), Left: span(13 * time.Hour)},
			"it renews itself in 1h"},
		{&vigilv1.Identity{Kind: "user", Serial: "1", RenewsIn: span(time.Hour)}, "a command renews it in 1h"},
		{&vigilv1.Identity{Kind: "host", Serial: "1", Left: span(3 * time.Hour)}, "from now on, within 3h"},
		{&vigilv1.Identity{Kind: "host", Serial: "1", Grace: span(5 * time.Hour)}, "only be renewed, for 5h"},
		{&vigilv1.Identity{Kind: "host", Serial: "1"}, "over: it joins by a new token"},
	} {
		if got := next(c.of); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.of, got, c.want)
		}
	}
}

// A data directory tells what it holds, and one without an identity says so.
func TestLocalTLS(t *testing.T) {
	data, now := t.TempDir(), time.Now()
	if _, err := readLocalTLS(data); err == nil || !strings.Contains(err.Error(), data+" has no identity") {
		t.Errorf("an empty directory: %v", err)
	}
	dir, cluster := trust.Dir(filepath.Join(data, "trust")), trust.NewCluster()
	root, err := trust.NewRoot(cluster, now)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain...)
	if err != nil {
		t.Fatal(err)
	}
	s1 := trust.Name{Cluster: cluster, Kind: trust.Server, ID: "s1"}
	issuer := signed(t, func(csr []byte) ([]*x509.Certificate, error) {
		return root.Issuer(csr, s1, trust.Stamp{Generation: 1}, now)
	})
	leaf := signed(t, func(csr []byte) ([]*x509.Certificate, error) {
		return issuer.Leaf(csr, s1, trust.Stamp{Clock: int64(time.Hour), Generation: 4}, []string{"127.0.0.1"})
	})
	for name, a := range map[string]*trust.Authority{trust.LeafFiles: leaf, trust.IssuerFiles: issuer} {
		if err := dir.Put(name, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.PutRoots(roots); err != nil {
		t.Fatal(err)
	}
	r, err := readLocalTLS(data)
	if err != nil {
		t.Fatal(err)
	}
	if r.Cluster != cluster || r.Kind != "server" || r.Name != "s1" || r.Generation != 4 || r.Issued != 3600 ||
		r.Renews != 3600*13 || r.Ends != 3600*25 || len(r.Roots) != 1 || r.Roots[0].Pin != trust.Pin(root.Chain[0]) ||
		r.Issuer == nil || r.RootKey {
		t.Errorf("it tells %+v", r)
	}
}

// signed is a new key and what sign makes of its request.
func signed(t *testing.T, sign func(csr []byte) ([]*x509.Certificate, error)) *trust.Authority {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := sign(csr)
	if err != nil {
		t.Fatal(err)
	}
	return &trust.Authority{Chain: chain, Key: key}
}
