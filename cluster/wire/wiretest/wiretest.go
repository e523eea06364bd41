package wiretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Authority vouches for the servers of one cluster.
type Authority struct {
	t       testing.TB
	cluster string
	root    *x509.Certificate
	key     *ecdsa.PrivateKey
	pool    *x509.CertPool
	serial  atomic.Int64
}

// New makes the authority of a cluster.
func New(t testing.TB, cluster string) *Authority {
	t.Helper()
	a := &Authority{t: t, cluster: cluster, pool: x509.NewCertPool()}
	a.key = a.newKey()
	a.root = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: cluster}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, a.key)
	a.pool.AddCert(a.root)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

// sign makes a certificate that is valid for an hour; parent nil: by itself.
func (a *Authority) sign(c, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	c.SerialNumber = big.NewInt(a.serial.Add(1))
	c.NotBefore, c.NotAfter = time.Now(), time.Now().Add(time.Hour)
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// Identity is a server's, or what somebody shows who is none.
type Identity struct {
	a       *Authority
	cert    atomic.Pointer[tls.Certificate]
	Resumed atomic.Int64 // handshakes that took up an earlier session
}

// Server gives a server its identity.
func (a *Authority) Server(id string, generation uint64) *Identity {
	return a.Issue("server", id, generation)
}

// Issue gives somebody of any kind an identity.
func (a *Authority) Issue(kind, id string, generation uint64) *Identity {
	i := &Identity{a: a}
	i.Renew(kind, id, generation)
	return i
}

// Renew replaces the certificate.
func (i *Identity) Renew(kind, id string, generation uint64) {
	key := i.a.newKey()
	leaf := i.a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: strconv.FormatUint(generation, 10)},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: i.a.cluster, Path: "/" + kind + "/" + id}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, i.a.root, key)
	i.cert.Store(&tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf})
}

// ServerConfig is for the end that is dialed.
func (i *Identity) ServerConfig() *tls.Config {
	return &tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyConnection: i.verify,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.cert.Load(), nil }}
}

// ClientConfig is for the end that dials.
func (i *Identity) ClientConfig() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: i.verify, ServerName: i.a.cluster,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.cert.Load(), nil }}
}

// verify checks a chain without a look at the clock.
func (i *Identity) verify(cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	leaf := cs.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{Roots: i.a.pool, CurrentTime: leaf.NotBefore.Add(time.Second),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// PeerServer tells which server is at the other end.
func (i *Identity) PeerServer(cs *tls.ConnectionState) (id string, generation uint64, _ any, err error) {
	if cs.DidResume {
		i.Resumed.Add(1)
	}
	leaf := cs.PeerCertificates[0]
	if len(leaf.URIs) != 1 {
		return "", 0, nil, errors.New("a certificate without a name")
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(leaf.URIs[0].Path, "/"), "/")
	if kind != "server" {
		return "", 0, nil, fmt.Errorf("%s is no server", leaf.URIs[0])
	}
	generation, err = strconv.ParseUint(leaf.Subject.CommonName, 10, 64)
	return id, generation, nil, err
}
