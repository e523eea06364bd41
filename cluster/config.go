package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/logstore"
	"vigil/cluster/wire"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Peer is one server of a cluster.
type Peer struct {
	ID       string
	RaftAddr string // host:port that the other servers dial
}

// Timing of raft and of the batcher. Zero values mean the default in brackets.
type Timing struct {
	Heartbeat time.Duration // [250 ms] silence after which a follower stands for election
	// LeaderLease [Heartbeat] is the silence of the majority after which a leader steps
	// down. No safety rests on it (reads go through the log), so it is as long as raft
	// allows: at half of it leaders on busy machines stepped down for nothing.
	LeaderLease time.Duration
	Commit      time.Duration // [10 ms] followers learn of a commit this late at most, twice
	Disk        time.Duration // [5 s] a log write or read that takes longer stops the server
	BeatGather  time.Duration // [250 ms] renewals are held back this long at most
	TickSpacing time.Duration // [200 ms] between an entry and a following one that only moves the clock
}

// Limits of the log. Zero values mean the default in brackets.
type Limits struct {
	EntryBytes      int    // [1 MiB] of the commands of one log entry, and of its beats; a greater command is the only one
	Beats           int    // [4096] renewals that are held back at most
	SnapshotEntries uint64 // [32768] log entries after which a snapshot is taken
	SnapshotBytes   int64  // [256 MiB] bytes of log after which a snapshot is taken
	// TrailingLogs are entries kept behind a snapshot. 0, the default: as many as servers that
	// lag may need, see trail.go.
	TrailingLogs uint64
}

// Backend replaces the files and sockets of a server; tests give one in memory.
// The caller owns what is in it and closes it.
type Backend struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	// Transport nil: the port of the log, see Config.Listener and Config.Dial.
	Transport raft.Transport
	// Ask asks the server at that raft address whether it reaches the API of the server
	// id; nil: no question is answered.
	Ask func(raftAddr, id string) ReachWord
	// Question puts a question to the server at that raft address, which gives it to its
	// Replica.Answer; empty: no answer. Nil: a server without data takes part at once.
	Question func(raftAddr, line string) string
}

// Config of a Replica. It is validated by Open and not read again by the caller's
// hand afterwards.
type Config struct {
	ID       string // of this server, unique in the cluster, never reused
	RaftAddr string // host:port under which the others reach this server
	BindAddr string // host:port to listen on; default RaftAddr
	APIAddr  string // where clients reach this server
	DataDir  string // its own directory, locked while the server runs
	// LogStore is the form of the log in DataDir; empty: the one that it has, LogWAL when it is new. Another
	// one than it has is refused.
	LogStore LogKind

	// Cluster names the cluster. Empty: Found gives it a random name, and a server that joins learns it
	// from the first server that connects.
	Cluster string
	// Seed are the settings of a new cluster; afterwards they are changed by PutSettings.
	Seed []noun.KV

	Version string // of the program, for people
	// Features is the feature level that the program reads; 0: FeatureLevel. Only tests set it.
	Features uint32

	Timing Timing
	Limits Limits

	Logger  hclog.Logger          // nil: silent
	Metrics prometheus.Registerer // nil: not registered

	// Defect panics for an entry that cannot be applied, as a defect of the state machine would. Only tests set it.
	Defect func(*fsm.View, *fsm.Entry)

	// Report carries a hash of the state to the leader; called on followers, from
	// a background goroutine. Nil: followers do not report.
	Report func(ctx context.Context, h fsm.ReportHash) error

	// Identity is how servers prove to each other who they are; nil: whoever reaches the port of
	// the log is believed.
	Identity Identity
	// Revoked tells by the state whether the credential of a server does not count any more. It is called
	// under the lock of the state: it must be short and keep nothing. Nil: none is revoked.
	Revoked func(v *fsm.View, p ProvenPeer) bool

	Listener net.Listener // nil: listens on BindAddr
	// Dial opens a connection to another server's raft address; nil: by TCP.
	Dial    func(ctx context.Context, addr string) (net.Conn, error)
	Backend *Backend // nil: files and TCP
}

// LogKind is the form in which a server keeps its log; see the package logstore.
type LogKind = logstore.Kind

// The forms that there are.
const (
	LogBolt = logstore.Bolt
	LogWAL  = logstore.WAL
)

// Identity is what cmd gives a server that has one; see the package wire.
type Identity = wire.Identity

// ProvenPeer is a server as its certificate tells.
type ProvenPeer = wire.Peer

// ported tells whether the servers talk over the port of the log.
func (c *Config) ported() bool { return c.Backend == nil || c.Backend.Transport == nil }

func (c *Config) setDefaults() {
	def(&c.Features, FeatureLevel)
	def(&c.Timing.Heartbeat, 250*time.Millisecond)
	def(&c.Timing.LeaderLease, c.Timing.Heartbeat)
	def(&c.Timing.Commit, 10*time.Millisecond)
	def(&c.Timing.Disk, 5*time.Second)
	def(&c.Timing.BeatGather, 250*time.Millisecond)
	def(&c.Timing.TickSpacing, 200*time.Millisecond)
	def(&c.Limits.EntryBytes, 1<<20)
	def(&c.Limits.Beats, 4096)
	def(&c.Limits.SnapshotEntries, 32768)
	def(&c.Limits.SnapshotBytes, 256<<20)
	def(&c.BindAddr, c.RaftAddr)
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
}

func def[T comparable](p *T, value T) {
	if *p == *new(T) {
		*p = value
	}
}

// Validate tells what is wrong with the configuration, all of it at once. Zero
// values that have a default are right.
func (c *Config) Validate() error {
	d := *c
	d.setDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if d.ID == "" || len(d.ID) > noun.MaxName || strings.ContainsAny(d.ID, " \t\n/") {
		bad("server id %q: give 1 to %d characters without spaces and slashes", d.ID, noun.MaxName)
	}
	if d.Backend == nil && d.DataDir == "" {
		bad("data directory is missing")
	}
	if d.LogStore != "" && !d.LogStore.Valid() {
		bad("log store %q: give %s or %s", d.LogStore, LogBolt, LogWAL)
	}
	if d.Backend == nil {
		checkAddr(bad, "raft address", d.RaftAddr)
	}
	if strings.ContainsAny(d.Cluster, " \t\n") || len(d.Cluster) > noun.MaxName {
		bad("cluster id %q: give at most %d characters without spaces", d.Cluster, noun.MaxName)
	}
	if d.Timing.Heartbeat < 20*time.Millisecond {
		bad("heartbeat %v: give 20ms or more", d.Timing.Heartbeat)
	}
	if d.Timing.LeaderLease > d.Timing.Heartbeat {
		bad("leader lease %v: give at most the heartbeat, %v", d.Timing.LeaderLease, d.Timing.Heartbeat)
	}
	if d.Timing.Disk < 50*time.Millisecond {
		bad("disk deadline %v: give 50ms or more", d.Timing.Disk)
	}
	if d.Timing.BeatGather < 0 || d.Timing.BeatGather > 5*time.Second {
		bad("beat gathering %v: give 0 to 5s, it delays every beat", d.Timing.BeatGather)
	}
	if d.Limits.EntryBytes < 4<<10 || d.Limits.EntryBytes > maxCommand {
		bad("entry size %d: give %d to %d bytes", d.Limits.EntryBytes, 4<<10, maxCommand)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("validate cluster configuration: %w", err)
	}
	return nil
}

func checkAddr(bad func(string, ...any), what, addr string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" || port == "0" {
		bad("%s %q: give host:port", what, addr)
		return
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		bad("%s %q: give an address that the other servers can dial", what, addr)
	}
}

// raftConfig translates for the library.
func (c *Config) raftConfig(notify chan<- bool) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(c.ID)
	conf.HeartbeatTimeout = c.Timing.Heartbeat
	conf.ElectionTimeout = c.Timing.Heartbeat
	conf.LeaderLeaseTimeout = c.Timing.LeaderLease
	conf.CommitTimeout = c.Timing.Commit
	conf.MaxAppendEntries = 16
	if conf.TrailingLogs = c.Limits.TrailingLogs; conf.TrailingLogs == 0 {
		conf.TrailingLogs = firstTrailing
	}
	conf.SnapshotThreshold = c.Limits.SnapshotEntries
	conf.SnapshotInterval = 30 * time.Second
	conf.ShutdownOnRemove = false
	conf.NoSnapshotRestoreOnStart = true // Open has verified and loaded it already
	conf.NoLegacyTelemetry = true
	conf.NotifyCh = notify
	conf.Logger = c.Logger.Named("raft")
	return conf
}

// FeatureLevel is what this version reads: of the log, of dumps, and of questions on the port
// of the log. A server announces it; see Replica.Level and fsm.RaiseLevel.
const FeatureLevel = fsm.NewestLevel
