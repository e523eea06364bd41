package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
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
}

// Roots are the certificates that vouch for a cluster: one, or two while the root is replaced. They
// do not change; a nil Roots trusts nobody.
type Roots struct {
	Cluster string
	Certs   []*x509.Certificate
	pool    *x509.CertPool
}

// NewRoots takes roots of one cluster.
func NewRoots(certs ...*x509.Certificate) (*Roots, error) {
	r := &Roots{pool: x509.NewCertPool()}
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
// clock of this machine. The error wraps ErrUntrusted.
func (r *Roots) Verify(chain []*x509.Certificate) (Peer, error) {
	if r == nil || len(chain) == 0 || len(chain) > mostChain {
		return Peer{}, fmt.Errorf("%w: no chain of certificates", ErrUntrusted)
	}
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
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
	if p.Stamp, err = stampOf(leaf); err != nil {
		return Peer{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return p, nil
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
