package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

const aboutInit = `Found a cluster: make its root and the identity of its first server, and log you in as its
first admin.

It prints a token by which two more servers join within a day, and how to start this one. The key
of the root is in the data directory, as trust/root.key: copy it to a safe place. It may be moved
away; it is needed when a server joins, and once in 60 days.`

// Names and times of founding.
const (
	serverTokenUses = 2
	serverTokenLife = 24 * time.Hour
	loginTokenLife  = time.Hour
	foundLimit      = 2 * time.Minute
)

// newInitCmd is `vigil server init`.
func newInitCmd(a *cli.App) *cobra.Command {
	flags := conf.DefaultServer()
	var file, admin, context string
	cmd := &cobra.Command{
		Use: "init", Short: "Found a cluster with identities, and log in as its admin", Long: aboutInit, Args: cobra.NoArgs,
		Example: "  vigil server init\n  vigil server init --id s1 --addr 10.0.0.1:7420 --raft-addr 10.0.0.1:7421",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := ownConf(file, flags, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if admin == "" {
				admin = accountName()
			}
			return (&founding{App: a, conf: set, file: file, admin: admin, context: context}).run(cmd.Context())
		},
	}
	ownFlags(cmd, flags, &file)
	cmd.Flags().StringVar(&admin, "admin", "", "name of the first admin (default: of your account)")
	cmd.Flags().StringVar(&context, "context-name", "", "name of the context that is made for you (default: the server's id)")
	return cmd
}

// ownFlags are the flags of commands that make a server's identity.
func ownFlags(cmd *cobra.Command, flags *conf.Server, file *string) {
	fl := cmd.Flags()
	fl.StringVarP(file, "config", "c", "", "configuration file (YAML) of the server; without it one is written into the data directory")
	fl.StringVar(&flags.ID, "id", "", "name of this server, unique in the cluster, never reused (default: the machine's)")
	fl.StringVar(&flags.DataDir, "data-dir", flags.DataDir, "its own directory")
	fl.StringVar(&flags.Addr, "addr", flags.Addr, "listen here for clients")
	fl.StringVar(&flags.AdvertiseAddr, "advertise-addr", "", "where clients and servers reach --addr (default: the same)")
	fl.StringVar(&flags.RaftAddr, "raft-addr", flags.RaftAddr, "where the other servers reach this one")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
}

// ownConf is what a server is to be: the file, and what the command line says beside it.
func ownConf(file string, flags *conf.Server, said func(string) bool) (*conf.Server, error) {
	set := conf.DefaultServer()
	if file != "" {
		var err error
		if set, err = conf.ReadServer(file); err != nil {
			return nil, err
		}
	}
	set.Override(flags, said)
	if set.ID == "" {
		set.ID = machineName()
	}
	var err error
	if set.DataDir, err = filepath.Abs(set.DataDir); err != nil {
		return nil, fmt.Errorf("find data directory: %w", err)
	}
	set.HasIdentity("")
	set.LogLevel = "error"
	return set, set.Check()
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func machineName() string {
	host, err := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	if host = strings.Trim(notInName.ReplaceAllString(host, "-"), "-._"); err != nil || host == "" {
		return "s1"
	}
	return host
}

func accountName() string {
	who, err := user.Current()
	if err != nil {
		return "admin"
	}
	if name := strings.Trim(notInName.ReplaceAllString(who.Username, "-"), "-._"); name != "" {
		return name
	}
	return "admin"
}

// founding is the making of a cluster.
type founding struct {
	*cli.App
	conf    *conf.Server
	file    string
	admin   string
	context string
}

func (f *founding) run(ctx context.Context) error {
	dir := trustDir(f.conf.DataDir)
	if there, err := dir.Exists(); err != nil || there {
		return errors.Join(err, cli.ExitWith(cli.ExitFailed, fmt.Errorf("%s holds an identity: a cluster was founded or joined there; "+
			"start its server with `vigil server --data-dir %s`, or name another --data-dir", dir, f.conf.DataDir)))
	}
	if part, err := dir.Part(); err != nil || part != "" { // the root of a cluster that lives, perhaps
		return errors.Join(err, cli.ExitWith(cli.ExitFailed, fmt.Errorf("%s holds %s of a cluster that was founded or joined there: "+
			"move it to a safe place, or name another --data-dir", dir, part)))
	}
	if f.context == "" {
		f.context = f.conf.ID
	}
	if err := cli.CheckContextName(f.context); err != nil {
		return err
	}
	if err := f.makeIdentity(dir); err != nil {
		return err
	}
	token, err := f.found(ctx)
	if err != nil {
		return errors.Join(err, os.RemoveAll(string(dir))) // so that it can be done again
	}
	if f.file == "" {
		if f.file, err = writeServerConf(f.conf, nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(f.Out, "Cluster founded. You are its admin, as %q, in the context %q.\n\n", f.admin, f.context)
	fmt.Fprintf(f.Out, "Start this server:\n  vigil server --config %s\n\n", f.file)
	fmt.Fprintf(f.Out, "Let two more servers join, within %s, each on its own machine:\n  vigil server join %s\n\n", words(serverTokenLife), token)
	fmt.Fprintf(f.Out, "The key of the root is %s: copy it to a safe place.\n", filepath.Join(string(dir), trust.RootFiles+".key"))
	return nil
}

func words(d time.Duration) string { return fmt.Sprintf("%d hours", int(d.Hours())) }

// makeIdentity makes the root, this server's issuing key and its first certificate.
func (f *founding) makeIdentity(dir trust.Dir) error {
	now := time.Now() // only for the dates that browsers look at
	root, err := trust.NewRoot(trust.NewCluster(), now)
	if err != nil {
		return err
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		return err
	}
	self := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: f.conf.ID}
	stamp := trust.Stamp{Generation: 1}
	issuer, err := certified(func(csr []byte) ([]*certificate, error) { return root.Issuer(csr, self, stamp, now) })
	if err != nil {
		return err
	}
	leaf, err := certified(func(csr []byte) ([]*certificate, error) {
		return issuer.Leaf(csr, self, stamp, sans(f.conf.Addr, f.conf.AdvertiseAddr), now)
	})
	if err != nil {
		return err
	}
	// The leaf comes last: with it the identity is there.
	return errors.Join(dir.Put(trust.RootFiles, root), dir.PutRoots(roots), dir.Put(trust.IssuerFiles, issuer),
		dir.Put(trust.LeafFiles, leaf))
}

// found runs the server for as long as it takes to write the first words of the cluster, and logs the
// admin in. It gives a token for the other servers.
func (f *founding) found(ctx context.Context) (join.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, foundLimit)
	defer cancel()
	first := *f.conf
	first.BootstrapExpect = 1
	s, err := Open(&first, io.Discard)
	if err != nil {
		return join.Token{}, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	token, err := f.tell(ctx, s, ended)
	stop()
	return token, errors.Join(err, <-ended)
}

func (f *founding) tell(ctx context.Context, s *server, ended chan error) (t join.Token, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.replica.Leader().Self {
		select {
		case err := <-ended:
			ended <- nil
			return t, errors.Join(errors.New("the server has ended"), err)
		case <-ctx.Done():
			return t, fmt.Errorf("the server does not become the leader of its own cluster: %w", ctx.Err())
		case <-tick.C:
		}
	}
	roots := s.identity.holder.Roots()
	self, _ := s.identity.holder.Self()
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	hash := sha256.Sum256(secret)
	login := join.Token{Addrs: []string{s.conf.AdvertiseAddr}, Pin: trust.Pin(roots.Certs[0]), Secret: secret}
	for _, cmd := range []fsm.Command{
		fsm.FoundTrust{Cluster: roots.Cluster, Roots: []fsm.Root{{Cert: roots.Certs[0].Raw}}, Server: s.conf.ID,
			Serial: self.Serial, Admin: f.admin, By: "server/" + s.conf.ID},
		fsm.PutToken{SecretHash: hash[:], Kind: noun.UserIdentity, Name: f.admin, Uses: 1, For: loginTokenLife,
			By: "server/" + s.conf.ID},
	} {
		out, err := s.replica.Submit(ctx, fsm.Request{Cmd: cmd})
		if err == nil && out.Code != noun.OK {
			err = errors.New(out.Detail)
		}
		if err != nil {
			return t, fmt.Errorf("found cluster: %w", err)
		}
		login.ID = out.Number()
	}
	dir, err := f.IdentityDir(f.context)
	if err != nil {
		return t, err
	}
	if err := join.Enter(ctx, login, trust.User, f.admin, nil, dir); err != nil {
		return t, fmt.Errorf("log in as %s: %w", f.admin, err)
	}
	if err := f.ChangeContexts(func(all *cli.Contexts) error {
		all.Contexts[f.context] = cli.Context{Servers: []string{s.conf.AdvertiseAddr}, Identity: string(dir)}
		all.Selected = f.context
		return nil
	}); err != nil {
		return t, err
	}
	return f.serverToken(ctx, dir, s.conf.AdvertiseAddr)
}

// serverToken makes the token for the other servers, as the admin.
func (f *founding) serverToken(ctx context.Context, dir trust.Dir, addr string) (t join.Token, err error) {
	holder, err := dir.Holder()
	if err != nil {
		return t, err
	}
	conn, err := client.Open(client.Config{Addrs: []string{addr}, Name: "vigil server init", TLS: holder.Client(nil)})
	if err != nil {
		return t, err
	}
	defer conn.Close()
	made, err := vigilv1.NewTrustClient(conn).CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: "server", Uses: serverTokenUses,
		Ttl: durationpb.New(serverTokenLife)})
	if err != nil {
		return t, fmt.Errorf("make a token for the other servers: %w", err)
	}
	return join.Token{Addrs: []string{addr}, Pin: trust.Pin(holder.Roots().Certs[0]), ID: made.GetToken(), Secret: made.GetSecret()}, nil
}
