package join

import (
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Whatever a server answers, a program stays who it is: the certificate of another one is not taken.
func TestL7CertificateOfAnotherIsNotTaken(t *testing.T) {
	name := trust.Name{Cluster: trust.NewCluster(), Kind: trust.Host, ID: "h1"}
	root, err := trust.NewRoot(name.Cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	dir, holder := trust.Dir(t.TempDir()), trust.NewHolder(roots)
	renew := func(n trust.Name) error {
		key, csr, err := ask(dir)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := root.Leaf(csr, n, trust.Stamp{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return keep(&vigilv1.Certificate{Chain: trust.DER(chain)}, key, holder, dir)
	}
	if err := renew(name); err != nil {
		t.Fatal(err)
	}
	before, _ := holder.Self()
	for _, other := range []trust.Name{{Cluster: name.Cluster, Kind: trust.Server, ID: "s1"},
		{Cluster: name.Cluster, Kind: trust.Host, ID: "h2"}} {
		if err := renew(other); err == nil || !strings.Contains(err.Error(), other.Short()) {
			t.Errorf("the certificate of %s was answered: %v", other.Short(), err)
		}
		if now, _ := holder.Self(); now != before {
			t.Errorf("the host has become %s", now.Short())
		}
		if kept, err := dir.Holder(); err != nil {
			t.Error(err)
		} else if self, _ := kept.Self(); self.Serial != before.Serial {
			t.Errorf("on the disk it has become %s", self.Short())
		}
	}
	if err := renew(name); err != nil {
		t.Errorf("its own certificate afterwards: %v", err)
	}
}
