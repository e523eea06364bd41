package agentd

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"vigil/agentd/accounts"
	"vigil/agentd/results"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
	"vigil/agentd/tmux"
)

// Defaults of Config.
const (
	DefaultStopGrace     = 5 * time.Second
	DefaultShutdownLimit = 30 * time.Second
	DefaultLogBytes      = 10 << 20
	DefaultLogKeep       = 3
	DefaultDrainLimit    = 5 * time.Minute
	DefaultMaxStarting   = 4
	DefaultLookEvery     = 10 * time.Second
	DefaultQuietAfter    = 5 * time.Minute
	// MaxStopGrace keeps a stop from looking like a hang.
	MaxStopGrace = 10 * time.Minute
	MaxLookEvery = 5 * time.Minute
	// MaxFrozenLimit is a year.
	MaxFrozenLimit = 365 * 24 * time.Hour
	// MaxKeep bounds the ages of Keep.
	MaxKeep = 10 * 365 * 24 * time.Hour
)

// OnStop says what becomes of the agents when the daemon is told to end.
type OnStop string

// What can become of them.
const (
	// Keep leaves them running in their shims; the next daemon adopts them. The
	// cluster hears nothing of it when that comes in time.
	Keep OnStop = "keep"
	// Drain hands them over to other hosts and takes the host out of service.
	Drain OnStop = "drain"
	// End stops them at once and takes the host out of service.
	End OnStop = "end"
)

// Config is all that an Agentd needs. Only DataDir, Conn, Addrs and Shim are
// required. It is read once, by Open.
type Config struct {
	// DataDir holds the host's id, logs and the agents' folders; it is made when it
	// does not exist and used by one daemon at a time.
	DataDir string
	// HostKeyFile is a copy of the host_key, 32 hexadecimal digits, of a DataDir that is lost: a
	// new one takes it over, and the machine goes on as the host that it was. A directory with
	// another key is refused. Empty: the directory's own, a new one the first time.
	HostKeyFile string
	// Name is shown to people; empty: the host's name.
	Name string
	// Offer is what the host offers at first, and each of Offers takes its place while Run runs;
	// nil: none ever comes.
	Offer
	Offers <-chan Offer
	// Accounts are those that agents get whose runner names none, where this process is root's. Zero:
	// accounts.Default.
	Accounts accounts.Range
	// Tools is the folder in which agents find the program vigil: it is on their PATH.
	// Empty: none is.
	Tools string
	// Shim is the program, with its arguments, that calls shim.Serve.
	Shim []string

	// Conn reaches the cluster, usually a *client.Client.
	Conn grpc.ClientConnInterface
	// Addrs are the servers' API addresses.
	Addrs []string
	// Servers gives those that are known by now, usually client.Client's; nil: Addrs. Agents
	// get them as VIGIL_ADDR, and in a file of DataDir (ServersFile) that is kept up to date.
	// It must be safe for concurrent use.
	Servers func() []string
	// Leader gives the address of the server that is asked first for an agent, usually
	// client.Client's Addr; nil: the first of Servers. It must be safe for concurrent use.
	Leader func() string
	// TLS is how calls of agents reach servers; nil: in clear. Conn has its own.
	TLS *tls.Config
	// Version is shown with the host.
	Version string
	// TelemetryForward is the address of an OpenTelemetry collector (OTLP over HTTP) that gets the telemetry
	// of agents, too; empty: none does.
	TelemetryForward string

	// Troubles tells what else of this program does not work at the moment, in an order that stays: it becomes
	// warnings of the host, until it is told no more. It is asked several times a second and must be safe for
	// concurrent use; nil: nothing ever.
	Troubles func() []string

	Stops  // ends of agents and of the daemon
	Starts // bounds of starts
	Output // logs and looks
	Seams  // for tests

	// Logger and Registerer may be nil.
	Logger     hclog.Logger
	Registerer prometheus.Registerer
}

// Stops says how agents and the daemon come to their end.
type Stops struct {
	// StopGrace is used where an order names none; 0: DefaultStopGrace.
	StopGrace time.Duration
	// FrozenLimit is for how long a life may be frozen while a leader answers and does not confirm it; time
	// without a leader does not count (law L10). 0: for ever, that is until it is confirmed, superseded or
	// ended by a human.
	FrozenLimit time.Duration
	// OrphanLimit is for how long a life may be without any daemon; 0: for ever. It is for hosts of which
	// nothing may be left behind: a demo, a test.
	OrphanLimit time.Duration
	// OnStop is what becomes of the agents at the end of Run; empty: Keep.
	OnStop OnStop
	// Rebooting tells whether the whole machine goes down, or the container that holds this daemon and its agents.
	// Agents would die then when the network is gone already, or with the daemon, so Keep ends them as End does. It
	// may take seconds; nil: it never does.
	Rebooting func() bool
	// DrainLimit is how long a drain waits for agents that hold a task; 0:
	// DefaultDrainLimit.
	DrainLimit time.Duration
	// ShutdownLimit bounds the end of the agents with End, and after DrainLimit; 0:
	// DefaultShutdownLimit.
	ShutdownLimit time.Duration
}

// Starts bounds how agents begin on this host.
type Starts struct {
	// MaxStarting is how many agents are on the way from their order to a running
	// program at once; 0: DefaultMaxStarting.
	MaxStarting int
	// StartEvery is the time between two starts when more than MaxStarting are wanted;
	// 0: none.
	StartEvery time.Duration
	// MinFreeMemory is the available memory, in bytes, below which the host takes no
	// orders; it takes them again at a quarter more. 0: whatever is free.
	MinFreeMemory uint64
	// MinFreeDisk is the same for the free space, in bytes, of the disk that DataDir is on.
	MinFreeDisk uint64
}

// Output says what becomes of what agents print: how it is looked at and kept.
type Output struct {
	// LookEvery is the time between two looks at the terminal or output of an agent whose
	// runner has prompts; 0: DefaultLookEvery. At most MaxLookEvery.
	LookEvery time.Duration
	// QuietAfter is how long nothing new is printed before an agent counts as quiet; 0:
	// DefaultQuietAfter.
	QuietAfter time.Duration
	// Keep says how long what lives that are over have left is kept.
	Keep Retention
	// LogBytes is the size at which an agent's log is rotated, LogKeep how many old
	// files are kept; 0: the defaults.
	LogBytes int64
	LogKeep  int
}

// Seams are what tests put in place of the machine; a zero one is the real thing.
type Seams struct {
	// Boot is the boot id; empty: made of the kernel's and the data directory's.
	// Tests set it.
	Boot string
	// Memory gives the available memory in bytes; nil: what kernel and control groups leave. Tests set it.
	Memory func() (uint64, error)
	// Disk measures the disk that DataDir is on; nil: the kernel says. Tests set it. It must be safe for concurrent
	// use, and may hang.
	Disk func() (Room, error)
	// Spooled reads a result that an agent has left; nil: results.Spool.Read. Tests set it. It must be safe for
	// concurrent use.
	Spooled func(s results.Spool, path string) (results.Completion, error)
	// Processes tells how many more processes and threads there may be; nil: the kernel says. Tests set it.
	Processes func() (uint64, error)
	// Terminals gives what makes terminals on this host, such as "tmux 3.3a"; nil: the host's
	// tmux. Tests set it. It must be safe for concurrent use.
	Terminals func() (string, error)
	// Wall reads the clock that files are dated by; nil: time.Now. Tests set it.
	Wall func() time.Time
	// Clock reads CLOCK_BOOTTIME; nil: the kernel's. Tests set it. It must be safe
	// for concurrent use.
	Clock func() time.Duration
}

// prepare fills in the defaults and checks what can be checked without the host.
func (c Config) prepare() (Config, error) {
	var err error
	switch {
	case c.DataDir == "":
		return c, errors.New("data directory: none is named")
	case c.Conn == nil:
		return c, errors.New("connection to the cluster: none is given")
	case len(c.Addrs) == 0:
		return c, errors.New("server addresses: none is given")
	case len(c.Shim) == 0:
		return c, errors.New("shim: no program is named")
	case c.MaxStarting < 0:
		return c, fmt.Errorf("agents starting at once: %d is negative", c.MaxStarting)
	case !slices.Contains([]OnStop{"", Keep, Drain, End}, c.OnStop):
		return c, fmt.Errorf("on stop: %q is unknown; write %s, %s or %s", c.OnStop, Keep, Drain, End)
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return c, fmt.Errorf("data directory: %w", err)
	}
	if c.Name == "" {
		if c.Name, err = os.Hostname(); err != nil {
			return c, fmt.Errorf("read host name: %w; give the host a name", err)
		}
	}
	if c.TelemetryForward != "" {
		if err := telemetry.CheckForward(c.TelemetryForward); err != nil {
			return c, fmt.Errorf("forward telemetry to %q: %w", c.TelemetryForward, err)
		}
	}
	if err := c.prepareSpans(); err != nil {
		return c, err
	}
	if c.Accounts == (accounts.Range{}) {
		c.Accounts = accounts.Default()
	}
	if err := c.Accounts.Check(); err != nil {
		return c, err
	}
	c.OnStop = cmp.Or(c.OnStop, Keep)
	c.MaxStarting = cmp.Or(c.MaxStarting, DefaultMaxStarting)
	c.LogBytes = cmp.Or(c.LogBytes, DefaultLogBytes)
	c.LogKeep = cmp.Or(c.LogKeep, DefaultLogKeep)
	if c.Keep.Bytes < 0 {
		return c, fmt.Errorf("what ended lives have left: %d bytes is negative", c.Keep.Bytes)
	}
	if c.LogBytes < 0 || c.LogKeep < 0 || c.LogKeep > 100 {
		return c, fmt.Errorf("logs: %d bytes, %d files kept: want a positive size and at most 100 files",
			c.LogBytes, c.LogKeep)
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Servers == nil {
		addrs := slices.Clone(c.Addrs)
		c.Servers = func() []string { return addrs }
	}
	if c.Leader == nil {
		servers := c.Servers
		c.Leader = func() string { return servers()[0] }
	}
	if c.Troubles == nil {
		c.Troubles = func() []string { return nil }
	}
	c.Seams.prepare(c.DataDir)
	c.Labels, c.Addrs, c.Runners = maps.Clone(c.Labels), slices.Clone(c.Addrs), slices.Clone(c.Runners)
	c.Shim, c.Warnings = slices.Clone(c.Shim), slices.Clone(c.Warnings)
	c.Broken = slices.Clone(c.Broken)
	return c, nil
}

// RunnerHost is what runners are checked against. A host that cannot give agents accounts of their own has
// none.
func (c Config) RunnerHost() runner.Host {
	h := runner.Host{Tools: c.Tools, DataDir: c.DataDir}
	if os.Geteuid() != 0 {
		return h
	}
	if h.NoAccounts = c.Accounts.Here(); h.NoAccounts == nil {
		h.Probe = c.Accounts.Probe()
	}
	return h
}

// prepareSpans puts the defaults of all spans in place and checks their ranges.
func (c *Config) prepareSpans() error {
	for _, d := range []struct {
		name  string
		value *time.Duration
		zero  time.Duration
		most  time.Duration
	}{
		{"stop grace", &c.StopGrace, DefaultStopGrace, MaxStopGrace},
		{"frozen limit", &c.FrozenLimit, 0, MaxFrozenLimit},
		{"orphan limit", &c.OrphanLimit, 0, MaxFrozenLimit},
		{"shutdown limit", &c.ShutdownLimit, DefaultShutdownLimit, time.Hour},
		{"drain limit", &c.DrainLimit, DefaultDrainLimit, 24 * time.Hour},
		{"start gap", &c.StartEvery, 0, time.Minute},
		{"time between looks at terminals", &c.LookEvery, DefaultLookEvery, MaxLookEvery},
		{"time for which what deleted agents have left is kept", &c.Keep.Deleted, 0, MaxKeep},
		{"time for which what ended lives have left is kept", &c.Keep.Ended, 0, MaxKeep},
		{"time for which what moved agents have left is kept", &c.Keep.Moved, 0, MaxKeep},
		{"quiet after", &c.QuietAfter, DefaultQuietAfter, 24 * time.Hour},
	} {
		*d.value = cmp.Or(*d.value, d.zero)
		if *d.value < 0 || *d.value > d.most {
			return fmt.Errorf("%s: %s is not between 0 and %s", d.name, *d.value, d.most)
		}
	}
	return nil
}

// prepare puts the machine where no test has put anything.
func (s *Seams) prepare(dir string) {
	if s.Clock == nil {
		s.Clock = shim.BootClock
	}
	if s.Wall == nil {
		s.Wall = time.Now
	}
	if s.Terminals == nil {
		s.Terminals = (&tmux.Finder{}).Find
	}
	if s.Disk == nil {
		s.Disk = func() (Room, error) { return roomAt(dir) }
	}
	if s.Spooled == nil {
		s.Spooled = results.Spool.Read
	}
	if s.Processes == nil {
		s.Processes = func() (uint64, error) { return freeProcesses("/") }
	}
	if s.Memory == nil {
		s.Memory = func() (uint64, error) { return availableMemory("/") }
	}
}
