package serve

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
)

// aboutServer is the help of `vigil server`.
const aboutServer = `Run one of the servers that replicate the state of the fleet, usually three.

` + "`vigil server init`" + ` founds a cluster in which servers, hosts and people prove who they are, and
` + "`vigil server join`" + ` makes this machine another server of it. A server that has run before finds
everything in its data directory.

A server without an identity starts only with --insecure, to try things out on one machine: it serves
in clear, believes everybody who reaches it, and keeps to the loopback interface. The first one founds
their cluster with --found; another one joins it with --join, which names one of its API addresses.

With --check everything that is wrong with the configuration is printed, one line each
with its remedy, and nothing is started or changed; the exit code is 1 when something
was found.

On SIGHUP log_level and notify are read again; the log names each other key that has changed and needs
a restart. Certificates are read again by themselves.`

// newServerCmd is `vigil server`: it runs a server. AddVerbs of package servers adds the verbs about them.
func newServerCmd(a *cli.App) *cobra.Command {
	var file string
	var check bool
	flags := conf.DefaultServer()
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a server, or ask about servers",
		Long:  aboutServer,
		Example: `  vigil server --config vigil-data/server.yaml
  vigil server --insecure --id s1 --found`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.ChooseSubcommand(cmd, args)
			}
			hangups := cli.TakeHangups(cmd.Context())
			set, unread := conf.DefaultServer(), []error(nil)
			if file != "" {
				var err error
				set, err = conf.ReadServer(file)
				switch unread = conf.Each(err); {
				case err != nil && !check:
					return err
				case set == nil: // nothing of it can be looked at
					return printFindings(a, unread, nil)
				}
			}
			if err := set.WatchdogEnv(a.Getenv); err != nil && check {
				return printFindings(a, []error{err}, nil)
			} else if err != nil {
				return err
			}
			set.Override(flags, cmd.Flags().Changed)
			if check {
				if _, err := openIdentity(set); err != nil {
					unread = append(unread, err)
				}
				wrong, notes := set.Inspect()
				return printFindings(a, append(unread, wrong...), notes)
			}
			a.QueueErr()
			s, err := Open(set, a.Err)
			if err != nil {
				return err
			}
			var again func() (*conf.Server, error)
			if file != "" {
				again = func() (*conf.Server, error) { return readAgain(file, a.Getenv, flags, cmd.Flags().Changed) }
			}
			go s.followHangups(cmd.Context(), hangups, again)
			return s.Run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "config", "c", "", "configuration file (YAML); flags win over it")
	fl.BoolVar(&check, "check", false, "only check the configuration, and print what is wrong")
	flags.Flags(fl)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}
