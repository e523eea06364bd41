package serve

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"vigil/cmd/vigil/join"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Rhythm in which a server looks after its own identity.
const (
	keepLook  = 10 * time.Second
	keepSoon  = time.Second      // while something is missing, at first
	keepLimit = 30 * time.Second // for one call
)

// Sign implements vouch.Signer with this server's issuing key.
func (i *identity) Sign(csr []byte, holder trust.Name, s trust.Stamp, sans []string) ([]*x509.Certificate, error) {
	issuer, err := i.dir.Get(trust.IssuerFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, trust.ErrNoIssuer
	}
	if err != nil {
		return nil, err
	}
	return issuer.Leaf(csr, holder, s, sans)
}

// SignIssuer implements vouch.Signer where the root's key is.
func (i *identity) SignIssuer(csr []byte, server trust.Name, s trust.Stamp) ([]*x509.Certificate, error) {
	root, err := i.dir.Get(trust.RootFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, trust.ErrNoRoot
	}
	if err != nil {
		return nil, err
	}
	return root.Issuer(csr, server, s, time.Now())
}

func (i *identity) id() string {
	self, _ := i.holder.Self()
	return self.ID
}

// keepIdentity renews this server's certificate, follows the roots of the cluster, and gets an issuing
// key where there is none, until ctx ends. What fails is tried again.
func (s *server) keepIdentity(ctx context.Context) error {
	said, wait := "", keepSoon
	for {
		whole, err := s.identity.keep(ctx, s)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			s.log.Warn("this server's identity is not up to date, trying again", "error", err)
		}
		if whole || err != nil { // a server that has just joined is soon taken in
			wait = min(2*wait, keepLook)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// keep does what is to be done now; whole tells that nothing is missing then.
func (i *identity) keep(ctx context.Context, s *server) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	var roots []*x509.Certificate
	var now time.Duration
	var issues int
	founded, behind := false, false
	s.replica.Read(func(v *fsm.View) {
		now, founded = time.Duration(v.TrustClock()), v.ClusterUUID() != ""
		wait := v.RootWait()
		behind = slices.Contains(wait.Behind, noun.Identity{Kind: noun.ServerIdentity, Name: i.id()})
		var list []noun.Root
		list, issues = v.Roots()
		for _, r := range list {
			if c, err := x509.ParseCertificate([]byte(r.DER)); err == nil {
				roots = append(roots, c)
			}
		}
	})
	if !founded || issues >= len(roots) || s.replica.Leader().ID == "" || !s.member() {
		return false, nil
	}
	if !slices.EqualFunc(roots, i.holder.Roots().Certs, (*x509.Certificate).Equal) {
		next, err := trust.NewRoots(roots...)
		if err == nil {
			err = i.dir.PutRoots(next)
		}
		if err != nil {
			return false, err
		}
		i.holder.SetRoots(next)
	}
	// The key of the root may be away for weeks, and a certificate is renewed all the same.
	if i.needsIssuer(now, roots[issues]) {
		err = i.getIssuer(ctx, s.addrs(), roots[issues])
	}
	self, _ := i.holder.Self()
	old := now-time.Duration(self.Clock) > trust.RenewServer
	if names := s.sans(); behind && err == nil || old || !i.named && !i.covers(names) {
		no := join.Renew(ctx, s.client, i.holder, names, i.dir)
		if no != nil {
			err = errors.Join(err, fmt.Errorf("renew certificate: %w", no))
		}
		i.named = i.named || no == nil // once a start: whoever signs may leave some names out
	}
	return err == nil, err
}

// covers tells whether this server's certificate has all the names under which it is to be found: the configuration may
// have others since it was made, and browsers go by them.
func (i *identity) covers(names []string) bool {
	leaf, err := i.dir.Get(trust.LeafFiles)
	if err != nil {
		return true // which is said elsewhere
	}
	for _, name := range names {
		if leaf.Chain[0].VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// needsIssuer tells whether this server should ask for an issuing key: it has none, that is of a generation
// of its own that was revoked, so that nothing it signs counts, of another root than issues, or it grows old for
// browsers. The present one goes on signing until the next is there. now is on the clock of certificates.
func (i *identity) needsIssuer(now time.Duration, issuing *x509.Certificate) bool {
	issuer, err := i.dir.Get(trust.IssuerFiles)
	if err != nil {
		i.issuer.Store(-1)
		return errors.Is(err, fs.ErrNotExist)
	}
	stamp, err := trust.StampOf(issuer.Chain[0])
	age := now - time.Duration(stamp.Clock)
	i.issuer.Store(int64(max(age, 0)))
	self, _ := i.holder.Self()
	return err != nil || !slices.ContainsFunc(issuer.Chain, issuing.Equal) || stamp.Generation < self.Generation ||
		age > trust.IssuerRenew
}

// getIssuer asks all servers for an issuing key, this one too: one of them has the key of the root. One that has a key
// of a root that was replaced, an old copy that somebody put back, may answer too: what that signs counts for nobody,
// and would take the place of a key that does.
func (i *identity) getIssuer(ctx context.Context, addrs []string, issuing *x509.Certificate) error {
	key, err := trust.NewKey()
	if err != nil {
		return err
	}
	csr, err := trust.Request(key)
	if err != nil {
		return err
	}
	var why []error
	for _, addr := range addrs {
		conn, err := client.Open(client.Config{Addrs: []string{addr}, Name: "server " + i.id(), TLS: i.holder.Client(nil)})
		if err != nil {
			return err
		}
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		cert, err := vigilv1.NewTrustClient(conn).SignIssuer(try, &vigilv1.SignIssuerRequest{Csr: csr})
		cancel()
		_ = conn.Close() // it was asked one thing
		if err != nil {
			why = append(why, fmt.Errorf("%s: %w", addr, err))
			continue
		}
		chain, err := trust.Parse(cert.GetChain())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(chain, issuing.Equal) {
			why = append(why, fmt.Errorf("%s has the key of another root than the one that signs: put the right root.key there",
				addr))
			continue
		}
		return i.dir.Put(trust.IssuerFiles, &trust.Authority{Chain: chain, Key: key})
	}
	return fmt.Errorf("get an issuing key: no server has the root's key: %w", errors.Join(why...))
}

// addrs are the API addresses of all servers.
func (s *server) addrs() (list []string) {
	s.replica.Read(func(v *fsm.View) {
		for _, srv := range v.Servers() {
			if srv.APIAddr != "" {
				list = append(list, srv.APIAddr)
			}
		}
	})
	return list
}

// sans are the names under which browsers and tools find this server.
func (s *server) sans() []string {
	return sans(append([]string{s.conf.Addr, s.conf.AdvertiseAddr}, named(s.conf.HTTPHosts)...)...)
}

func named(hosts []string) (addrs []string) {
	for _, h := range hosts {
		addrs = append(addrs, h+":0")
	}
	return addrs
}
