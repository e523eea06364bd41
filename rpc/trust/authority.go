package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"slices"
	"time"
)

// Validity by the dates of X.509, which only browsers and tools look at.
const (
	rootYears   = 10
	issuerDays  = 90
	backdated   = 24 * time.Hour // for machines whose clocks are behind
	mostSANs    = 32
	mostCSRSize = 8 << 10
)

// ErrRequest is that of a certificate request that is not signed for.
var ErrRequest = errors.New("certificate request refused")

// Authority holds a key that signs: the root's, or that of an issuer. Safe for concurrent use.
type Authority struct {
	Chain []*x509.Certificate // its own certificate first, the root last
	Key   *ecdsa.PrivateKey
}

// NewRoot makes the root of a new cluster; now is only written into its dates.
func NewRoot(cluster string, now time.Time) (*Authority, error) {
	if !clusterForm.MatchString(cluster) {
		return nil, fmt.Errorf("%w: %q is no UUID", ErrName, cluster)
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	// Two roots of a cluster have two names: OpenSSL takes a certificate whose issuer has its own name for a root.
	number := serial()
	t := &x509.Certificate{
		SerialNumber: number,
		Subject:      pkix.Name{CommonName: fmt.Sprintf("vigil root %08x of %s", uint32(number.Uint64()), cluster)},
		NotBefore:    now.Add(-backdated), NotAfter: now.AddDate(rootYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		URIs: []*url.URL{{Scheme: "spiffe", Host: cluster}},
	}
	cert, err := sign(t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Authority{[]*x509.Certificate{cert}, key}, nil
}

// Successor makes the root that takes the place of this one, which vouches for it: behind its own
// certificate the chain has the same key signed by this root, and this root. So who trusts only the old
// root, or knows its pin, trusts what the new one signs.
func (a *Authority) Successor(now time.Time) (*Authority, error) {
	old := a.Chain[0]
	roots, err := NewRoots(old)
	if err != nil {
		return nil, err
	}
	if earliest := old.NotBefore.Add(backdated); now.Before(earliest) { // this clock is behind
		now = earliest
	}
	next, err := NewRoot(roots.Cluster, now)
	if err != nil {
		return nil, err
	}
	t := *next.Chain[0]
	t.SerialNumber, t.AuthorityKeyId = serial(), nil
	t.NotBefore, t.NotAfter = old.NotBefore, old.NotAfter // whatever it signs meanwhile
	cross, err := sign(&t, old, next.Key.Public(), a.Key)
	if err != nil {
		return nil, err
	}
	next.Chain = append(next.Chain, cross, old)
	return next, nil
}

// CheckRoot tells what is wrong with the chain of a root that is to take the place of another one, in the
// same cluster. vouched tells that the other one vouches for it.
func CheckRoot(old *x509.Certificate, chain []*x509.Certificate) (vouched bool, err error) {
	if len(chain) == 0 || len(chain) > mostChain {
		return false, fmt.Errorf("%w: no root", ErrUntrusted)
	}
	was, err := NewRoots(old)
	if err != nil {
		return false, err
	}
	next, err := NewRoots(chain[0])
	switch {
	case err != nil:
		return false, err
	case next.Cluster != was.Cluster:
		return false, fmt.Errorf("%w: it is of cluster %s, this is %s", ErrUntrusted, next.Cluster, was.Cluster)
	}
	if err := chain[0].CheckSignatureFrom(chain[0]); err != nil {
		return false, fmt.Errorf("%w: it has not signed itself: %w", ErrUntrusted, err)
	}
	key, ok := chain[0].PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return false, fmt.Errorf("%w: its key is no ECDSA key", ErrUntrusted)
	}
	return slices.ContainsFunc(chain[1:], func(c *x509.Certificate) bool {
		return c.IsCA && key.Equal(c.PublicKey) && c.CheckSignatureFrom(old) == nil
	}), nil
}

// Issuer signs the issuing key of a server, whose request it gets in DER.
func (a *Authority) Issuer(request []byte, server Name, s Stamp, now time.Time) ([]*x509.Certificate, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	if err := server.Check(); err != nil {
		return nil, err
	}
	ext, err := s.extension()
	if err != nil {
		return nil, err
	}
	from, to := within(a.Chain[0], now)
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "vigil issuer on " + server.ID},
		NotBefore: from, NotAfter: to, ExtraExtensions: []pkix.Extension{ext},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		// It tells whose key has signed, so that what a server signs after its removal counts no more.
		URIs: []*url.URL{server.URI()},
		// Not critical: some verifiers refuse what they do not know, and ours always looks at it.
		PermittedURIDomains: []string{server.Cluster},
	}
	cert, err := sign(t, a.Chain[0], csr.PublicKey, a.Key)
	if err != nil {
		return nil, err
	}
	return append([]*x509.Certificate{cert}, a.Chain...), nil
}

// Leaf signs the certificate of a holder, whose request it gets in DER. sans are the IP addresses
// and DNS names under which others than our own programs find a server.
func (a *Authority) Leaf(
	request []byte, holder Name, s Stamp, sans []string,
) ([]*x509.Certificate, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	if err := holder.Check(); err != nil {
		return nil, err
	}
	if len(sans) > mostSANs {
		return nil, fmt.Errorf("%w: %d addresses, at most %d are allowed", ErrRequest, len(sans), mostSANs)
	}
	ext, err := s.extension()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: holder.Short()},
		// The dates of its issuer, which is on the same server and just as old at most: a clock that is wrong by
		// years when a server renews its certificate must not hide it from Python, Node.js and browsers.
		NotBefore: a.Chain[0].NotBefore, NotAfter: a.Chain[0].NotAfter,
		ExtraExtensions: []pkix.Extension{ext}, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{holder.URI()},
	}
	if holder.Kind == Server {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		for _, san := range sans {
			if ip := net.ParseIP(san); ip != nil {
				t.IPAddresses = append(t.IPAddresses, ip)
			} else {
				t.DNSNames = append(t.DNSNames, san)
			}
		}
	}
	cert, err := sign(t, a.Chain[0], csr.PublicKey, a.Key)
	if err != nil {
		return nil, err
	}
	return append([]*x509.Certificate{cert}, a.Chain...), nil
}

// within gives the dates of an issuer that a root signs. They lie within its own, and its own began before:
// verifiers look at a chain as it was when its leaf began.
func within(signer *x509.Certificate, now time.Time) (from, to time.Time) {
	const span = issuerDays * 24 * time.Hour
	from = now.Add(-backdated)
	if latest := signer.NotAfter.Add(-span); from.After(latest) {
		from = latest // this clock is ahead, or the signer is old
	}
	if from.Before(signer.NotBefore) {
		from = signer.NotBefore // this clock is behind
	}
	to = from.Add(span + backdated)
	if to.After(signer.NotAfter) {
		to = signer.NotAfter
	}
	return from, to
}

func sign(t, by *x509.Certificate, public any, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, by, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// serial gives a random number of 127 bits, which is positive and in 16 bytes.
func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // the system's source of randomness never fails
	}
	return n.Add(n, big.NewInt(1))
}

// NewKey makes a private key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// Request gives the certificate request for a key, in DER. It asks for nothing: whoever signs says
// what the certificate holds.
func Request(key *ecdsa.PrivateKey) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// parseRequest reads a request of a stranger.
func parseRequest(der []byte) (*x509.CertificateRequest, error) {
	if len(der) > mostCSRSize {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrRequest, len(der), mostCSRSize)
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if key, ok := csr.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key is not ECDSA P-256", ErrRequest)
	}
	return csr, nil
}

// Pin is the SHA-256 of a certificate's public key, in hex: how a joiner knows the root before it
// trusts anybody.
func Pin(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// DER gives the certificates as bytes, in their order.
func DER(chain []*x509.Certificate) (out [][]byte) {
	for _, c := range chain {
		out = append(out, slices.Clone(c.Raw))
	}
	return out
}

// Parse reads what DER gave.
func Parse(chain [][]byte) (out []*x509.Certificate, err error) {
	for _, der := range chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}
