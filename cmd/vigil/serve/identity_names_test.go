package serve

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"vigil/rpc/trust"
)

// A certificate that lacks a name of the configuration is known as such, whether that is a name or an address.
func TestCertificateCoversItsNames(t *testing.T) {
	now := time.Now()
	cluster := trust.NewCluster()
	root, err := trust.NewRoot(cluster, now)
	if err != nil {
		t.Fatal(err)
	}
	request := func() (key *trust.Authority, csr []byte) {
		k, err := trust.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		csr, err = trust.Request(k)
		if err != nil {
			t.Fatal(err)
		}
		return &trust.Authority{Key: k}, csr
	}
	server := trust.Name{Cluster: cluster, Kind: trust.Server, ID: "s1"}
	issuer, csr := request()
	if issuer.Chain, err = root.Issuer(csr, server, trust.Stamp{}, now); err != nil {
		t.Fatal(err)
	}
	leaf, csr := request()
	if leaf.Chain, err = issuer.Leaf(csr, server, trust.Stamp{}, []string{"10.0.0.1", "vigil.example.com"}); err != nil {
		t.Fatal(err)
	}
	i := &identity{dir: trust.Dir(filepath.Join(t.TempDir(), "trust"))}
	roots, err := trust.NewRoots(root.Chain...)
	if err = errors.Join(err, i.dir.PutRoots(roots), i.dir.Put(trust.LeafFiles, leaf)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{nil, true},
		{[]string{"10.0.0.1"}, true},
		{[]string{"vigil.example.com", "10.0.0.1"}, true},
		{[]string{"10.0.0.1", "10.0.0.2"}, false},
		{[]string{"10.0.0.1", "other.example.com"}, false},
	} {
		if got := i.covers(c.names); got != c.want {
			t.Errorf("%q: %v", c.names, got)
		}
	}
}
