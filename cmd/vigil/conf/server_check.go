//go:build unix

package conf

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"vigil/cluster"
	"vigil/cluster/traces"
	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
	"vigil/rpc/door"
	"vigil/rpc/web"
)

// Flags adds the flags that win over the file.
func (f *Server) Flags(fl *pflag.FlagSet) {
	fl.StringVar(&f.ID, "id", "", "name of this server, unique in the cluster, never reused")
	fl.StringVar(&f.DataDir, "data-dir", f.DataDir, "its own directory")
	fl.StringVar(&f.LogStore, "log-store", "",
		"form of the log, wal or bolt (default: the one that it has, wal when it is new)")
	fl.StringVar(&f.Addr, "addr", f.Addr, "listen here for clients")
	fl.StringVar(&f.AdvertiseAddr, "advertise-addr", "", "where clients and servers reach --addr (default: the same)")
	fl.StringVar(&f.RaftAddr, "raft-addr", f.RaftAddr, "where the other servers reach this one")
	fl.StringVar(&f.RaftBind, "raft-bind", "", "listen here for the other servers (default: --raft-addr)")
	fl.BoolVar(&f.Insecure, "insecure", false,
		"serve without an identity and in clear, on the loopback interface, to try things out")
	fl.StringSliceVar(&f.HTTPHosts, "http-hosts", nil,
		"names under which HTTP clients ask this server, beside its addresses")
	fl.StringVar(&f.Zone, "zone", "", "what fails together with this server: a rack, a building")
	fl.BoolVar(&f.Standby, "standby", false, "join without a vote, to take the place of a server that is lost")
	f.Gossip.flags(fl)
	fl.StringVar(&f.Cluster, "cluster", "", "name of the cluster (default: a name of chance)")
	fl.BoolVar(&f.Found, "found", false, "found a cluster without identities, with --insecure, when there is no data")
	fl.StringSliceVar(&f.Join, "join", nil, "API address of a server of the cluster to join")
	fl.StringVar(&f.LogLevel, "log-level", f.LogLevel, "trace, debug, info, warn or error")
	fl.BoolVar(&f.LogJSON, "log-json", false, "log as JSON")
	fl.BoolVar(&f.Debug, "debug", false, "serve /debug/pprof on debug.sock in the data directory")
}

// Override takes over what the command line said.
func (f *Server) Override(flags *Server, said func(string) bool) {
	for name, take := range map[string]func(){
		"id":             func() { f.ID = flags.ID },
		"data-dir":       func() { f.DataDir = flags.DataDir },
		"log-store":      func() { f.LogStore = flags.LogStore },
		"addr":           func() { f.Addr = flags.Addr },
		"advertise-addr": func() { f.AdvertiseAddr = flags.AdvertiseAddr },
		"raft-addr":      func() { f.RaftAddr = flags.RaftAddr },
		"raft-bind":      func() { f.RaftBind = flags.RaftBind },
		"insecure":       func() { f.Insecure = flags.Insecure },
		"http-hosts":     func() { f.HTTPHosts = flags.HTTPHosts },
		"zone":           func() { f.Zone = flags.Zone },
		"standby":        func() { f.Standby = flags.Standby },
		"cluster":        func() { f.Cluster = flags.Cluster },
		"found":          func() { f.Found = flags.Found },
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
}

// HasIdentity says that the data directory holds an identity, so that nobody is believed without one,
// in the cluster of that id.
func (f *Server) HasIdentity(cluster string) { f.identified, f.Cluster = true, cluster }

// Check tells the first thing that is wrong, in the words of the file and the flags, and fills in
// what follows from other values.
func (f *Server) Check() error {
	if wrong := f.problems(); len(wrong) > 0 {
		return wrong[0]
	}
	return nil
}

// problems is everything that is wrong; see Check.
func (f *Server) problems() (wrong []error) {
	that := func(right bool, format string, args ...any) {
		if !right {
			wrong = append(wrong, cli.Usagef(format, args...))
		}
	}
	that(f.ID != "", "the server has no id: give --id, or id in the configuration")
	that(f.LogStore == "" || cluster.LogKind(f.LogStore).Valid(), "log_store %q is unknown: write bolt or wal", f.LogStore)
	if f.BasePath != "" {
		if err := web.CheckBase(f.BasePath); err != nil {
			wrong = append(wrong, cli.Usagef("base_path %w", err))
		}
	}
	wrong = append(wrong, f.addressProblems()...)
	wrong = append(wrong, f.identityProblems()...)
	that(!f.Found || f.Insecure || f.identified,
		"found is for servers that are insecure: found a cluster with `vigil server init`")
	local := door.Loopback(f.Addr) && door.Loopback(f.AdvertiseAddr) && door.Loopback(f.RaftAddr)
	if err := f.Gossip.settle(local, f.identified); err != nil {
		wrong = append(wrong, err)
	}
	if join, err := cli.CleanAddresses(f.Join); err != nil {
		that(false, "join: %w", err)
	} else {
		f.Join = join
	}
	that(len(f.Join) == 0 || !f.Found, "join and found exclude each other: a server either founds a cluster or joins one")
	that(hclog.LevelFromString(f.LogLevel) != hclog.NoLevel,
		"log_level %q is unknown: write trace, debug, info, warn or error", f.LogLevel)
	if f.OTLP != "" {
		err := traces.CheckAddress(f.OTLP)
		that(err == nil, "otlp: %w", err)
	}
	return wrong
}

// identityProblems is what is wrong with a server without an identity, or with one that has an
// identity and is to serve in clear.
func (f *Server) identityProblems() (wrong []error) {
	switch {
	case (f.HTTPCert == "") != (f.HTTPKey == ""):
		wrong = append(wrong, cli.Usagef("http_cert and http_key belong together: give both files, or none"))
	case f.HTTPCert != "" && f.Insecure:
		wrong = append(wrong, cli.Usagef("http_cert is for a server with an identity: one that is insecure serves in clear"))
	}
	switch open := f.beyond(); {
	case f.identified && f.Insecure:
		wrong = append(wrong, cli.Usagef("insecure is true, but the data directory holds an identity: remove insecure "+
			"(--insecure), or name another data_dir for a server without one"))
	case f.identified:
	case !f.Insecure:
		wrong = append(wrong, cli.Usagef("this server has no identity: found a cluster with `vigil server init`, join one "+
			"with `vigil server join TOKEN`, or set insecure: true (--insecure) on the loopback interface for trials"))
	case onlyLoopback && len(open) > 0:
		wrong = append(wrong, cli.Usagef("%s: that leads to other machines, and a server that is insecure believes "+
			"whoever reaches it: found a cluster with `vigil server init`, join one with `vigil server join TOKEN`, or "+
			"keep to the loopback interface as long as it says insecure: true", strings.Join(open, ", ")))
	}
	return wrong
}

// beyond lists the addresses that lead to other machines, or by which these reach the server, each with
// its key. What is no address at all is left out: that is another mistake.
func (f *Server) beyond() (list []string) {
	keys := []struct{ key, addr string }{{"addr", f.Addr}, {"advertise_addr", f.AdvertiseAddr},
		{"raft_addr", f.RaftAddr}, {"raft_bind", f.RaftBind}, {"gossip.bind", f.Gossip.Bind},
		{"gossip.advertise", f.Gossip.Advertise}}
	for _, addr := range f.Join {
		keys = append(keys, struct{ key, addr string }{"join", addr})
	}
	for _, a := range keys {
		if _, _, err := splitAddr(a.addr); err == nil && !door.Loopback(a.addr) {
			list = append(list, a.key+" "+a.addr)
		}
	}
	return list
}

// addressProblems is what is wrong with the form of addresses.
func (f *Server) addressProblems() (wrong []error) {
	that := func(right bool, format string, args ...any) {
		if !right {
			wrong = append(wrong, cli.Usagef(format, args...))
		}
	}
	host, port, err := splitAddr(f.Addr)
	ip := net.ParseIP(host)
	everywhere := host == "" || ip != nil && ip.IsUnspecified()
	switch {
	case err != nil:
		that(false, "addr %q: give host:port, for instance %s", f.Addr, cli.DefaultAddr)
	case f.AdvertiseAddr == "" && everywhere:
		that(false, "addr %q listens everywhere: say with advertise_addr (--advertise-addr) where others reach it", f.Addr)
	case f.AdvertiseAddr == "":
		f.AdvertiseAddr = f.Addr
	default:
		host, port, err := splitAddr(f.AdvertiseAddr)
		that(err == nil && host != "" && port != "" && port != "0", "advertise_addr %q: give host:port",
			f.AdvertiseAddr)
	}
	that(err != nil || port != "0" || f.AdvertiseAddr != f.Addr, "addr %q: give a port that others can know", f.Addr)
	for _, a := range [...]struct{ key, addr string }{{"raft_addr", f.RaftAddr}, {"raft_bind", f.RaftBind}} {
		if _, _, e := splitAddr(a.addr); e != nil && a.addr != "" {
			that(false, "%s %q: give host:port, for instance 127.0.0.1:7421", a.key, a.addr)
		}
	}
	return wrong
}

// splitAddr takes host:port apart; a port is a number.
func splitAddr(addr string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return host, port, err
}

// ClusterConfig is what the replication gets.
func (f *Server) ClusterConfig() cluster.Config {
	conf := cluster.Config{
		ID: f.ID, RaftAddr: f.RaftAddr, BindAddr: f.RaftBind, APIAddr: f.AdvertiseAddr, DataDir: f.DataDir,
		LogStore: cluster.LogKind(f.LogStore),
		Cluster:  f.Cluster, Version: cli.Version(), Features: cluster.FeatureLevel,
		Timing: cluster.Timing{
			Heartbeat: f.Timing.Heartbeat.Span, LeaderLease: f.Timing.LeaderLease.Span, Commit: f.Timing.Commit.Span,
			Disk: f.Timing.Disk.Span, BeatGather: f.Timing.BeatGather.Span,
		},
		Limits: cluster.Limits{
			EntryBytes: int(f.Limits.EntryBytes.N), Beats: int(f.Limits.Beats.n),
			SnapshotEntries: uint64(f.Limits.SnapshotEntries.n), SnapshotBytes: f.Limits.SnapshotBytes.N,
			TrailingLogs: uint64(f.Limits.TrailingLogs.n),
		},
	}
	if conf.BindAddr == "" {
		conf.BindAddr = conf.RaftAddr
	}
	for name, v := range f.Settings {
		if _, twice := f.Watchdog[strings.TrimPrefix(name, "watchdog_")]; !twice { // the environment wins
			conf.Seed = append(conf.Seed, noun.KV{Key: name, Value: cli.PlainSpan(v.text)})
		}
	}
	for key, v := range f.Watchdog {
		conf.Seed = append(conf.Seed, noun.KV{Key: "watchdog_" + key, Value: cli.PlainSpan(v.text)})
	}
	slices.SortFunc(conf.Seed, func(a, b noun.KV) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return conf
}

// HttpHosts are the names under which this server is asked over HTTP.
func (f *Server) HttpHosts() []string {
	host, _, _ := net.SplitHostPort(f.AdvertiseAddr) // check has looked at it
	return append([]string{host}, f.HTTPHosts...)
}
