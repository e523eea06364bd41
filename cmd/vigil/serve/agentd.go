package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"vigil/agentd"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/client"
)

// aboutAgentd is the help of `vigil agentd`.
const aboutAgentd = `Run the daemon that starts, watches and stops agents on this machine.

` + "`vigil agentd join TOKEN`" + ` makes this machine a host of a cluster first. A host without an identity
starts only with --insecure, to try things out with servers on the loopback interface.

It starts what the cluster orders, but only with the runners that its own
configuration declares: an order names a runner and brings checked values, nothing
else.

Each agent runs in a shim of its own that outlives this daemon. SIGTERM and SIGINT
leave the agents running; the next agentd on the same data directory takes them over,
so it may be stopped, upgraded or killed at any time. Only when systemd takes the whole
machine down, or in a container that ends with agentd, they are ended, while the cluster
can be told. With --drain (or on_stop: drain) the agents are handed over to other hosts
first and the host is taken out of service; a second signal breaks that off. With
on_stop: end they are stopped at once.

On SIGHUP runners, labels and capacity are read again, from the configuration and the folder,
and nothing else of it. The log says which were added, changed and taken away. Agents that run keep
what they were started with; a runner whose declaration is broken now stays as it was.

A runner whose declaration is broken from the start is not offered, the others are: the log and
` + "`vigil host show`" + ` tell why. With --check everything that is wrong is printed, one line
each with its place and remedy, and nothing is started or changed; the exit code is 1
when something was found.`

// newAgentdCmd is `vigil agentd`: the daemon of a worker host.
func newAgentdCmd(a *cli.App) *cobra.Command {
	var file string
	var drain, check bool
	flags := conf.DefaultAgentd()
	cmd := &cobra.Command{
		Use:   "agentd",
		Short: "Run the daemon of a worker host",
		Long:  aboutAgentd,
		Example: `  vigil agentd --config configs/agentd.yaml
  vigil agentd --config /etc/vigil/agentd.yaml --check
  vigil agentd --insecure --server 127.0.0.1:7420`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hangups := cli.TakeHangups(cmd.Context())
			set, unread := conf.DefaultAgentd(), []error(nil)
			if file != "" {
				var err error
				set, err = conf.ReadAgentd(file)
				switch unread = conf.Each(err); {
				case err != nil && !check:
					return err
				case set == nil: // nothing of it can be looked at
					return printFindings(a, unread, nil)
				}
			}
			set.Override(flags, cmd.Flags().Changed)
			if drain {
				set.OnStop = string(agentd.Drain)
			}
			if !cmd.Flags().Changed("server") && (len(a.Addrs) > 0 || file == "") {
				var err error
				if set.Servers, err = a.Named(); err != nil {
					return err
				}
			}
			if check {
				if _, err := openHost(set); err != nil {
					unread = append(unread, err)
				}
				wrong, notes := set.Inspect()
				return printFindings(a, append(unread, wrong...), notes)
			}
			a.QueueErr()
			return runAgentd(cmd.Context(), set, hangups, a.Err)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "config", "c", "", "configuration file (YAML); flags win over it")
	flags.Flags(fl)
	fl.BoolVar(&check, "check", false, "only check the configuration and all runners, and print what is wrong")
	fl.BoolVar(&drain, "drain", false, "when told to stop, hand the agents over to other hosts and leave")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagDirname("runners-dir")
	return cmd
}

// runAgentd runs the daemon until ctx ends. On each hangup it reads the runners again.
func runAgentd(ctx context.Context, conf *conf.Agentd, hangups <-chan struct{}, logTo io.Writer) error {
	if err := conf.ReadRunners(); err != nil {
		return err
	}
	self, err := openHost(conf)
	if err != nil {
		return cli.ExitWith(cli.ExitFailed, err)
	}
	if err := conf.Check(); err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "vigil", Level: hclog.LevelFromString(conf.LogLevel),
		Output: logTo, JSONFormat: conf.LogJSON})
	tellLeftOut(logTo, log)
	manager := supervised(log)
	registry := processFigures()
	conn, err := client.Open(client.Config{Addrs: conf.Servers, File: agentd.ServersFile(conf.DataDir),
		Name: "agentd " + conf.Name, TLS: self.client(), Dial: reaching(conf)})
	if err != nil {
		return cli.WrongUsage(err)
	}
	defer conn.Close()
	offers, faults := make(chan agentd.Offer), &troubles{log: log, all: map[string]string{}}
	host := hostConfig(conf, conn, self, offers, log, registry)
	host.Troubles = faults.list
	daemon, err := agentd.Open(host)
	if err != nil {
		return cli.ExitWith(cli.ExitFailed, err)
	}
	defer daemon.Close()
	leave, err := joinGossip(conf, daemon, self, faults, log, registry)
	if err != nil {
		return err
	}
	defer leave()
	log.Info("agentd starts", "pid", os.Getpid(), "servers", conn.Servers(), "version", cli.Version())
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		// The end of the daemon ends the group, also an orderly one.
		if err := daemon.Run(groupCtx); err != nil {
			return cli.ExitWith(cli.ExitFailed, err)
		}
		return errAgentdEnded
	})
	group.Go(func() error {
		manager.run(groupCtx, daemon.Answers)
		return nil
	})
	group.Go(func() error {
		reread(groupCtx, conf, hangups, offers)
		return nil
	})
	if self != nil {
		group.Go(func() error { return self.keep(groupCtx, conn, log) })
	}
	if conf.Metrics != "" {
		group.Go(func() error {
			serveFigures(groupCtx, conf.Metrics, registry, faults, listenAgain, log)
			return nil
		})
	}
	if err := group.Wait(); !errors.Is(err, errAgentdEnded) {
		return err
	}
	return nil
}

// hostConfig is what the daemon gets: what the configuration says, and how it reaches the rest of the program.
func hostConfig(conf *conf.Agentd, conn *client.Client, self *hostIdentity, offers <-chan agentd.Offer,
	log hclog.Logger, registry prometheus.Registerer) agentd.Config {
	host := conf.Config(conn, log, registry)
	host.Shim, host.Leader, host.Rebooting = shimCommand(), conn.Addr, goingDown()
	host.Servers = func() []string {
		return slices.DeleteFunc(slices.Clone(conn.Servers()), func(addr string) bool { return !conf.Reaches(addr) })
	}
	host.TLS, host.Offers = self.client(), offers
	return host
}

// reaching dials what a host may speak to.
func reaching(conf *conf.Agentd) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		if !conf.Reaches(addr) {
			return nil, fmt.Errorf("%s is not on the loopback interface, and this host is insecure", addr)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
}

// reread has the daemon offer what the files say by then, on each hangup, until ctx ends.
func reread(ctx context.Context, conf *conf.Agentd, hangups <-chan struct{}, offers chan<- agentd.Offer) {
	for {
		select {
		case <-hangups:
		case <-ctx.Done():
			return
		}
		select {
		case offers <- conf.Reread():
		case <-ctx.Done():
			return
		}
	}
}

// errAgentdEnded is how an orderly end gets out of the group.
var errAgentdEnded = errors.New("agentd has ended")

// shimCommand runs this very program as a shim: the one that runs, even when its
// file was replaced by a newer version meanwhile.
func shimCommand() []string {
	self := "/proc/self/exe"
	if _, err := os.Stat(self); err != nil { // not Linux
		if exe, err := os.Executable(); err == nil {
			self = exe
		}
	}
	return append([]string{self}, shimArgs...)
}
