package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"vigil/agentd/disk"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

// Times of founding.
const (
	loginTokenLife = time.Hour
	foundLimit     = 2 * time.Minute
	foundLook      = 20 * time.Millisecond // between looks whether the server leads
)

// Founding says which cluster is founded, and by whom.
type Founding struct {
	Conf  *conf.Server // of the first server; its data directory belongs to nobody yet
	Admin string       // name of the first admin
	Dir   trust.Dir    // gets the identity of the admin
	Adopt bool         // the data directory is that of a server without identities, which has stopped

	written bool // the state has its identities
}

// Found founds a cluster of one. It makes the root and the first server's identity in the data directory,
// runs that server for as long as it takes to write the first words of the cluster and to log its admin
// in, and has then use it meanwhile, over a connection of the admin. The server has ended when Found
// returns. After an error everything that it made is gone, so that it can be done again; what a server
// without identities had in the directory that is adopted stays.
func Found(ctx context.Context, f Founding, then func(ctx context.Context, admin *client.Client) error) error {
	if err := f.unclaimed(); err != nil {
		return err
	}
	if err := f.adoptable(); err != nil {
		return err
	}
	undo, err := f.undoing()
	if err != nil {
		return err
	}
	held, err := f.Dir.Exists()
	if err != nil {
		return err
	}
	if err = f.makeIdentity(trustDir(f.Conf.DataDir)); err == nil {
		err = f.run(ctx, then)
	}
	if err == nil {
		return nil
	}
	if f.Adopt && f.written {
		return fmt.Errorf("%w\nThe data has identities from now on, all the same. Start the server, and on its machine, "+
			"as its account, make a token to log in by: VIGIL_ADDR=unix:%s vigil token create --role user --name %s",
			err, filepath.Join(f.Conf.DataDir, ownerSocket), f.Admin)
	}
	if !held { // a key for a cluster that is not there would be in the way of the next attempt
		err = errors.Join(err, os.RemoveAll(string(f.Dir)))
	}
	return errors.Join(err, undo())
}

// unclaimed refuses a data directory that belongs to a cluster, or did.
func (f *Founding) unclaimed() error {
	dir := trustDir(f.Conf.DataDir)
	if there, err := dir.Exists(); err != nil || there {
		return errors.Join(err, cli.ExitWith(cli.ExitFailed,
			fmt.Errorf("%s holds an identity: a cluster was founded or joined there; "+
				"start its server with `vigil server --data-dir %s`, or name another --data-dir",
				dir, f.Conf.DataDir)))
	}
	if part, err := dir.Part(); err != nil || part != "" { // the root of a cluster that lives, perhaps
		return errors.Join(err, cli.ExitWith(cli.ExitFailed,
			fmt.Errorf("%s holds %s of a cluster that was founded or joined there: "+
				"move it to a safe place, or name another --data-dir", dir, part)))
	}
	return nil
}

// makeIdentity makes the root, this server's issuing key and its first certificate.
func (f *Founding) makeIdentity(dir trust.Dir) error {
	now := time.Now() // only for the dates that browsers look at
	root, err := trust.NewRoot(trust.NewCluster(), now)
	if err != nil {
		return err
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		return err
	}
	self := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: f.Conf.ID}
	stamp := trust.Stamp{Generation: 1}
	issuer, err := certified(func(csr []byte) ([]*certificate, error) { return root.Issuer(csr, self, stamp, now) })
	if err != nil {
		return err
	}
	leaf, err := certified(func(csr []byte) ([]*certificate, error) {
		return issuer.Leaf(csr, self, stamp, sans(f.Conf.Addr, f.Conf.AdvertiseAddr))
	})
	if err != nil {
		return err
	}
	// The leaf comes last: with it the identity is there.
	return errors.Join(dir.Put(trust.RootFiles, root), dir.PutRoots(roots), dir.Put(trust.IssuerFiles, issuer),
		dir.Put(trust.LeafFiles, leaf))
}

// run runs the server until then has ended.
func (f *Founding) run(ctx context.Context, then func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, foundLimit)
	defer cancel()
	first := *f.Conf
	if f.Adopt {
		if err := f.adopt(); err != nil {
			return err
		}
	} else {
		first.Found = true
	}
	s, err := Open(&first, io.Discard)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	if err = f.leads(ctx, s, ended); err == nil {
		err = f.tell(ctx, s, then)
	}
	stop()
	return errors.Join(err, <-ended)
}

// leads waits until the server leads its cluster of one.
func (f *Founding) leads(ctx context.Context, s *server, ended chan error) error {
	tick := time.NewTicker(foundLook)
	defer tick.Stop()
	for !s.replica.Leader().Self {
		select {
		case err := <-ended:
			ended <- nil
			return errors.Join(errors.New("the server has ended"), err)
		case <-ctx.Done():
			return fmt.Errorf("the server does not become the leader of its own cluster: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// tell writes the first words of the cluster, logs its admin in, and has then use the cluster.
func (f *Founding) tell(ctx context.Context, s *server, then func(context.Context, *client.Client) error) error {
	roots := s.identity.holder.Roots()
	self, _ := s.identity.holder.Self()
	by := "server/" + f.Conf.ID
	login := join.Token{Addrs: []string{s.conf.AdvertiseAddr}, Pin: trust.Pin(roots.Certs[0]), Secret: make([]byte, 32)}
	_, _ = rand.Read(login.Secret) // it never fails
	hash := sha256.Sum256(login.Secret)
	for _, cmd := range []fsm.Command{
		fsm.FoundTrust{Cluster: roots.Cluster, Roots: []fsm.Root{{Cert: roots.Certs[0].Raw}}, Server: f.Conf.ID,
			Serial: self.Serial, Admin: f.Admin, By: by},
		fsm.PutToken{SecretHash: hash[:], Kind: noun.UserIdentity, Name: f.Admin, Uses: 1, For: loginTokenLife, By: by},
	} {
		out, err := s.replica.Submit(ctx, fsm.Request{Cmd: cmd})
		if err == nil && out.Code != noun.OK {
			err = errors.New(out.Detail)
		}
		if err != nil {
			return fmt.Errorf("found cluster: %w", err)
		}
		f.written = true
		login.ID = out.Number()
	}
	if err := join.Enter(ctx, login, trust.User, f.Admin, nil, f.Dir); err != nil {
		return fmt.Errorf("log in as %s: %w", f.Admin, err)
	}
	holder, err := f.Dir.Holder()
	if err != nil {
		return err
	}
	conn, err := client.Open(client.Config{Addrs: login.Addrs, Name: "founder", TLS: holder.Client(nil)})
	if err != nil {
		return err
	}
	defer conn.Close()
	return then(ctx, conn)
}

// EnterServer uses a token to give a server that belongs to nobody yet an identity, in its data directory.
func EnterServer(ctx context.Context, conf *conf.Server, token join.Token) error {
	ctx, cancel := context.WithTimeout(ctx, enterLimit)
	defer cancel()
	return join.Enter(ctx, token, trust.Server, conf.ID, sans(conf.Addr, conf.AdvertiseAddr), trustDir(conf.DataDir))
}

// EnterHost uses a token to give a host that belongs to nobody yet an identity, in its data directory. keyCopy, if
// not empty, is a copy of the host_key of a directory that is lost, of which this one takes the place.
func EnterHost(ctx context.Context, dataDir, keyCopy string, token join.Token) error {
	key, err := disk.HostKey(dataDir, keyCopy)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, enterLimit)
	defer cancel()
	return join.Enter(ctx, token, trust.Host, key, nil, trustDir(dataDir))
}

// Entered tells whether a data directory, of a server or a host, holds an identity.
func Entered(dataDir string) (bool, error) { return trustDir(dataDir).Exists() }
