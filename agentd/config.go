package agentd

import (
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

	"vigil/agentd/runner"
)

// Defaults of Config.
const (
	DefaultStopGrace     = 5 * time.Second
	DefaultFrozenLimit   = 30 * time.Minute
	DefaultShutdownLimit = 30 * time.Second
	DefaultLogBytes      = 10 << 20
	DefaultLogKeep       = 3
	// MaxStopGrace keeps a stop from looking like a hang.
	MaxStopGrace = 10 * time.Minute
)

// Config is all that an Agentd needs. Only DataDir, Conn and Addrs are required.
// It is read once, by Open.
type Config struct {
	// DataDir holds the host's id, logs and the agents' folders; it is made when it
	// does not exist and used by one daemon at a time.
	DataDir string
	// Name is shown to people; empty: the host's name.
	Name string
	// Labels are matched by what roles ask for.
	Labels map[string]string
	// Capacity is the greatest number of agents; 0: the cluster's default.
	Capacity uint32
	// Runners are the ways to start agents.
	Runners []runner.Runner

	// Conn reaches the cluster, usually a *client.Client.
	Conn grpc.ClientConnInterface
	// Addrs are the servers' API addresses, given to agents as VIGIL_ADDR.
	Addrs []string
	// Version is shown with the host.
	Version string

	// StopGrace is used where an order names none; 0: DefaultStopGrace.
	StopGrace time.Duration
	// FrozenLimit is how long an agent stays frozen before it is killed; 0:
	// DefaultFrozenLimit.
	FrozenLimit time.Duration
	// ShutdownLimit bounds the end of Run; 0: DefaultShutdownLimit.
	ShutdownLimit time.Duration
	// LogBytes is the size at which an agent's log is rotated, LogKeep how many old
	// files are kept; 0: the defaults.
	LogBytes int64
	LogKeep  int

	// Boot is the machine's boot id; empty: the kernel's. Tests set it.
	Boot string
	// Clock reads CLOCK_BOOTTIME; nil: the kernel's. Tests set it. It must be safe
	// for concurrent use.
	Clock func() time.Duration

	// Logger and Registerer may be nil.
	Logger     hclog.Logger
	Registerer prometheus.Registerer
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
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return c, fmt.Errorf("data directory: %w", err)
	}
	if c.Name == "" {
		if c.Name, err = os.Hostname(); err != nil {
			return c, fmt.Errorf("read host name: %w; give the host a name", err)
		}
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		zero  time.Duration
		most  time.Duration
	}{
		{"stop grace", &c.StopGrace, DefaultStopGrace, MaxStopGrace},
		{"frozen limit", &c.FrozenLimit, DefaultFrozenLimit, 24 * time.Hour},
		{"shutdown limit", &c.ShutdownLimit, DefaultShutdownLimit, time.Hour},
	} {
		if *d.value == 0 {
			*d.value = d.zero
		}
		if *d.value < 0 || *d.value > d.most {
			return c, fmt.Errorf("%s: %s is not between 0 and %s", d.name, *d.value, d.most)
		}
	}
	if c.LogBytes == 0 {
		c.LogBytes = DefaultLogBytes
	}
	if c.LogKeep == 0 {
		c.LogKeep = DefaultLogKeep
	}
	if c.LogBytes < 0 || c.LogKeep < 0 || c.LogKeep > 100 {
		return c, fmt.Errorf("logs: %d bytes, %d files kept: want a positive size and at most 100 files", c.LogBytes, c.LogKeep)
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Clock == nil {
		c.Clock = bootClock
	}
	c.Labels, c.Addrs, c.Runners = maps.Clone(c.Labels), slices.Clone(c.Addrs), slices.Clone(c.Runners)
	return c, nil
}
