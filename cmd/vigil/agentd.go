package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"vigil/agentd"
	"vigil/agentd/runner"
	"vigil/rpc/client"
)

// newAgentdCmd is `vigil agentd`: the daemon of a worker host.
func newAgentdCmd(a *app) *cobra.Command {
	var file string
	flags := defaultAgentdFile()
	cmd := &cobra.Command{
		Use:   "agentd",
		Short: "Run the daemon of a worker host",
		Long: `Run the daemon that starts, watches and stops agents on this machine.

It starts what the cluster orders, but only with the runners that its own
configuration declares: an order names a runner and brings checked values, nothing
else. SIGTERM and SIGINT stop its agents, report their ends and take the host out of
service.`,
		Example: `  vigil agentd --config configs/agentd.yaml
  vigil agentd --config agentd.yaml --server 10.0.0.1:7420,10.0.0.2:7420,10.0.0.3:7420`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf := defaultAgentdFile()
			if file != "" {
				var err error
				if conf, err = readAgentdFile(file); err != nil {
					return err
				}
			}
			conf.override(flags, cmd.Flags().Changed)
			if !cmd.Flags().Changed("server") && (len(a.addrs) > 0 || file == "") {
				conf.Servers = a.addresses()
			}
			return runAgentd(cmd.Context(), conf, a.err)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "config", "c", "", "configuration file (YAML); flags win over it")
	fl.StringSliceVar(&flags.Servers, "server", nil, "API addresses of the servers (default: as in the configuration, or "+defaultAddr+")")
	fl.StringVar(&flags.DataDir, "data-dir", flags.DataDir, "its own directory")
	fl.StringVar(&flags.Name, "name", "", "name of this host, for people (default: the machine's)")
	fl.StringVar(&flags.Metrics, "metrics", "", "serve /metrics on this loopback address (default: nowhere)")
	fl.StringVar(&flags.LogLevel, "log-level", flags.LogLevel, "trace, debug, info, warn or error")
	fl.BoolVar(&flags.LogJSON, "log-json", false, "log as JSON")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// override takes over what the command line said.
func (f *agentdFile) override(flags *agentdFile, said func(string) bool) {
	for name, take := range map[string]func(){
		"server":    func() { f.Servers = flags.Servers },
		"data-dir":  func() { f.DataDir = flags.DataDir },
		"name":      func() { f.Name = flags.Name },
		"metrics":   func() { f.Metrics = flags.Metrics },
		"log-level": func() { f.LogLevel = flags.LogLevel },
		"log-json":  func() { f.LogJSON = flags.LogJSON },
	} {
		if said(name) {
			take()
		}
	}
}

// runAgentd runs the daemon until ctx ends.
func runAgentd(ctx context.Context, conf *agentdFile, logTo io.Writer) error {
	if err := conf.check(); err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "vigil", Level: hclog.LevelFromString(conf.LogLevel), Output: logTo, JSONFormat: conf.LogJSON})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	conn, err := client.Open(client.Config{Addrs: conf.Servers, Name: "agentd " + conf.Name})
	if err != nil {
		return usageError{err}
	}
	defer conn.Close()
	daemon, err := agentd.Open(conf.config(conn, log, registry))
	if err != nil {
		return conf.explain(err)
	}
	defer daemon.Close()
	var figures *figuresServer
	if conf.Metrics != "" {
		if figures, err = listenFigures(conf.Metrics, registry); err != nil {
			return err
		}
	}
	if len(conf.Runners) == 0 {
		log.Warn("no runner is declared: this host can start nothing")
	}
	log.Info("agentd starts", "host_id", daemon.Key(), "pid", os.Getpid(), "servers", conf.Servers, "version", version())
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		// The end of the daemon ends the group, also an orderly one.
		if err := daemon.Run(groupCtx); err != nil {
			return codeError{exitFailed, err}
		}
		return errAgentdEnded
	})
	if figures != nil {
		group.Go(func() error { return figures.run(groupCtx) })
	}
	if err := group.Wait(); !errors.Is(err, errAgentdEnded) {
		return err
	}
	return nil
}

// errAgentdEnded is how an orderly end gets out of the group.
var errAgentdEnded = errors.New("agentd has ended")

// explain gives what Open found its place in the file.
func (f *agentdFile) explain(err error) error {
	var faults runner.Faults
	switch {
	case errors.As(err, &faults) && f.document != nil:
		one := faults[0]
		message := one.Problem + ": " + one.Remedy
		if more := len(faults) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
		return placed(f.document.file, f.document.text, f.place(one), message)
	case errors.As(err, &faults):
		return usageError{err}
	}
	return codeError{exitFailed, err}
}
