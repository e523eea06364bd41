package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/cmd/vigil/serve"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// A demo is a cluster like any other: its servers, hosts and whoever runs it have identities, of a root
// that is in its folder and goes with it.

// Times of identities in a demo.
const (
	devTokenLife  = 5 * time.Minute
	devRenew      = 6 * time.Hour // of who runs the demo: half of what a person's certificate is good for
	devRenewAgain = time.Minute   // after a try that failed
	devEnter      = 20 * time.Second
	devEnterAgain = 300 * time.Millisecond
)

// identity is the folder with who runs the demo.
func (p *devPlace) identity() trust.Dir { return trust.Dir(p.path("identity")) }

// found founds the cluster of a new demo and gives everything in it an identity. A demo that was founded
// in an earlier run is left as it is.
func (p *devPlace) found(ctx context.Context) (err error) {
	there, err := p.identity().Exists()
	if err != nil || there {
		return err
	}
	first := p.servers[0]
	if _, err := os.Stat(p.data(first.ID)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s holds a demo that has no identities: "+
			"remove it, or give another --data-dir", p.dir)))
	}
	set, err := conf.ReadServer(p.path(first.ID, "server.yaml"))
	if err != nil {
		return err
	}
	err = serve.Found(ctx, serve.Founding{Conf: set, Admin: serve.AccountName(), Dir: p.identity()},
		func(ctx context.Context, admin *client.Client) error {
			return p.enroll(ctx, admin, []string{first.APIAddr})
		})
	if err != nil { // what was made for a cluster that is not there is of no use
		return errors.Join(fmt.Errorf("found the cluster of the demo: %w", err), p.unfound())
	}
	return nil
}

// unfound removes what found has made.
func (p *devPlace) unfound() error {
	err := os.RemoveAll(string(p.identity()))
	for _, s := range p.servers {
		err = errors.Join(err, os.RemoveAll(p.data(s.ID)))
	}
	for _, h := range p.hosts {
		err = errors.Join(err, os.RemoveAll(p.data(h.name)))
	}
	return err
}

// data is the data directory of a server or a host.
func (p *devPlace) data(name string) string { return p.path(name, "data") }

// enroll gives identities to the servers and hosts that have none: all in a new demo, and hosts that an
// earlier run did not have. servers are the addresses at which the cluster is asked.
func (p *devPlace) enroll(ctx context.Context, admin *client.Client, servers []string) error {
	for _, s := range p.servers {
		conf, err := conf.ReadServer(p.path(s.ID, "server.yaml"))
		if err != nil {
			return err
		}
		if err := p.enrollOne(ctx, admin, servers, trust.Server, s.ID, func(ctx context.Context, t join.Token) error {
			return serve.EnterServer(ctx, conf, t)
		}); err != nil {
			return err
		}
	}
	for _, h := range p.hosts {
		if err := p.enrollOne(ctx, admin, servers, trust.Host, h.name, func(ctx context.Context, t join.Token) error {
			return serve.EnterHost(ctx, p.data(h.name), "", t)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *devPlace) enrollOne(ctx context.Context, admin *client.Client, servers []string, kind trust.Kind, name string,
	enter func(context.Context, join.Token) error,
) error {
	if there, err := serve.Entered(p.data(name)); err != nil || there {
		return err
	}
	token, err := join.Ask(ctx, admin, kind, 1, devTokenLife, servers)
	if err == nil {
		err = enterSoon(ctx, func() error { return enter(ctx, token) })
	}
	if err != nil {
		return fmt.Errorf("give %s %s an identity: %w", kind, name, err)
	}
	return nil
}

// enterSoon tries again what a server refuses, for a while: one that leads soon after it has joined has no
// issuing key yet, and its refusal costs no token.
func enterSoon(ctx context.Context, enter func() error) error {
	for end := time.Now().Add(devEnter); ; {
		err := enter()
		if refused := new(client.Error); !errors.As(err, &refused) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(devEnterAgain):
		}
	}
}

// whyHeld says why the daemon of a host must not run now: the host is off, or nobody yet. "": it may.
func (h devHost) whyHeld() string {
	if why := h.whyOff(); why != "" {
		return why
	}
	if there, err := serve.Entered(h.data()); err == nil && !there {
		return "the host has no identity yet"
	}
	return ""
}

// connect opens a connection of whoever runs the demo to its servers; the caller closes it.
func (p *devPlace) connect() (*client.Client, *trust.Holder, error) {
	self, err := p.identity().Holder()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.Open(client.Config{Addrs: p.apiAddrs(), Name: "vigil dev", TLS: self.Client(nil)})
	return c, self, err
}

// keepIdentity renews the certificate of who runs the demo until ctx ends: first at once, since nobody
// knows how old the one of an earlier run is.
func (f *fleet) keepIdentity(ctx context.Context) error {
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = devRenew
		if err := join.Renew(ctx, f.conn.Client, f.self, nil, f.place.identity()); err != nil && ctx.Err() == nil {
			f.say("your certificate of the demo was not renewed, trying again: %v", err)
			wait = devRenewAgain
		}
	}
}
