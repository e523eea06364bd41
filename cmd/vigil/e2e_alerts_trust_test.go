//go:build linux

package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Strangers ask and ask, somebody takes all that one may have of a server, and a server has lost its issuing key
// while that of the root is away.
func TestAlertsOfIdentitiesAreRaised(t *testing.T) {
	t.Parallel()
	needsPrometheus(t)
	d := newDemo(t, "--metrics", "--every", "300ms")
	defer d.quit()
	var config struct {
		Jobs []any `yaml:"scrape_configs"`
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "prometheus.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := newAlarms(d.testFleet, config.Jobs...)
	servers := a.p.targets("vigil")

	// The root of the cluster is not known to strangers, who know nobody here.
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer stranger.CloseIdleConnections()
	a.fireBy(func() {
		for range 20 {
			if resp, err := stranger.Get("https://" + servers[0] + "/v1/rooms"); err == nil {
				resp.Body.Close()
			}
		}
	}, "VigilManyDenied")

	self, err := trust.Dir(filepath.Join(d.dir, "identity")).Holder()
	if err != nil {
		t.Fatal(err)
	}
	a.greedy(self, servers[0])

	issuers := []string{"s1/data/trust/issuer.key", "s2/data/trust/issuer.key", "s3/data/trust/issuer.key"}
	for _, key := range issuers {
		if err := os.WriteFile(filepath.Join(d.dir, key), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	signs := vigilv1.NewTrustClient(dial(t, self, servers[0]))
	a.fireBy(func() {
		if _, err := signs.Renew(a.ctx(), &vigilv1.RenewTrustRequest{Csr: csr}); err == nil {
			t.Fatal("a server signs without a key")
		}
	}, "VigilInternalErrors")

	// Servers ask for another issuing key, and nobody has that of the root; meanwhile they can sign for nobody.
	for _, key := range append(issuers, "s1/data/trust/root.key") {
		if err := os.Remove(filepath.Join(d.dir, key)); err != nil {
			t.Fatal(err)
		}
	}
	a.fireBy(func() {}, "VigilRootOffline")
	a.all()
}

// The operator's own certificate ends in some days, and is renewed then.
func TestAlertOfAWebCertificateIsRaised(t *testing.T) {
	needsPrometheus(t)
	t.Parallel()
	own := t.TempDir()
	crt, secret := filepath.Join(own, "web.crt"), filepath.Join(own, "web.key")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put := func(left time.Duration) {
		t.Helper()
		c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"vigil.example"},
			NotAfter: time.Now().Add(left)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err == nil {
			err = os.WriteFile(secret, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inner}), 0o600)
		}
		if err == nil {
			err = os.WriteFile(crt, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	put(5 * day)
	f := foundFleet(t, "http_cert: "+crt, "http_key: "+secret)
	people, err := filepath.Glob(filepath.Join(f.dir, "admin", "vigil", "identity", "*"))
	if err != nil || len(people) != 1 {
		t.Fatalf("identities of the admin: %v, %v", people, err)
	}
	servers := job("vigil", f.apis[:len(f.servers)]...) // one more was turned away
	servers["scheme"] = "https"
	servers["tls_config"] = map[string]string{"ca_file": filepath.Join(people[0], "roots.crt"),
		"cert_file": filepath.Join(people[0], "leaf.crt"), "key_file": filepath.Join(people[0], "leaf.key")}
	a := newAlarms(&testFleet{t: t}, servers)
	a.fire("VigilWebCertificateEnds")
	put(90 * day)
	a.ends("VigilWebCertificateEnds")
	a.all()
}

// greedy has one user watch a server more often than one may, and goes on asking for more.
func (a *alarms) greedy(self *trust.Holder, server string) {
	t := a.t
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	events := vigilv1.NewFleetClient(dial(t, self, server))
	watch := func(times int) {
		for range times {
			if _, err := events.WatchEvents(ctx, &vigilv1.WatchEventsRequest{Tail: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	watch(1024) // that is what a user may have under way
	a.fireBy(func() { watch(20) }, "VigilIdentityLimited")
}

// dial connects to this very server, which a client of ours would not: it follows the leader.
func dial(t *testing.T, self *trust.Holder, server string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+server,
		grpc.WithTransportCredentials(credentials.NewTLS(self.Client(nil, "h2"))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
