package serve

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/trust"
)

// trustDir is the folder of a data directory with what its owner is.
func trustDir(data string) trust.Dir { return trust.Dir(filepath.Join(data, "trust")) }

// identity is who this server is, and how it tells who others are. Its methods may be called by any
// goroutine.
type identity struct {
	dir    trust.Dir
	holder *trust.Holder
	read   func(func(*fsm.View)) // the replicated state; set before it is needed
}

// openIdentity reads who this server is; nil: it has no identity, and serves in clear.
func openIdentity(data, id string) (*identity, error) {
	dir := trustDir(data)
	holder, err := dir.Holder()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if self, _ := holder.Self(); self.Kind != trust.Server || self.ID != id {
		return nil, errors.New(string(dir) + " is the identity of " + self.Short() + ", not of server/" + id +
			": give the id that it was made for, or another data directory")
	}
	return &identity{dir: dir, holder: holder}, nil
}

// ServerConfig implements cluster.Identity.
func (i *identity) ServerConfig() *tls.Config { return i.holder.Server(true) }

// ClientConfig implements cluster.Identity.
func (i *identity) ClientConfig() *tls.Config { return i.holder.Client(nil) }

// PeerServer implements cluster.Identity.
func (i *identity) PeerServer(cs *tls.ConnectionState) (id string, generation uint64, err error) {
	p, err := i.holder.Roots().Verify(cs.PeerCertificates)
	if err == nil && p.Kind != trust.Server {
		err = errors.New(p.Short() + " is no server")
	}
	return p.ID, p.Generation, err
}

// revoked tells whether the credential of a server was revoked; what the state does not know is not.
func revoked(v *fsm.View, id string, generation uint64) bool {
	c := v.Credential(noun.ServerIdentity, id)
	return c != nil && generation < c.Generation
}

// Claim implements door.Identify.
func (i *identity) Claim(cs *tls.ConnectionState) (who.Claim, error) {
	if len(cs.PeerCertificates) == 0 {
		return who.Claim{}, nil
	}
	p, err := i.holder.Roots().Verify(cs.PeerCertificates)
	if err != nil {
		return who.Claim{}, fault.New(code.AuthDenied, "%v.", err)
	}
	return who.Claim{Kind: who.Kind(p.Kind), Name: p.ID, Generation: p.Generation, Epoch: p.Epoch, Clock: p.Clock,
		Serial: p.Serial}, nil
}

// Principal implements door.Identify.
func (i *identity) Principal(c who.Claim) (p who.Principal, err error) {
	p.Claim = c
	i.read(func(v *fsm.View) {
		if c.Kind == who.APIToken {
			p, err = apiToken(v, c)
			return
		}
		kind, ok := noun.ParseIdentityKind(string(c.Kind))
		known := v.Credential(kind, c.Name)
		switch {
		case !ok:
			err = fault.New(code.AuthDenied, "%s is no kind of identity.", c.Kind)
		case known == nil && c.Kind == who.Server:
			// A server that was away does not know the newest ones; the leader does.
		case known == nil:
			err = fault.New(code.AuthDenied, "%s is not known in this cluster.", p.String())
		case c.Generation < known.Generation:
			err = fault.New(code.AuthDenied, "The credential of %s was revoked: ask an admin for a new token.", p.String())
		case time.Duration(v.TrustClock())-time.Duration(c.Clock) > trust.Life:
			err = fault.New(code.AuthExpired, "The certificate of %s is too old: renew it.", p.String())
		}
		if user := v.User(c.Name); c.Kind == who.User && user != nil {
			p.Rights = rights(user.Bindings)
		}
	})
	if code := fault.Of(err); err != nil && code.Code != "auth_expired" {
		return who.Principal{}, err
	}
	return p, err
}

func apiToken(v *fsm.View, c who.Claim) (who.Principal, error) {
	t := v.APIToken(c.Serial)
	if t == nil {
		return who.Principal{}, fault.New(code.AuthDenied, "The API token is unknown, over or revoked.")
	}
	return who.Principal{Claim: c, Rights: rights(t.Bindings)}, nil
}

func rights(list []noun.Binding) (out []who.Right) {
	for _, b := range list {
		if role, ok := code.ParseRole(b.Role.String()); ok {
			out = append(out, who.Right{Role: role, Room: b.Room})
		}
	}
	return out
}

// sans are the names under which others than our own programs find a server: its address, and this
// machine itself.
func sans(addrs ...string) (out []string) {
	seen := map[string]bool{}
	for _, addr := range append(addrs, "127.0.0.1:0", "[::1]:0", "localhost:0") {
		host, _, err := net.SplitHostPort(addr)
		if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() || seen[host] {
			continue
		}
		seen[host] = true
		out = append(out, host)
	}
	return out
}

// keyOf is the SHA-256 of the public key of a certificate.
func keyOf(c *x509.Certificate) []byte {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return sum[:]
}

var _ cluster.Identity = (*identity)(nil)
