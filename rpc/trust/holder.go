package trust

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrNoRoot is that of a server that is asked to sign an issuing key and does not have the root's.
var ErrNoRoot = errors.New("this server does not have the key of the root")

// ErrNoIssuer is that of a server that is asked for a certificate before it has an issuing key: it has just
// joined, or lost it. It gets one from the server that has the root's key, once that is there.
var ErrNoIssuer = errors.New("this server has no issuing key yet")

// Holder is what a program is and whom it trusts. What it holds may be replaced while connections
// use it. Safe for concurrent use.
type Holder struct {
	mu    sync.RWMutex
	roots *Roots
	cert  *tls.Certificate
	self  Peer
	web   func() *tls.Certificate // nil: none

	replaced time.Time // when cert took the place of another one; zero: it is the first
}

// NewHolder trusts roots and has no certificate yet.
func NewHolder(roots *Roots) *Holder { return &Holder{roots: roots} }

// Roots are those that are trusted now.
func (h *Holder) Roots() *Roots {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.roots
}

// SetRoots replaces those that are trusted.
func (h *Holder) SetRoots(r *Roots) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.roots = r
}

// Self tells who this is; false: nobody yet.
func (h *Holder) Self() (Peer, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.self, h.cert != nil
}

// Set replaces the certificate, which the roots must vouch for; its root goes with the chain, for those
// who only know its pin.
func (h *Holder) Set(chain []*x509.Certificate, key *ecdsa.PrivateKey) error {
	self, err := h.Roots().Verify(chain)
	if err != nil {
		return err
	}
	if public, ok := chain[0].PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(key.Public()) {
		return errors.New("the certificate is for another key")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cert != nil {
		h.replaced = time.Now()
	}
	h.self, h.cert = self, &tls.Certificate{Certificate: DER(forAll(chain)), PrivateKey: key, Leaf: chain[0]}
	return nil
}

// forAll puts what has signed itself last. OpenSSL, and so Python and Node.js, tries one way up a chain only, that of
// the first issuer that fits: from a new root that it does not know it does not come back to the one that
// vouches for it.
func forAll(chain []*x509.Certificate) (ordered []*x509.Certificate) {
	var roots []*x509.Certificate
	for i, c := range chain {
		if i > 0 && c.CheckSignatureFrom(c) == nil {
			roots = append(roots, c)
		} else {
			ordered = append(ordered, c)
		}
	}
	return append(ordered, roots...)
}

// held gives the serial of the certificate, and when that took the place of another one.
func (h *Holder) held() (serial string, replaced time.Time) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.self.Serial, h.replaced
}

// SetWeb gives another certificate for those who ask for a name or address in it, which programs of this
// package never do. web gives nil when there is none.
func (h *Holder) SetWeb(web func() *tls.Certificate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.web = web
}

// shown is the certificate for who has sent that greeting.
func (h *Holder) shown(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	h.mu.RLock()
	own, web := h.cert, h.web
	h.mu.RUnlock()
	if web != nil {
		name := hello.ServerName
		if name == "" && hello.Conn != nil { // who asks for an address names nothing
			name, _, _ = net.SplitHostPort(hello.Conn.LocalAddr().String())
		}
		if c := web(); c != nil && c.Leaf != nil && c.Leaf.VerifyHostname(name) == nil {
			return c, nil
		}
	}
	if own == nil {
		return nil, errors.New("this server has no certificate yet")
	}
	return own, nil
}

// Server configures the side that listens. Others may connect without a certificate unless all must
// have one; who has one is checked.
func (h *Holder) Server(all bool, protocols ...string) *tls.Config {
	auth := tls.RequestClientCert
	if all {
		auth = tls.RequireAnyClientCert
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: auth, NextProtos: protocols,
		GetCertificate: h.shown,
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 && !all {
				return nil
			}
			_, err := h.Roots().Verify(cs.PeerCertificates)
			return err
		},
	}
}

// Client configures the side that dials: the other must be a server of the cluster, and one that
// want takes; nil: any.
func (h *Holder) Client(want func(Peer) error, protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, ServerName: h.Roots().Cluster,
		ClientSessionCache: &sessions{holder: h, cache: tls.NewLRUClientSessionCache(0)},
		// Not left out: VerifyConnection checks what the library would check by this machine's clock
		// and by the address, which says nothing about who a server is.
		InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			h.mu.RLock()
			defer h.mu.RUnlock()
			if h.cert == nil {
				return &tls.Certificate{}, nil
			}
			return h.cert, nil
		},
		VerifyConnection: func(cs tls.ConnectionState) error {
			p, err := h.Roots().Verify(cs.PeerCertificates)
			if err == nil && p.Kind != Server {
				err = fmt.Errorf("%w: %s is no server", ErrUntrusted, p.Short())
			}
			if err == nil && want != nil {
				err = want(p)
			}
			return err
		},
	}
}

// pinnedName is what somebody asks for who does not know the name of the cluster: no certificate of an
// operator has it (RFC 6761).
const pinnedName = "vigil.invalid"

// Pinned configures the side that dials for somebody who only knows the pin of the root; learned is told
// the root when the other end has proved to be a server of its cluster.
func Pinned(pin string, learned func(*Roots), protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols,
		ServerName:         pinnedName,
		InsecureSkipVerify: true, // see Client
		VerifyConnection: func(cs tls.ConnectionState) error {
			roots, err := pinned(cs.PeerCertificates, pin)
			if err != nil {
				return err
			}
			p, err := roots.Verify(cs.PeerCertificates)
			if err != nil {
				return err
			}
			if p.Kind != Server {
				return fmt.Errorf("%w: %s is no server", ErrUntrusted, p.Short())
			}
			if learned != nil {
				learned(roots)
			}
			return nil
		},
	}
}

// PeerOf tells who is at the other end of a connection, after a handshake with a configuration
// of this package; false: somebody without a certificate.
func (h *Holder) PeerOf(cs *tls.ConnectionState) (Peer, bool) {
	if cs == nil || len(cs.PeerCertificates) == 0 {
		return Peer{}, false
	}
	p, err := h.Roots().Verify(cs.PeerCertificates)
	return p, err == nil
}
