package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrUntrusted is that of a certificate that no root of the cluster vouches for.
var ErrUntrusted = errors.New("not a certificate of this cluster")

// mostChain is how many certificates of a peer are looked at.
const mostChain = 8

// Peer is the other end of a connection as its certificate tells. Whether it is revoked or too old
// is for the replicated state to say.
type Peer struct {
	Name
	Stamp
	Serial string // of the certificate, in hex
	Issuer Issuer // zero: the root has signed it
}

// Issuer is the server whose key has signed a certificate. What it signs after its own credential was
// revoked counts no more.
type Issuer struct {
	Server     string
	Generation uint64 // of the server when it got the key
}

// Roots are the certificates that vouch for a cluster: one, or two while the root is replaced. They
// do not change; a nil Roots trusts nobody.
type Roots struct {
	Cluster string
	Certs   []*x509.Certificate
	pool    *x509.CertPool

	mu       sync.Mutex
	verified map[[sha256.Size]byte]Peer // by the hash of the chain: no clock decides, so it stays true
}

// mostVerified bounds the chains that are remembered; some 300 bytes each.
const mostVerified = 4096

// NewRoots takes roots of one cluster.
func NewRoots(certs ...*x509.Certificate) (*Roots, error) {
	r := &Roots{pool: x509.NewCertPool(), verified: map[[sha256.Size]byte]Peer{}}
	for _, c := range certs {
		cluster := ""
		if len(c.URIs) == 1 && c.URIs[0].Scheme == "spiffe" && c.URIs[0].Path == "" {
			cluster = c.URIs[0].Host
		}
		switch {
		case !c.IsCA || !clusterForm.MatchString(cluster):
			return nil, fmt.Errorf("%w: %q is no root of vigil", ErrUntrusted, c.Subject.CommonName)
		case r.Cluster != "" && r.Cluster != cluster:
			return nil, fmt.Errorf("%w: roots of the clusters %s and %s", ErrUntrusted, r.Cluster, cluster)
		}
		r.Cluster = cluster
		r.Certs = append(r.Certs, c)
		r.pool.AddCert(c)
	}
	if len(r.Certs) == 0 {
		return nil, fmt.Errorf("%w: no root", ErrUntrusted)
	}
	return r, nil
}

// Verify checks the chain of a peer, its leaf first, and tells who it is. It does not look at the
// clock of this machine. Each connection asks more than once, so chains that are good are remembered.
// The error wraps ErrUntrusted. Safe for concurrent use.
func (r *Roots) Verify(chain []*x509.Certificate) (Peer, error) {
	if r == nil || len(chain) == 0 || len(chain) > mostChain {
		return Peer{}, fmt.Errorf("%w: no chain of certificates", ErrUntrusted)
	}
	key := hashOf(chain)
	r.mu.Lock()
	p, known := r.verified[key]
	r.mu.Unlock()
	if known {
		return p, nil
	}
	p, err := r.verify(chain)
	if err != nil {
		return Peer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.verified) >= mostVerified {
		clear(r.verified)
	}
	r.verified[key] = p
	return p, nil
}

// hashOf is of all that was sent: a certificate in the middle says whose key has signed.
func hashOf(chain []*x509.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain { // DER tells its own length
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}

func (r *Roots) verify(chain []*x509.Certificate) (Peer, error) {
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: r.pool, Intermediates: between, CurrentTime: leaf.NotBefore.Add(time.Second),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	if leaf.IsCA || len(leaf.URIs) != 1 {
		return Peer{}, fmt.Errorf("%w: it names no holder", ErrUntrusted)
	}
	p := Peer{Serial: leaf.SerialNumber.Text(16)}
	if p.Name, err = ParseName(leaf.URIs[0].String()); err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	if p.Cluster != r.Cluster {
		return Peer{}, fmt.Errorf("%w: it is of cluster %s, this is %s", ErrUntrusted, p.Cluster, r.Cluster)
	}
	if p.Kind == Server && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return Peer{}, fmt.Errorf("%w: it may not serve", ErrUntrusted)
	}
	if p.Stamp, err = StampOf(leaf); err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	if p.Issuer, err = r.issuerOf(chains[0]); err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return p, nil
}

// issuerOf tells whose key has signed the first certificate of a chain that ends at a root.
func (r *Roots) issuerOf(chain []*x509.Certificate) (i Issuer, err error) {
	if len(chain) == 2 {
		return i, nil // the root itself
	}
	by := chain[1]
	if len(by.URIs) != 1 {
		return i, errors.New("who has signed it does not say whose key that is")
	}
	name, err := ParseName(by.URIs[0].String())
	if err != nil {
		return i, err
	}
	if name.Kind != Server || name.Cluster != r.Cluster {
		return i, fmt.Errorf("%s has signed it, which is no server of this cluster", name)
	}
	stamp, err := StampOf(by)
	return Issuer{name.ID, stamp.Generation}, err
}

// pinned gives the root with a pin that a peer has sent behind its own certificates.
func pinned(chain []*x509.Certificate, pin string) (*Roots, error) {
	for _, c := range chain[:min(len(chain), mostChain)] {
		if c.IsCA && Pin(c) == pin {
			return NewRoots(c)
		}
	}
	return nil, fmt.Errorf("%w: the token names another root than this server has", ErrUntrusted)
}
