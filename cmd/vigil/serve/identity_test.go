package serve

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/rpc/trust"
)

// A server asks for another issuing key when it has none, when the present one is of another root than
// issues, of a generation that was revoked, or older than 60 days; its age is shown for an alert.
func TestIssuingKeyIsReplacedInTime(t *testing.T) {
	root, err := trust.NewRoot(trust.NewCluster(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := root.Successor(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0], other.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	self := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: "s1"}
	leaf, err := certified(func(csr []byte) ([]*certificate, error) {
		return root.Leaf(csr, self, trust.Stamp{Generation: 2}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	i := &identity{dir: trust.Dir(t.TempDir()), holder: trust.NewHolder(roots)}
	if err := i.holder.Set(leaf.Chain, leaf.Key); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	to := prometheus.NewRegistry()
	if err := i.figures(to); err != nil {
		t.Fatal(err)
	}
	looks := func(now time.Duration, root *trust.Authority, want bool, age float64) {
		t.Helper()
		if got := i.needsIssuer(now, root.Chain[0]); got != want {
			t.Errorf("on day %d it asks: %v", now/day, got)
		}
		all, err := to.Gather()
		if err != nil || len(all) != 1 || all[0].GetMetric()[0].GetGauge().GetValue() != age {
			t.Errorf("on day %d it shows %v, %v; want %v", now/day, all, err, age)
		}
	}
	looks(0, root, true, -1)
	for generation, old := range map[uint64]bool{1: true, 2: false} {
		issuer, err := certified(func(csr []byte) ([]*certificate, error) {
			return root.Issuer(csr, self, trust.Stamp{Clock: int64(day), Generation: generation}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := i.dir.Put(trust.IssuerFiles, issuer); err != nil {
			t.Fatal(err)
		}
		looks(day, root, old, 0)
		looks(61*day, root, old, (60 * day).Seconds())
		looks(61*day, other, true, (60 * day).Seconds())
		looks(62*day, root, true, (61 * day).Seconds())
	}
}

// On the port of the log only servers of the cluster are heard: who else has a good certificate is not.
func TestOnlyServersReachTheLog(t *testing.T) {
	now := time.Now()
	root, err := trust.NewRoot(trust.NewCluster(), now)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	i := &identity{holder: trust.NewHolder(roots)}
	for kind, want := range map[trust.Kind]string{trust.Server: "s1", trust.Host: "", trust.User: ""} {
		leaf, err := certified(func(csr []byte) ([]*certificate, error) {
			name := trust.Name{Cluster: roots.Cluster, Kind: kind, ID: "s1"}
			return root.Leaf(csr, name, trust.Stamp{Generation: 1}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		id, _, _, err := i.PeerServer(&tls.ConnectionState{PeerCertificates: leaf.Chain})
		if (err == nil) != (want != "") || want != "" && id != want {
			t.Errorf("a %s is taken for server %q: %v", kind, id, err)
		}
	}
}
