package serve

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/fsm"
	"vigil/rpc/door/who"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// trustDir is the folder of a data directory with what its owner is.
func trustDir(data string) trust.Dir { return trust.Dir(filepath.Join(data, "trust")) }

// identity is who this server is, and how it tells who others are. Its methods may be called by any
// goroutine.
type identity struct {
	dir    trust.Dir
	holder *trust.Holder
	named  bool         // a certificate with all names was got since the start; used by keep alone
	issuer atomic.Int64 // age of the issuing key in nanoseconds, on the clock of certificates; -1: there is none
}

// figures shows how old this server's issuing key is. Once it is trust.IssuerRenew old the server asks for
// another one: an age beyond that says that the key of the root is away.
func (i *identity) figures(to prometheus.Registerer) error {
	return to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vigil_issuing_key_age_seconds",
		Help: "Age of this server's issuing key on the clock of certificates; -1: it has none yet."}, func() float64 {
		age := time.Duration(i.issuer.Load())
		if age < 0 {
			return -1
		}
		return age.Seconds()
	}))
}

// openIdentity reads who this server is, and tells its configuration; nil: it has no identity.
func openIdentity(conf *conf.Server) (*identity, error) {
	dir, id := trustDir(conf.DataDir), conf.ID
	holder, err := dir.Holder()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // data_dir is looked at elsewhere
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch self, _ := holder.Self(); {
	case self.Kind == trust.Server && id == "":
		return nil, cli.Usagef("the server has no id: it has the identity of %s, so write id: %s into its configuration",
			self.Short(), self.ID)
	case self.Kind != trust.Server || self.ID != id:
		return nil, cli.Usagef("%s is the identity of %s, not of server/%s: give the id that it was made for, "+
			"or another data directory", dir, self.Short(), id)
	}
	conf.HasIdentity(holder.Roots().Cluster)
	return &identity{dir: dir, holder: holder}, nil
}

// ServerConfig implements cluster.Identity.
func (i *identity) ServerConfig() *tls.Config { return i.holder.Server(true) }

// ClientConfig implements cluster.Identity.
func (i *identity) ClientConfig() *tls.Config { return i.holder.Client(nil) }

// PeerServer implements cluster.Identity.
func (i *identity) PeerServer(cs *tls.ConnectionState) (id string, generation uint64, shown any, err error) {
	p, err := i.holder.Roots().Verify(cs.PeerCertificates)
	if err == nil && p.Kind != trust.Server {
		err = errors.New(p.Short() + " is no server")
	}
	return p.ID, p.Generation, vouch.ClaimOf(p), err
}

// revoked judges what PeerServer has found.
func revoked(v *fsm.View, p cluster.ProvenPeer) bool {
	c, ok := p.Shown.(who.Claim)
	return !ok || vouch.RevokedServer(v, c)
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

var _ cluster.Identity = (*identity)(nil)
