package serve

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/rpc/trust"
)

// certificate keeps lines short.
type certificate = x509.Certificate

// enterLimit is how long joining looks for a server that answers.
const enterLimit = time.Minute

// certified makes a key and has it signed.
func certified(sign func(csr []byte) ([]*certificate, error)) (*trust.Authority, error) {
	key, err := trust.NewKey()
	if err != nil {
		return nil, err
	}
	csr, err := trust.Request(key)
	if err != nil {
		return nil, err
	}
	chain, err := sign(csr)
	return &trust.Authority{Chain: chain, Key: key}, err
}

// newJoinCmd is `vigil server join`.
func newJoinCmd(a *cli.App) *cobra.Command {
	flags := conf.DefaultServer()
	var file string
	cmd := &cobra.Command{
		Use: "join TOKEN", Short: "Make this machine a server of a cluster, by a token", Args: cobra.ExactArgs(1),
		Long: "Give this server an identity in the cluster that the token is for, and print how to start it.\n" +
			"`vigil server init` prints the first token, `vigil token create --role server` another one.",
		Example: "  vigil server join TOKEN --id s2 --addr 10.0.0.2:7420 --raft-addr 10.0.0.2:7421\n" +
			"  vigil server join - --addr 10.0.0.2:7420 --raft-addr 10.0.0.2:7421 < token   # it is in no list of processes\n" +
			"  vigil server join TOKEN --config " + unitConf + " --data-dir " + unitData +
			" --addr 10.0.0.2:7420 --raft-addr 10.0.0.2:7421",
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := ownConf(file, flags, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			token, err := unused(a, trustDir(set.DataDir), args[0])
			if err != nil {
				return err
			}
			if err := reachable(set, token); err != nil {
				return err
			}
			if err := EnterServer(cmd.Context(), set, token); err != nil {
				return err
			}
			if file, err = putServerConf(file, set, token.Addrs); err != nil {
				return err
			}
			return a.Printf("This machine is server %q now. Start it:\n%s\n", set.ID, howToStart(file, set.DataDir))
		},
	}
	ownFlags(cmd, flags, &file)
	cmd.Flags().BoolVar(&flags.Standby, "standby", false,
		"join without a vote, to take the place of a server that is lost")
	return cmd
}

// unused reads a token for a folder that belongs to nobody yet.
func unused(a *cli.App, dir trust.Dir, word string) (join.Token, error) {
	token, err := join.ReadToken(word, a.In)
	if err != nil {
		return token, err
	}
	there, err := dir.Exists()
	if err == nil && there {
		err = cli.ExitWith(cli.ExitFailed, fmt.Errorf(
			"%s holds an identity already: start what it is for; if that has ended, move this folder away; for another "+
				"server or host name another --data-dir", dir))
	}
	return token, err
}

// putServerConf writes what a server needs to be started into its configuration, and gives the file's name;
// without a file one is made in the data directory.
func putServerConf(file string, set *conf.Server, joins []string) (string, error) {
	values := map[string]any{"id": set.ID, "data_dir": set.DataDir, "addr": set.Addr, "raft_addr": set.RaftAddr}
	if set.AdvertiseAddr != set.Addr {
		values["advertise_addr"] = set.AdvertiseAddr
	}
	if set.Zone != "" {
		values["zone"] = set.Zone
	}
	if set.Standby {
		values["standby"] = true
	}
	if len(joins) > 0 {
		values["join"] = joins
	}
	file = cmp.Or(file, filepath.Join(set.DataDir, "server.yaml"))
	return file, putConf(file, values)
}

// newAgentdJoinCmd is `vigil agentd join`.
func newAgentdJoinCmd(a *cli.App) *cobra.Command {
	flags := conf.DefaultAgentd()
	var file, keyCopy string
	cmd := &cobra.Command{
		Use: "join TOKEN", Short: "Make this machine a worker host of a cluster, by a token", Args: cobra.ExactArgs(1),
		Long: "Give this host an identity in the cluster that the token is for, and print how to start agentd.\n" +
			"`vigil token create --role host` prints a token.\n\n" +
			"With --host-key-file it goes on as the host whose data directory is lost, when its agents' fences have ended:\n" +
			"the token is one for that name, of `vigil token create --role host --name KEY`.",
		RunE: func(cmd *cobra.Command, args []string) error {
			set := conf.DefaultAgentd()
			if file != "" {
				var err error
				if set, err = conf.ReadAgentd(file); err != nil {
					return err
				}
			}
			set.Override(flags, cmd.Flags().Changed)
			data, err := filepath.Abs(set.DataDir)
			if err != nil {
				return fmt.Errorf("find data directory: %w", err)
			}
			token, err := unused(a, trustDir(data), args[0])
			if err != nil {
				return err
			}
			if err := EnterHost(cmd.Context(), data, keyCopy, token); err != nil {
				return err
			}
			values := map[string]any{"servers": token.Addrs, "data_dir": data}
			if set.Name != "" {
				values["name"] = set.Name
			}
			file = cmp.Or(file, filepath.Join(data, "agentd.yaml"))
			if err := putConf(file, values); err != nil {
				return err
			}
			return a.Printf("This machine is a host of the cluster now. Put runners into %s and start it:\n%s\n",
				filepath.Join(filepath.Dir(file), "runners.d"), howAgentdStarts(file, data))
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "config", "c", "", "configuration file (YAML) of agentd; "+
		"its servers are written there (default: agentd.yaml in the data directory)")
	fl.StringVar(&flags.DataDir, "data-dir", flags.DataDir, "its own directory")
	fl.StringVar(&flags.Name, "name", "", "name of this host, for people (default: the machine's)")
	fl.StringVar(&keyCopy, "host-key-file", "",
		"a copy of the host_key of the data directory that is lost; only for a new data directory")
	return cmd
}
