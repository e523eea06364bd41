package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// NewCommand is `vigil bench`: the command that measures the product.
func NewCommand(a *cli.App) *cobra.Command {
	group := cli.NewGroup("bench", "Measure vigil on this machine")
	group.Long = `Measure vigil: each benchmark starts three servers as processes of its own, with data
on disk and fsync on, puts load on them, ends by itself and removes what it made. With
--addr it measures a cluster that runs already, in rooms of its own.`
	for _, spec := range All() {
		group.AddCommand(newBenchmarkCmd(a, spec))
	}
	return group
}

func newBenchmarkCmd(a *cli.App, spec *Spec) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     spec.Name,
		Short:   spec.Short,
		Long:    spec.Long,
		Example: "  vigil bench " + spec.Name + " --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Program, err = os.Executable(); err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if cmd.Flags().Changed("addr") {
				var err error
				if o.Addrs, err = a.Named(); err != nil {
					return err
				}
			}
			o.Progress = a.Progress
			ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
			if cmd.Flags().Changed("timeout") {
				ctx, cancel = a.Bound(ctx)
			}
			defer cancel()
			report, err := spec.Run(ctx, o)
			a.ProgressEnd()
			if err != nil {
				if errors.Is(err, ErrOptions) {
					return cli.WrongUsage(err)
				}
				return err
			}
			if a.JSON {
				return a.PrintJSON(report)
			}
			return report.Print(a.Out)
		},
	}
	bindBenchFlags(cmd, spec, &o)
	return cmd
}

// bindBenchFlags gives the command the flags that mean something to the benchmark.
func bindBenchFlags(cmd *cobra.Command, spec *Spec, o *Options) {
	fl, d := cmd.Flags(), spec.Defaults
	uses := func(name string) bool { return slices.Contains(spec.Uses, name) }
	number := func(name string, to *int, def int, help string) {
		if uses(name) {
			fl.IntVar(to, name, def, help)
		}
	}
	span := func(name string, to *time.Duration, def time.Duration, help string) {
		if uses(name) {
			fl.DurationVar(to, name, def, help)
		}
	}
	number("count", &o.Count, d.Count, "number of "+spec.CountHelp)
	span("duration", &o.Duration, d.Duration, "how long to measure, after the warm-up")
	if uses("clients") {
		fl.IntSliceVar(&o.Clients, "clients", d.Clients, "callers at once")
	}
	number("batch", &o.Batch, d.Batch, "how many at a time")
	number("rate", &o.Rate, d.Rate, "how many a second")
	span("ttl", &o.TTL, d.TTL, "lease of the agents")
	number("conns", &o.Conns, d.Conns, "connections that the callers share")
	span("busy", &o.Busy, d.Busy, "kill nothing, keep all processors busy for this long (default: kill)")
	if uses("single") {
		fl.BoolVar(&o.Single, "single", false, "one agent in each call")
	}
	if uses("managed") {
		fl.BoolVar(&o.Managed, "managed", false, "agents started by orders, on hosts that the benchmark plays")
	}
	if !spec.Secure && !spec.Alone {
		fl.BoolVar(&o.Secure, "secure", false, "servers with identities, which speak TLS with each other and with clients")
	}
	fl.StringVar(&o.Dir, "dir", "", "where temporary data goes (default: the system's place)")
	fl.BoolVar(&o.Keep, "keep", false, "keep the data and the logs of the servers")
	fl.BoolVar(&o.Debug, "debug", false, "let the servers serve /debug/pprof")
	fl.StringVarP(&o.Config, "config", "c", "", "configuration file (YAML) for the servers that are started")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	fl.StringVar(&o.Profile, "profile", "", "write processor profiles of servers and load into this folder")
	_ = cmd.MarkFlagDirname("profile")
	_ = cmd.MarkFlagDirname("dir")
}

// NewAgentCommand is the agent that `vigil bench restart` kills.
func NewAgentCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    AgentCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			addrs, err := a.Addresses()
			if err != nil {
				return err
			}
			return RunAgent(cmd.Context(), addrs, a.Getenv)
		},
	}
}

// NewSessionsCommand is the hosts of one address of `vigil bench reconnect`.
func NewSessionsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    SessionsCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return RunSessions(cmd.Context(), a.In, a.Out) },
	}
}
