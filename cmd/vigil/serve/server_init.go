package serve

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/rpc/client"
	"vigil/rpc/trust"
)

const aboutInit = `Found a cluster: make its root and the identity of its first server, and log you in as its
first admin.

It prints a token by which two more servers join within a day, and how to start this one. The key
of the root is in the data directory, as trust/root.key: copy it to a safe place. It may be moved
away; it is needed when a server joins, and once in 60 days.

With --adopt the cluster goes on with the data of a server that ran without identities: rooms, agents,
tasks and mail stay, nothing is started for one TTL. Each of its hosts joins by a token, in the data
directory that it has; agents there go on.`

// The token for the servers that join a new cluster.
const (
	serverTokenUses = 2
	serverTokenLife = 24 * time.Hour
)

// newInitCmd is `vigil server init`.
func newInitCmd(a *cli.App) *cobra.Command {
	flags := conf.DefaultServer()
	var file, admin, context string
	var adopt bool
	cmd := &cobra.Command{
		Use: "init", Short: "Found a cluster with identities, and log in as its admin", Long: aboutInit, Args: cobra.NoArgs,
		Example: "  vigil server init\n  vigil server init --id s1 --addr 10.0.0.1:7420 --raft-addr 10.0.0.1:7421\n" +
			"  vigil server init --config " + unitConf + " --data-dir " + unitData +
			" --addr 10.0.0.1:7420 --raft-addr 10.0.0.1:7421\n" +
			"  vigil server init --adopt --data-dir vigil-data --id s1 --addr 10.0.0.1:7420 --raft-addr 10.0.0.1:7421",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := ownConf(file, flags, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return initServer(cmd.Context(), a, Founding{Conf: set, Admin: admin, Adopt: adopt}, file, context)
		},
	}
	ownFlags(cmd, flags, &file)
	cmd.Flags().BoolVar(&adopt, "adopt", false,
		"give identities to the data of a lone server that ran without any, and has stopped")
	cmd.Flags().StringVar(&admin, "admin", "", "name of the first admin (default: of your account)")
	cmd.Flags().StringVar(&context, "context-name", "",
		"name of the context that is made for you (default: the server's id)")
	return cmd
}

// ownFlags are the flags of commands that make a server's identity.
func ownFlags(cmd *cobra.Command, flags *conf.Server, file *string) {
	fl := cmd.Flags()
	fl.StringVarP(file, "config", "c", "", "configuration file (YAML) of the server; "+
		"what it is to be is written there (default: server.yaml in the data directory)")
	fl.StringVar(&flags.ID, "id", "", "name of this server, unique in the cluster, never reused (default: the machine's)")
	fl.StringVar(&flags.DataDir, "data-dir", flags.DataDir, "its own directory")
	fl.StringVar(&flags.Addr, "addr", flags.Addr, "listen here for clients")
	fl.StringVar(&flags.AdvertiseAddr, "advertise-addr", "", "where clients and servers reach --addr (default: the same)")
	fl.StringVar(&flags.RaftAddr, "raft-addr", flags.RaftAddr, "where the other servers reach this one")
	fl.StringVar(&flags.Zone, "zone", "", "what fails together with this server: a rack, a building")
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
	if set.Insecure {
		return nil, cli.Usagef("%s says insecure: true, and this server is to have an identity: remove that line", file)
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

// AccountName is the name of this account as that of a user of a cluster.
func AccountName() string {
	who, err := user.Current()
	if err != nil {
		return "admin"
	}
	if name := strings.Trim(notInName.ReplaceAllString(who.Username, "-"), "-._"); name != "" {
		return name
	}
	return "admin"
}

// notTheirs says that no identity is of the cluster which is to be founded.
func notTheirs([]string, *trust.Roots) bool { return false }

// initServer founds a cluster and says what to do next. What the server is goes into its configuration, file;
// name is that of the context.
func initServer(ctx context.Context, a *cli.App, f Founding, file, name string) (err error) {
	if name == "" {
		name = f.Conf.ID
	}
	if err := f.unclaimed(); err != nil {
		return err
	}
	if f.Dir, err = a.NewIdentityDir(name, "--context-name", notTheirs); err != nil {
		return err
	}
	if f.Admin == "" {
		f.Admin = AccountName()
	}
	var token join.Token
	if err := Found(ctx, f, func(ctx context.Context, admin *client.Client) (err error) {
		servers := []string{f.Conf.AdvertiseAddr}
		if token, err = join.Ask(ctx, admin, trust.Server, serverTokenUses, serverTokenLife, servers); err != nil {
			return fmt.Errorf("make a token for the other servers: %w", err)
		}
		return a.ChangeContexts(func(all *cli.Contexts) error {
			all.Contexts[name] = cli.Context{Servers: servers, Identity: string(f.Dir)}
			all.Selected = name
			return nil
		})
	}); err != nil {
		return err
	}
	if file, err = putServerConf(file, f.Conf, nil); err != nil {
		return err
	}
	return a.Printf("Cluster founded. You are its admin, as %q, in the context %q.\n\n"+
		"Start this server:\n%s\n\n%s\n\n"+
		"The key of the root is %s: copy it to a safe place.\n", f.Admin, name, howToStart(file, f.Conf.DataDir),
		howOthersJoin(file, f.Conf, token), filepath.Join(string(trustDir(f.Conf.DataDir)), trust.RootFiles+".key"))
}

func words(d time.Duration) string { return fmt.Sprintf("%d hours", int(d.Hours())) }
