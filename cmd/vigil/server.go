package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"vigil/cluster"
	"vigil/cluster/record"
	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
	"vigil/rpc/door"
)

// newServerCmd is `vigil server`: it runs a server. Verbs about servers are added
// to it by addServerVerbs.
func newServerCmd(a *cli.App) *cobra.Command {
	var file string
	var check bool
	flags := defaultServerFile()
	var peers []string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a server, or ask about servers",
		Long: `Run one of the servers that replicate the state of the fleet, usually three.

A new cluster needs the same list of peers on every server. A server that joins an
existing cluster names one of its API addresses with --join. A server that has run
before finds everything in its data directory.

Without a word about it a server listens on the loopback interface only: there are
no passwords yet, so whoever can reach its ports controls the fleet. It refuses an
address that other machines can reach unless --insecure says that only trusted ones can.

With --check everything that is wrong with the configuration is printed, one line each
with its remedy, and nothing is started or changed; the exit code is 1 when something
was found.`,
		Example: `  vigil server --id s1 --bootstrap-expect 1
  vigil server --insecure --id s1 --raft-addr 10.0.0.1:7421 --addr 10.0.0.1:7420 \
      --peers s1=10.0.0.1:7421,s2=10.0.0.2:7421,s3=10.0.0.3:7421
  vigil server --insecure --id s4 --raft-addr 10.0.0.4:7421 --addr 10.0.0.4:7420 --join 10.0.0.1:7420
  vigil server --config configs/server.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.ChooseSubcommand(cmd, args)
			}
			conf := defaultServerFile()
			if file != "" {
				var err error
				if conf, err = readServerFile(file); err != nil && check {
					return printFindings(a, []error{err}, nil)
				} else if err != nil {
					return err
				}
			}
			var err error
			if flags.Peers, err = peersFlag(peers); err != nil {
				return err
			}
			if err := conf.watchdogEnv(a.Getenv); err != nil && check {
				return printFindings(a, []error{err}, nil)
			} else if err != nil {
				return err
			}
			conf.override(flags, cmd.Flags().Changed)
			if check {
				return printFindings(a, conf.inspect(), nil)
			}
			s, err := openServer(conf, a.Err)
			if err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "config", "c", "", "configuration file (YAML); flags win over it")
	fl.BoolVar(&check, "check", false, "only check the configuration, and print what is wrong")
	fl.StringVar(&flags.ID, "id", "", "name of this server, unique in the cluster, never reused")
	fl.StringVar(&flags.DataDir, "data-dir", flags.DataDir, "its own directory")
	fl.StringVar(&flags.Addr, "addr", flags.Addr, "listen here for clients")
	fl.StringVar(&flags.AdvertiseAddr, "advertise-addr", "", "where clients and servers reach --addr (default: the same)")
	fl.StringVar(&flags.RaftAddr, "raft-addr", flags.RaftAddr, "where the other servers reach this one")
	fl.StringVar(&flags.RaftBind, "raft-bind", "", "listen here for the other servers (default: --raft-addr)")
	fl.BoolVar(&flags.Insecure, "insecure", false, "let other machines reach this server although there are no passwords yet")
	fl.StringSliceVar(&flags.HTTPHosts, "http-hosts", nil, "names under which HTTP clients ask this server, beside its addresses")
	flags.Gossip.flags(fl)
	fl.StringVar(&flags.Cluster, "cluster", "", "name of the cluster (default: made from the peers)")
	fl.StringSliceVar(&peers, "peers", nil, "id=raft-address of every server of a new cluster, this one too")
	fl.IntVar(&flags.BootstrapExpect, "bootstrap-expect", 0, "number of servers of a new cluster (default: the number of peers)")
	fl.StringSliceVar(&flags.Join, "join", nil, "API address of a server of the cluster to join")
	fl.StringVar(&flags.LogLevel, "log-level", flags.LogLevel, "trace, debug, info, warn or error")
	fl.BoolVar(&flags.LogJSON, "log-json", false, "log as JSON")
	fl.BoolVar(&flags.Debug, "debug", false, "serve /debug/pprof on debug.sock in the data directory")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// override takes over what the command line said.
func (f *serverFile) override(flags *serverFile, said func(string) bool) {
	for name, take := range map[string]func(){
		"id":             func() { f.ID = flags.ID },
		"data-dir":       func() { f.DataDir = flags.DataDir },
		"addr":           func() { f.Addr = flags.Addr },
		"advertise-addr": func() { f.AdvertiseAddr = flags.AdvertiseAddr },
		"raft-addr":      func() { f.RaftAddr = flags.RaftAddr },
		"raft-bind":      func() { f.RaftBind = flags.RaftBind },
		"insecure":       func() { f.Insecure = flags.Insecure },
		"http-hosts":     func() { f.HTTPHosts = flags.HTTPHosts },
		"cluster":        func() { f.Cluster = flags.Cluster },
		"peers":          func() { f.Peers, f.BootstrapExpect = flags.Peers, len(flags.Peers) },
		"join":           func() { f.Join = flags.Join },
		"log-level":      func() { f.LogLevel = flags.LogLevel },
		"log-json":       func() { f.LogJSON = flags.LogJSON },
		"debug":          func() { f.Debug = flags.Debug },
	} {
		if said(name) {
			take()
		}
	}
	f.Gossip.override(&flags.Gossip, said)
	if said("bootstrap-expect") { // after peers
		f.BootstrapExpect = flags.BootstrapExpect
	}
}

// check tells what is wrong, in the words of the file and the flags, and fills in
// what follows from other values.
func (f *serverFile) check() error {
	if f.ID == "" {
		return cli.Usagef("the server has no id: give --id, or id in the configuration")
	}
	host, port, err := net.SplitHostPort(f.Addr)
	if err != nil {
		return cli.Usagef("addr %q: give host:port, for instance %s", f.Addr, cli.DefaultAddr)
	}
	ip := net.ParseIP(host)
	everywhere := host == "" || ip != nil && ip.IsUnspecified()
	if f.AdvertiseAddr == "" {
		if everywhere {
			return cli.Usagef("addr %q listens everywhere: say with advertise_addr (--advertise-addr) where others reach it", f.Addr)
		}
		f.AdvertiseAddr = f.Addr
	} else if host, port, err := net.SplitHostPort(f.AdvertiseAddr); err != nil || host == "" || port == "" || port == "0" {
		return cli.Usagef("advertise_addr %q: give host:port", f.AdvertiseAddr)
	}
	if port == "0" && f.AdvertiseAddr == f.Addr {
		return cli.Usagef("addr %q: give a port that others can know", f.Addr)
	}
	if open := f.open(); len(open) > 0 && !f.Insecure {
		return cli.Usagef("%s: other machines can reach that, and whoever reaches it controls the fleet, since there are no passwords yet: "+
			"keep to the loopback interface, or let only trusted machines into that network and say insecure: true (--insecure)", strings.Join(open, ", "))
	}
	if f.BootstrapExpect < 0 || f.BootstrapExpect > 9 {
		return cli.Usagef("bootstrap_expect is %d: give the number of servers, usually 3", f.BootstrapExpect)
	}
	if f.BootstrapExpect == 0 && len(f.Peers) > 0 {
		f.BootstrapExpect = len(f.Peers)
	}
	if f.BootstrapExpect == 1 && len(f.Peers) == 0 {
		f.Peers = []serverPeer{{ID: f.ID, RaftAddr: f.RaftAddr, APIAddr: f.AdvertiseAddr}}
	}
	if err := f.Gossip.settle(door.Loopback(f.Addr) && door.Loopback(f.AdvertiseAddr) && door.Loopback(f.RaftAddr)); err != nil {
		return err
	}
	if len(f.Join) > 0 && f.BootstrapExpect > 0 {
		return cli.Usagef("join and peers exclude each other: a server either founds a cluster or joins one")
	}
	if hclog.LevelFromString(f.LogLevel) == hclog.NoLevel {
		return cli.Usagef("log_level %q is unknown: write trace, debug, info, warn or error", f.LogLevel)
	}
	return nil
}

// open lists the addresses that other machines may reach, each with its key.
func (f *serverFile) open() (list []string) {
	for _, a := range []struct{ key, addr string }{{"addr", f.Addr}, {"advertise_addr", f.AdvertiseAddr}, {"raft_addr", f.RaftAddr}, {"raft_bind", f.RaftBind}} {
		if a.addr != "" && !door.Loopback(a.addr) {
			list = append(list, a.key+" "+a.addr)
		}
	}
	return list
}

// clusterConfig is what the replication gets.
func (f *serverFile) clusterConfig() cluster.Config {
	conf := cluster.Config{
		ID: f.ID, RaftAddr: f.RaftAddr, BindAddr: f.RaftBind, APIAddr: f.AdvertiseAddr, DataDir: f.DataDir,
		Cluster: f.Cluster, BootstrapExpect: f.BootstrapExpect, Version: cli.Version(), Features: cluster.FeatureLevel,
		Timing: cluster.Timing{
			Heartbeat: f.Timing.Heartbeat.span, LeaderLease: f.Timing.LeaderLease.span, Commit: f.Timing.Commit.span,
			Disk: f.Timing.Disk.span, BeatGather: f.Timing.BeatGather.span,
		},
		Limits: cluster.Limits{
			EntryBytes: int(f.Limits.EntryBytes.n), Beats: int(f.Limits.Beats.n),
			SnapshotEntries: uint64(f.Limits.SnapshotEntries.n), SnapshotBytes: f.Limits.SnapshotBytes.n,
			TrailingLogs: uint64(f.Limits.TrailingLogs.n),
		},
	}
	if conf.BindAddr == "" {
		conf.BindAddr = conf.RaftAddr
	}
	for _, p := range f.Peers {
		conf.Peers = append(conf.Peers, cluster.Peer{ID: p.ID, RaftAddr: p.RaftAddr, APIAddr: p.APIAddr})
	}
	for name, v := range f.Settings {
		if _, twice := f.Watchdog[strings.TrimPrefix(name, "watchdog_")]; !twice { // the environment wins
			conf.Seed = append(conf.Seed, noun.KV{Key: name, Value: v.text})
		}
	}
	for key, v := range f.Watchdog {
		conf.Seed = append(conf.Seed, noun.KV{Key: "watchdog_" + key, Value: v.text})
	}
	slices.SortFunc(conf.Seed, func(a, b noun.KV) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return conf
}

// serverError gives what ended a server its exit code.
func serverError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, record.ErrUnknown):
		return cli.ExitWith(cli.ExitUnknown, fmt.Errorf("%w: the log holds a record that this version does not know: "+
			"run the newer version that wrote it; the data was not touched", err))
	case errors.Is(err, cluster.ErrBrokenInvariant):
		return cli.ExitWith(cli.ExitUnknown, fmt.Errorf("%w\nThis is a defect of vigil %s: every server of the cluster stops at this entry. "+
			"The data was not touched: keep copies of the data directories, report the text above, and run a version in which it is mended", err, cli.Version()))
	}
	return cli.ExitWith(cli.ExitFailed, err)
}
