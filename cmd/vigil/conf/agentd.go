//go:build unix

package conf

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"vigil/agentd"
	"vigil/agentd/accounts"
	"vigil/agentd/telemetry"
	"vigil/cmd/vigil/cli"
	"vigil/fsm"
	"vigil/rpc/door"
)

// Agentd is the configuration of `vigil agentd`; configs/agentd.yaml explains
// every key.
type Agentd struct {
	Servers       []string          `yaml:"servers"`
	Insecure      bool              `yaml:"insecure"`
	DataDir       string            `yaml:"data_dir"`
	Name          string            `yaml:"name"`
	Labels        map[string]string `yaml:"labels"`
	Capacity      countValue        `yaml:"capacity"`
	Metrics       string            `yaml:"metrics"`
	LogLevel      string            `yaml:"log_level"`
	LogJSON       bool              `yaml:"log_json"`
	StopGrace     spanValue         `yaml:"stop_grace"`
	FrozenLimit   spanValue         `yaml:"frozen_limit"`
	OrphanLimit   spanValue         `yaml:"orphan_limit"`
	OnStop        string            `yaml:"on_stop"`
	DrainLimit    spanValue         `yaml:"drain_limit"`
	ShutdownLimit spanValue         `yaml:"shutdown_limit"`
	MaxStarting   countValue        `yaml:"max_starting"`
	StartEvery    spanValue         `yaml:"start_every"`
	MinFreeMemory sizeValue         `yaml:"min_free_memory"`
	MinFreeDisk   sizeValue         `yaml:"min_free_disk"`
	Keep          agentdKeep        `yaml:"keep"`
	LookEvery     spanValue         `yaml:"look_every"`
	QuietAfter    spanValue         `yaml:"quiet_after"`
	Logs          agentdLogs        `yaml:"logs"`
	Gossip        Gossip            `yaml:"gossip"`
	RunnersDir    string            `yaml:"runners_dir"`
	Accounts      string            `yaml:"accounts"`
	Runners       []runnerFile      `yaml:"runners"`

	TelemetryForward string `yaml:"telemetry_forward"`

	file        string        // empty: none was read
	document    *document     // nil: there is no file, or nothing in it
	dirByFlag   bool          // RunnersDir came from the command line
	places      []runnerPlace // of the last runners, those with files of their own
	broken      []finding     // files of runners that cannot be read
	hostKeyFile string        // of which a new data directory takes over the key
	boot        string        // instead of the machine's boot id, for tests
	identified  bool          // see HasIdentity
}

// agentdKeep says how long what lives that are over have left is kept.
type agentdKeep struct {
	Deleted spanValue `yaml:"deleted"`
	Ended   spanValue `yaml:"ended"`
	Moved   spanValue `yaml:"moved"`
	Bytes   sizeValue `yaml:"bytes"`
}

type agentdLogs struct {
	MaxBytes sizeValue  `yaml:"max_bytes"`
	Keep     countValue `yaml:"keep"`
}

// DefaultAgentd is the configuration without a file.
func DefaultAgentd() *Agentd {
	return &Agentd{
		Servers: []string{cli.DefaultAddr}, DataDir: "vigil-agentd", LogLevel: "info",
		Accounts:      accounts.Default().String(),
		StopGrace:     spanValue{Span: agentd.DefaultStopGrace},
		OnStop:        string(agentd.Keep),
		DrainLimit:    spanValue{Span: agentd.DefaultDrainLimit},
		ShutdownLimit: spanValue{Span: agentd.DefaultShutdownLimit},
		MaxStarting:   countValue{n: agentd.DefaultMaxStarting},
		StartEvery:    spanValue{Span: 50 * time.Millisecond},
		MinFreeMemory: sizeValue{N: 256 << 20},
		MinFreeDisk:   sizeValue{N: 256 << 20},
		Keep:          agentdKeep{Deleted: spanValue{Span: 7 * 24 * time.Hour}, Ended: spanValue{Span: 30 * 24 * time.Hour}},
		LookEvery:     spanValue{Span: agentd.DefaultLookEvery},
		QuietAfter:    spanValue{Span: agentd.DefaultQuietAfter},
		Logs: agentdLogs{MaxBytes: sizeValue{N: agentd.DefaultLogBytes},
			Keep: countValue{n: agentd.DefaultLogKeep}},
	}
}

// ReadAgentd reads a configuration over the defaults. It names programs that
// will run, so nobody but its owner may be able to write to it.
func ReadAgentd(name string) (*Agentd, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, unreadable("read configuration: %w", err)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && exposed(name, info) != "" {
		return nil, cli.Usagef("read configuration: %s names programs to run and %s", name, exposed(name, info))
	}
	f, err := parseAgentdFile(name, string(text))
	if f != nil {
		f.file = name
	}
	return f, err
}

// parseAgentdFile gives what the file says as far as it could be read, also beside Mistakes; nil: it
// is no YAML.
func parseAgentdFile(name, text string) (*Agentd, error) {
	f := DefaultAgentd()
	parsed, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, mistakes(syntax(name, text, err, func() any { return DefaultAgentd() }))
	}
	var all []error
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if f.document != nil {
			all = append(all, placed(name, text, doc.Body.GetToken(), "a second document: agentd has one configuration"))
			break
		}
		f.document = &document{file: name, text: text, body: doc.Body}
		all = append(all, f.document.decodeAll(f)...)
	}
	return f, mistakes(all)
}

// Check tells the first thing that is wrong before anything is opened.
func (f *Agentd) Check() error {
	if all := f.mistakes(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// mistakes are everything that is wrong but with the runners, in the words of the file.
func (f *Agentd) mistakes() (all []error) {
	that := func(ok bool, err error) {
		if !ok {
			all = append(all, err)
		}
	}
	that(hclog.LevelFromString(f.LogLevel) != hclog.NoLevel,
		cli.Usagef("log_level %q is unknown: write trace, debug, info, warn or error", f.LogLevel))
	that(f.Metrics == "" || door.Loopback(f.Metrics),
		cli.Usagef("metrics %q: give a loopback address such as 127.0.0.1:7429; there is no password", f.Metrics))
	if err := checkHostName(f.Name); err != nil {
		all = append(all, err)
	}
	if _, err := accounts.Parse(f.Accounts); err != nil {
		all = append(all, cli.Usagef("accounts: %w", err))
	}
	that(f.DataDir != "", cli.Usagef("data_dir is empty: name a directory of agentd's own"))
	for _, s := range []struct {
		key   string
		value spanValue
		most  time.Duration
	}{{"stop_grace", f.StopGrace, agentd.MaxStopGrace},
		{"drain_limit", f.DrainLimit, 24 * time.Hour}, {"shutdown_limit", f.ShutdownLimit, time.Hour}} {
		that(s.value.Span > 0 && s.value.Span <= s.most,
			f.wrong(s.value.at, fmt.Sprintf("%s is %s: give more than 0 and at most %s", s.key, s.value.Span, s.most)))
	}
	for _, s := range []struct {
		key   string
		value spanValue
	}{{"frozen_limit", f.FrozenLimit}, {"orphan_limit", f.OrphanLimit}} {
		that(s.value.Span >= 0 && s.value.Span <= agentd.MaxFrozenLimit,
			f.wrong(s.value.at, fmt.Sprintf("%s is %s: give 0s for none, or at most %s", s.key, s.value.Span,
				agentd.MaxFrozenLimit)))
	}
	that(slices.Contains([]agentd.OnStop{agentd.Keep, agentd.Drain, agentd.End}, agentd.OnStop(f.OnStop)),
		cli.Usagef("on_stop %q is unknown: write %s, %s or %s", f.OnStop, agentd.Keep, agentd.Drain, agentd.End))
	that(f.StartEvery.Span >= 0 && f.StartEvery.Span <= time.Minute,
		f.wrong(f.StartEvery.at, fmt.Sprintf("start_every is %s: give 0s to 1m", f.StartEvery.Span)))
	that(f.LookEvery.Span >= time.Second && f.LookEvery.Span <= agentd.MaxLookEvery,
		f.wrong(f.LookEvery.at, fmt.Sprintf("look_every is %s: give 1s to %s", f.LookEvery.Span, agentd.MaxLookEvery)))
	that(f.QuietAfter.Span >= time.Second && f.QuietAfter.Span <= 24*time.Hour,
		f.wrong(f.QuietAfter.at, fmt.Sprintf("quiet_after is %s: give 1s to 24h", f.QuietAfter.Span)))
	that(f.MaxStarting.n > 0, f.wrong(f.MaxStarting.at, "max_starting is 0: nothing could ever start; give 1 or more"))
	that(f.MinFreeMemory.N >= 0,
		f.wrong(f.MinFreeMemory.at, "min_free_memory: give a size such as 256MiB, or 0B for no limit"))
	for name, v := range map[string]spanValue{"deleted": f.Keep.Deleted, "ended": f.Keep.Ended, "moved": f.Keep.Moved} {
		that(v.Span >= 0 && v.Span <= agentd.MaxKeep,
			f.wrong(v.at, fmt.Sprintf("%s of keep is %s: give 0s (for ever) to %s", name, v.Span, agentd.MaxKeep)))
	}
	that(f.Keep.Bytes.N >= 0, f.wrong(f.Keep.Bytes.at, "bytes of keep: give a size such as 10GiB, or 0B for no bound"))
	if servers, err := cli.CleanAddresses(f.Servers); err != nil {
		all = append(all, cli.Usagef("servers: %w", err))
	} else {
		f.Servers = servers
	}
	local := !slices.ContainsFunc(f.Servers, func(addr string) bool { return !door.Loopback(addr) })
	if err := f.Gossip.settle(local, f.identified); err != nil {
		all = append(all, err)
	}
	if err := f.identityProblem(); err != nil {
		all = append(all, err)
	}
	if f.TelemetryForward != "" {
		err := telemetry.CheckForward(f.TelemetryForward)
		that(err == nil, cli.Usagef("telemetry_forward: %v", err))
	}
	that(f.Logs.MaxBytes.N > 0, f.wrong(f.Logs.MaxBytes.at, "logs.max_bytes: give a size such as 10MiB"))
	that(f.Logs.Keep.n > 0 && f.Logs.Keep.n <= 100,
		f.wrong(f.Logs.Keep.at, fmt.Sprintf("logs.keep is %d: keep 1 to 100 files", f.Logs.Keep.n)))
	return all
}

// HasIdentity says that the data directory holds an identity, so that servers are spoken to by TLS and keys of
// gossip come by themselves.
func (f *Agentd) HasIdentity() { f.identified = true }

// identityProblem is what is wrong with a host without an identity, or with one that has an identity and
// is to speak in clear.
func (f *Agentd) identityProblem() error {
	beyond := slices.DeleteFunc(append(slices.Clone(f.Servers), f.Gossip.Bind, f.Gossip.Advertise),
		func(addr string) bool {
			_, _, err := splitAddr(addr)
			return err != nil || door.Loopback(addr)
		})
	switch {
	case f.identified && f.Insecure:
		return cli.Usagef("insecure is true, but data_dir holds an identity: remove insecure (--insecure), or name " +
			"another data_dir for a host without one")
	case f.identified:
		return nil
	case !f.Insecure:
		return cli.Usagef("this host has no identity: join a cluster with `vigil agentd join TOKEN`, or set " +
			"insecure: true (--insecure) for trials with servers on the loopback interface")
	case onlyLoopback && len(beyond) > 0:
		return cli.Usagef("%s: a host that is insecure keeps to the loopback interface: join a cluster with "+
			"`vigil agentd join TOKEN`, or give loopback addresses as long as it says insecure: true",
			strings.Join(beyond, ", "))
	}
	return nil
}

// Reaches tells whether this host speaks to a server at that address, of which another one may have
// told it: in clear, only on the loopback interface.
func (f *Agentd) Reaches(addr string) bool {
	return f.identified || !onlyLoopback || door.Loopback(addr)
}

// checkHostName asks for a name that may stand in a command; the machine's own when none is given.
func checkHostName(name string) error {
	of := "name"
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return cli.Usagef("read host name: %v; give the host a name (name, or --name)", err)
		}
		of = "the machine's own name"
	}
	if err := fsm.CheckHostName(name); err != nil {
		return cli.Usagef("%s %v; give another with name, or --name", of, err)
	}
	return nil
}

// wrong is a mistake at a place, when there is a file.
func (f *Agentd) wrong(at *token.Token, message string) error {
	if f.document == nil || at == nil {
		return cli.Usagef("%s", message)
	}
	return placed(f.document.file, f.document.text, at, message)
}

// Offer gives labels, capacity and the runners that are sound, and why the others are not offered.
func (f *Agentd) Offer() (offer agentd.Offer) {
	offer.Labels, offer.Capacity = f.Labels, f.Capacity.n
	var broken []finding
	offer.Runners, broken = f.sift()
	for _, b := range broken {
		offer.Broken = append(offer.Broken, agentd.Broken{Runner: b.runner, File: b.file, Why: InOneLine(b.err)})
	}
	return offer
}

// Config is what the daemon gets.
func (f *Agentd) Config(conn grpc.ClientConnInterface, log hclog.Logger,
	registerer prometheus.Registerer) agentd.Config {
	ids, _ := accounts.Parse(f.Accounts) // mistakes has told
	return agentd.Config{
		Accounts: ids, DataDir: f.DataDir, HostKeyFile: f.hostKeyFile,
		Name: f.Name,
		Conn: conn, Addrs: f.Servers, Version: cli.Version(), Tools: toolFolder(),
		TelemetryForward: f.TelemetryForward,
		Offer:            f.Offer(), Logger: log, Registerer: registerer,
		Stops: agentd.Stops{StopGrace: f.StopGrace.Span, FrozenLimit: f.FrozenLimit.Span,
			OrphanLimit: f.OrphanLimit.Span, ShutdownLimit: f.ShutdownLimit.Span,
			OnStop: agentd.OnStop(f.OnStop), DrainLimit: f.DrainLimit.Span},
		Starts: agentd.Starts{MaxStarting: int(f.MaxStarting.n), StartEvery: f.StartEvery.Span,
			MinFreeMemory: uint64(f.MinFreeMemory.N), MinFreeDisk: uint64(f.MinFreeDisk.N)},
		Output: agentd.Output{LookEvery: f.LookEvery.Span, QuietAfter: f.QuietAfter.Span,
			Keep: agentd.Retention{Deleted: f.Keep.Deleted.Span, Ended: f.Keep.Ended.Span, Moved: f.Keep.Moved.Span,
				Bytes: f.Keep.Bytes.N}, LogBytes: f.Logs.MaxBytes.N, LogKeep: int(f.Logs.Keep.n)},
		Seams: agentd.Seams{Boot: f.boot},
	}
}

// Flags adds the flags that win over the file.
func (f *Agentd) Flags(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.Servers, "server", nil,
		"API addresses of the servers (default: as in the configuration, or "+cli.DefaultAddr+")")
	fl.BoolVar(&f.Insecure, "insecure", false,
		"speak in clear to servers on the loopback interface, without an identity, to try things out")
	fl.StringVar(&f.DataDir, "data-dir", f.DataDir, "its own directory")
	fl.StringVar(&f.RunnersDir,
		"runners-dir", "", "folder of runners, one a file (default: runners.d beside the configuration)")
	fl.StringVar(&f.hostKeyFile, "host-key-file", "",
		"go on as the host whose data directory is lost, with a copy of its host_key; only for a new data directory")
	fl.StringVar(&f.Name, "name", "", "name of this host, for people (default: the machine's)")
	fl.StringVar(&f.Metrics, "metrics", "", "serve /metrics on this loopback address (default: nowhere)")
	fl.StringVar(&f.LogLevel, "log-level", f.LogLevel, "trace, debug, info, warn or error")
	fl.BoolVar(&f.LogJSON, "log-json", false, "log as JSON")
	f.Gossip.flags(fl)
	fl.StringVar(&f.boot, "boot-id", "", "boot id instead of the machine's, for tests")
	_ = fl.MarkHidden("boot-id") // the flag is there
}

// Override takes over what the command line said.
func (f *Agentd) Override(flags *Agentd, said func(string) bool) {
	for name, take := range map[string]func(){
		"server":        func() { f.Servers = flags.Servers },
		"insecure":      func() { f.Insecure = flags.Insecure },
		"data-dir":      func() { f.DataDir = flags.DataDir },
		"host-key-file": func() { f.hostKeyFile = flags.hostKeyFile },
		"name":          func() { f.Name = flags.Name },
		"runners-dir":   func() { f.RunnersDir, f.dirByFlag = flags.RunnersDir, true },
		"metrics":       func() { f.Metrics = flags.Metrics },
		"log-level":     func() { f.LogLevel = flags.LogLevel },
		"log-json":      func() { f.LogJSON = flags.LogJSON },
		"boot-id":       func() { f.boot = flags.boot },
	} {
		if said(name) {
			take()
		}
	}
	f.Gossip.override(&flags.Gossip, said)
}
