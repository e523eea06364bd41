package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// Rhythm in which a host renews its certificate. It goes by time that this process has seen pass,
// which no wall clock moves; the servers tell by cluster time whether a certificate is too old.
var (
	hostRenew = trust.RenewHost
	hostAgain = min(time.Minute, hostRenew/4) // after a try that failed
	hostFirst = min(10*time.Second, hostRenew/4)
)

// hostIdentity is who a host is; nil: it has no identity, and speaks in clear.
type hostIdentity struct {
	dir    trust.Dir
	holder *trust.Holder
}

// openHost reads who this host is, and tells its configuration; nil: it has no identity.
func openHost(conf *conf.Agentd) (*hostIdentity, error) {
	dir := trustDir(conf.DataDir)
	holder, err := dir.Holder()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // data_dir is looked at elsewhere
		return nil, nil
	case err != nil:
		conf.HasIdentity() // there is one: what is wrong with it is the only thing to say
		return nil, err
	}
	if self, _ := holder.Self(); self.Kind != trust.Host {
		return nil, errors.New(string(dir) + " is the identity of " + self.Short() +
			", which is no host: name another data directory")
	}
	conf.HasIdentity()
	return &hostIdentity{dir, holder}, nil
}

// client configures connections to servers; nil: in clear.
func (h *hostIdentity) client() *tls.Config {
	if h == nil {
		return nil
	}
	return h.holder.Client(nil)
}

// keep renews the certificate until ctx ends, first soon: nobody knows for how long this host was off.
// No failure ends anything: agents go on, and freeze when the servers do not hear this host any more.
func (h *hostIdentity) keep(ctx context.Context, conn *client.Client, log hclog.Logger) error {
	wait, said := hostFirst, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		err := join.Renew(ctx, conn, h.holder, nil, h.dir)
		if err == nil {
			wait, said = hostRenew, false
			continue
		}
		if wait = hostAgain; !said && ctx.Err() == nil {
			said = true
			log.Warn("the certificate of this host was not renewed, trying again", "error", err)
		}
	}
}
