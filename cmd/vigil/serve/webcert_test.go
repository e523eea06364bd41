package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/cmd/vigil/conf"
	"vigil/rpc/trust"
)

// writePair writes a certificate for a name and for 127.0.0.1, and its key, as of a time.
func writePair(t *testing.T, dir, name string, at time.Time) *conf.Server {
	t.Helper()
	return writePairUntil(t, dir, name, at, time.Unix(1<<33, 0))
}

// writePairUntil is writePair with the end of the certificate.
func writePairUntil(t *testing.T, dir, name string, at, end time.Time) *conf.Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: end,
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	set := &conf.Server{HTTPCert: filepath.Join(dir, "web.crt"), HTTPKey: filepath.Join(dir, "web.key")}
	for path, block := range map[string]*pem.Block{set.HTTPCert: {Type: "CERTIFICATE", Bytes: der},
		set.HTTPKey: {Type: "PRIVATE KEY", Bytes: inner}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// A certificate of the operator's own is read again when its files change; files that are broken, or lost,
// leave the one that was read before. At the start they keep no server away: none is shown until they are whole, and
// the log names the place.
func TestOperatorsCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		set := writePair(t, dir, "one.example", time.Now())
		w := openWebCert(set, hclog.NewNullLogger())
		shows := func(name string) {
			t.Helper()
			time.Sleep(webCertLook)
			if got := w.Get(); got == nil || got.Leaf.DNSNames[0] != name {
				t.Errorf("it shows %v, want %s", got, name)
			}
		}
		begins := func(want string) *webCert {
			t.Helper()
			var said strings.Builder
			w := openWebCert(set, hclog.New(&hclog.LoggerOptions{Output: &said}))
			time.Sleep(10 * webCertLook)
			cert, until := w.look()
			if cert != nil || !until.Before(time.Now()) || !strings.Contains(said.String(), want) ||
				strings.Count(said.String(), "\n") != 1 {
				t.Errorf("at the start it shows %v until %s, and said:\n%s", cert, until, said.String())
			}
			return w
		}
		shows("one.example")
		writePair(t, dir, "two.example", time.Now())
		shows("two.example")
		if err := os.WriteFile(set.HTTPKey, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
		shows("two.example")
		begins(set.HTTPKey)
		if err := os.Remove(set.HTTPCert); err != nil {
			t.Fatal(err)
		}
		shows("two.example")
		begins(set.HTTPCert)
		writePair(t, dir, "three.example", time.Now())
		shows("three.example")
		if err := os.Chmod(set.HTTPKey, 0o644); err != nil {
			t.Fatal(err)
		}
		w = begins("chmod 600")
		if err := os.Chmod(set.HTTPKey, 0o600); err != nil { // which changes no time of the file
			t.Fatal(err)
		}
		shows("three.example")
	})
	if none := openWebCert(&conf.Server{}, hclog.NewNullLogger()); none != nil {
		t.Errorf("without files: %v", none)
	}
}

// How long a certificate still counts is a figure; one that has ended is not taken: at the start none is shown until
// there is a new one, later the one that was read before stays, and the log says so. In --check it is an error.
func TestOperatorsCertificateEnds(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		set := writePairUntil(t, dir, "one.example", time.Now(), time.Now().Add(5*day))
		var said strings.Builder
		w := openWebCert(set, hclog.New(&hclog.LoggerOptions{Output: &said}))
		figures := prometheus.NewRegistry()
		if err := w.figures(figures); err != nil {
			t.Fatal(err)
		}
		left := func(want time.Duration) {
			t.Helper()
			all, err := figures.Gather()
			if err != nil || len(all) != 1 || all[0].GetName() != "vigil_http_cert_expires_seconds" {
				t.Fatalf("%v, %v", all, err)
			}
			got := all[0].GetMetric()[0].GetGauge().GetValue()
			if d := got - want.Seconds(); d < -1 || d > 1 { // certificates end at whole seconds
				t.Errorf("%f s are left, want %s", got, want)
			}
		}
		left(5 * day)
		time.Sleep(day)
		left(4 * day)
		writePairUntil(t, dir, "old.example", time.Now(), time.Now().Add(-time.Minute))
		time.Sleep(webCertLook)
		left(4*day - webCertLook)
		if got := w.Get().Leaf.DNSNames[0]; got != "one.example" || strings.Count(said.String(), "ended on") != 1 {
			t.Errorf("it shows %s, and said:\n%s", got, said.String())
		}
		time.Sleep(4 * day)
		left(-webCertLook)
		said.Reset()
		late := openWebCert(set, hclog.New(&hclog.LoggerOptions{Output: &said}))
		if late.Get() != nil || strings.Count(said.String(), "ended on") != 1 {
			t.Errorf("at the start it shows %v, and said:\n%s", late.Get(), said.String())
		}
		if wrong, _ := set.Inspect(); !strings.Contains(errors.Join(wrong...).Error(), "ended on") {
			t.Errorf("in a check: %v", wrong)
		}
		writePairUntil(t, dir, "new.example", time.Now(), time.Now().Add(30*day))
		time.Sleep(webCertLook)
		left(30*day - webCertLook)
		if got := late.Get(); got == nil || got.Leaf.DNSNames[0] != "new.example" {
			t.Errorf("the server that began without one shows %v", got)
		}
	})
}

// Browsers and tools see the operator's certificate when they ask for a name or address in it; programs of
// vigil, and who joins by a token, see the server's own.
func TestOperatorsCertificateIsForOthers(t *testing.T) {
	set := writePair(t, t.TempDir(), "vigil.example", time.Now())
	w := openWebCert(set, hclog.NewNullLogger())
	root, err := trust.NewRoot(trust.NewCluster(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	self := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: "s1"}
	leaf, err := certified(func(csr []byte) ([]*certificate, error) {
		return root.Leaf(csr, self, trust.Stamp{Generation: 1}, []string{"127.0.0.1"})
	})
	if err != nil {
		t.Fatal(err)
	}
	h := trust.NewHolder(roots)
	if err := h.Set(leaf.Chain, leaf.Key); err != nil {
		t.Fatal(err)
	}
	h.SetWeb(w.Get)
	l, err := tls.Listen("tcp", "127.0.0.1:0", h.Server(false))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake() // the other end tells
			_ = c.Close()
		}
	}()
	own := x509.NewCertPool()
	own.AddCert(w.Get().Leaf)
	for what, tt := range map[string]struct {
		config *tls.Config
		web    bool
	}{
		"a browser by name":         {&tls.Config{RootCAs: own, ServerName: "vigil.example"}, true},
		"a tool by address":         {&tls.Config{RootCAs: own}, true},
		"a browser by another name": {&tls.Config{ServerName: "other.example", InsecureSkipVerify: true}, false},
		"a program of vigil":        {h.Client(nil), false},
		"who has a token":           {trust.Pinned(trust.Pin(root.Chain[0]), nil), false},
	} {
		c, err := tls.Dial("tcp", l.Addr().String(), tt.config)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := c.ConnectionState().PeerCertificates[0].Equal(w.Get().Leaf); got != tt.web {
			t.Errorf("%s sees the operator's certificate: %v", what, got)
		}
		_ = c.Close() // it was looked at
	}
}
