package clustertest

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// patience is how long the harness waits for what must come in the end.
const patience = 60 * time.Second

// Cluster is a set of servers, numbered from 0. Its methods belong to the test's
// goroutine, except Submit, SubmitTo and Client.
type Cluster struct {
	t       testing.TB
	net     *network
	opts    options
	servers []*server
}

type server struct {
	cfg    cluster.Config
	addr   raft.ServerAddress
	store  *raft.InmemStore
	snaps  *snapshots
	rep    atomic.Pointer[cluster.Replica] // nil while it does not run
	cancel context.CancelFunc
	done   chan error // of Run
}

type options struct {
	disk   bool
	spare  int
	change []func(i int, c *cluster.Config)
	setup  []func(i int, r *cluster.Replica)
	wrap   func(i int, s raft.LogStore) raft.LogStore
	secure func(i int) cluster.Identity
}

// Option changes what New makes.
type Option func(*options)

// Configure changes the configuration of each server before it is opened.
func Configure(fn func(i int, c *cluster.Config)) Option {
	return func(o *options) { o.change = append(o.change, fn) }
}

// OnOpen sees each replica after it was opened, also again after a restart, and
// before it runs.
func OnOpen(fn func(i int, r *cluster.Replica)) Option {
	return func(o *options) { o.setup = append(o.setup, fn) }
}

// WrapLog puts something between a server and its log in memory.
func WrapLog(fn func(i int, s raft.LogStore) raft.LogStore) Option {
	return func(o *options) { o.wrap = fn }
}

// kinds are the forms of the logs of servers on disk, one after the other: they differ in one cluster.
var kinds = []cluster.LogKind{cluster.LogBolt, cluster.LogWAL}

// OnDisk uses real files, sockets and time, and logs of both kinds. Cut, Isolate and Pause do not work.
func OnDisk() Option { return func(o *options) { o.disk = true } }

// Secure has the servers speak TLS with each other, on streams in memory, or on sockets with OnDisk. It is
// asked for the identity of a server at each start.
func Secure(identity func(i int) cluster.Identity) Option {
	return func(o *options) { o.secure = identity }
}

// Calm slows raft's timers down, for runs of many simulated hours: an idle hour
// costs a third. Elections take about 2 s then.
func Calm() Option {
	return Configure(func(_ int, c *cluster.Config) {
		c.Timing.Heartbeat, c.Timing.Commit = time.Second, 100*time.Millisecond
	})
}

// Spare adds servers without data behind the first n; Restart starts them.
func Spare(n int) Option { return func(o *options) { o.spare = n } }

// New starts n servers that form a cluster. They stop when the test ends.
func New(t testing.TB, n int, opts ...Option) *Cluster {
	t.Helper()
	c := &Cluster{t: t, net: newNetwork()}
	for _, o := range opts {
		o(&c.opts)
	}
	var listeners []net.Listener
	for i := range n + c.opts.spare {
		s := &server{store: raft.NewInmemStore(), snaps: &snapshots{}}
		s.addr = raft.ServerAddress(fmt.Sprintf("10.0.0.%d:7421", i+1))
		s.cfg = cluster.Config{ID: fmt.Sprintf("s%d", i+1), APIAddr: fmt.Sprintf("10.0.0.%d:7420", i+1),
			Version: "test"}
		if c.opts.disk {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatalf("listen: %v", err)
			}
			listeners = append(listeners, l)
			s.cfg.Timing.Heartbeat = time.Second // these run in real time, beside other tests: their elections are to end
			s.addr = raft.ServerAddress(l.Addr().String())
			s.cfg.DataDir, s.cfg.LogStore = t.TempDir(), kinds[i%len(kinds)]
		}
		s.cfg.RaftAddr = string(s.addr)
		c.servers = append(c.servers, s)
	}
	t.Cleanup(c.close)
	for i, s := range c.servers {
		if testing.Verbose() {
			s.cfg.Logger = hclog.New(&hclog.LoggerOptions{Name: s.cfg.ID, Level: hclog.Info, Output: writer{t}})
		}
		s.cfg.Report = c.report(s)
		for _, fn := range c.opts.change {
			fn(i, &s.cfg)
		}
		if c.opts.disk {
			s.cfg.Listener = listeners[i]
		}
	}
	var members []cluster.Config
	for _, s := range c.servers[:n] {
		members = append(members, s.cfg)
		if !c.opts.disk {
			members[len(members)-1].Backend = &cluster.Backend{Log: s.store, Stable: s.store, Snapshots: s.snaps}
		}
	}
	if err := cluster.Found(members...); err != nil {
		t.Fatalf("found the cluster: %v", err)
	}
	for i := range n {
		c.start(i)
	}
	return c
}

type writer struct{ t testing.TB }

func (w writer) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

// report stands for the door that carries a follower's hash to the leader.
func (c *Cluster) report(from *server) func(context.Context, fsm.ReportHash) error {
	return func(ctx context.Context, h fsm.ReportHash) error {
		for _, s := range c.servers {
			rep := s.rep.Load()
			if rep != nil && rep.Leader().Self && (c.opts.disk || c.net.reaches(from.addr, s.addr)) {
				_, err := rep.Submit(ctx, fsm.Request{Cmd: h})
				return err
			}
		}
		return noun.ErrNotLeader
	}
}

// reached gives the server at an address when it runs and answers arrive, or nil.
func (c *Cluster) reached(from *server, addr string) *cluster.Replica {
	for _, s := range c.servers {
		if string(s.addr) == addr && c.net.reach(from.addr, s.addr) != nil && c.net.reach(s.addr, from.addr) != nil {
			return s.rep.Load()
		}
	}
	return nil
}

// ask carries the question who reaches whom.
func (c *Cluster) ask(from *server) func(addr, id string) cluster.ReachWord {
	return func(addr, id string) cluster.ReachWord {
		if rep := c.reached(from, addr); rep != nil {
			return rep.Reaches(id)
		}
		return cluster.ReachUnknown
	}
}

// question carries any question on the port of the log.
func (c *Cluster) question(from *server) func(addr, line string) string {
	return func(addr, line string) string {
		if rep := c.reached(from, addr); rep != nil {
			return rep.Answer(line)
		}
		return ""
	}
}

func (c *Cluster) start(i int) {
	c.t.Helper()
	s := c.servers[i]
	cfg := s.cfg
	if !c.opts.disk {
		var log raft.LogStore = gapless{s.store}
		if c.opts.wrap != nil {
			log = c.opts.wrap(i, log)
		}
		cfg.Backend = &cluster.Backend{Log: log, Stable: s.store, Snapshots: s.snaps}
		if c.opts.secure != nil {
			cfg.Cluster, cfg.Listener, cfg.Dial = "blue", c.net.accept(s.addr), c.net.dial(s.addr)
		} else {
			cfg.Backend.Transport, cfg.Backend.Ask, cfg.Backend.Question = c.net.listen(s.addr), c.ask(s), c.question(s)
		}
	}
	if c.opts.secure != nil {
		cfg.Identity = c.opts.secure(i)
	}
	rep, err := cluster.Open(cfg)
	if err != nil {
		c.t.Fatalf("open server %d: %v", i, err)
	}
	for _, fn := range c.opts.setup {
		fn(i, rep)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan error, 1)
	s.rep.Store(rep)
	done := s.done
	go func() { done <- rep.Run(ctx) }()
}

func (c *Cluster) close() {
	for _, s := range c.servers {
		if s.rep.Load() != nil {
			s.cancel()
		}
	}
	for i, s := range c.servers {
		if s.rep.Load() != nil {
			if err := <-s.done; err != nil {
				c.t.Errorf("server %d: %v", i, err)
			}
			s.rep.Store(nil)
		}
	}
}

// SlowLoad makes a server take so long to load a snapshot, or to send one, from now on.
func (c *Cluster) SlowLoad(i int, d time.Duration) {
	s := c.servers[i].snaps
	s.mu.Lock()
	s.slow = d
	s.mu.Unlock()
}

// SlowSend makes every snapshot that is sent from now on take so long on its way, with ports.
func (c *Cluster) SlowSend(d time.Duration) {
	c.memory()
	c.net.mu.Lock()
	c.net.slow = d
	c.net.mu.Unlock()
}

// Loads counts the snapshots that a server keeps, and has made or was sent since it began.
func (c *Cluster) Loads(i int) int {
	s := c.servers[i].snaps
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// Replica gives server i.
func (c *Cluster) Replica(i int) *cluster.Replica { return c.servers[i].rep.Load() }

// ID and Addr tell how the cluster knows server i.
func (c *Cluster) ID(i int) string { return c.servers[i].cfg.ID }

// Addr is the raft address of server i.
func (c *Cluster) Addr(i int) string { return string(c.servers[i].addr) }

// Outside gives somebody who is none of the servers a port and a way to dial theirs, with Secure.
func (c *Cluster) Outside(addr string) (net.Listener, func(context.Context, string) (net.Conn, error)) {
	c.memory()
	return c.net.accept(raft.ServerAddress(addr)), c.net.dial(raft.ServerAddress(addr))
}

// Cut stops all messages between two servers until Heal.
func (c *Cluster) Cut(i, j int) {
	c.memory()
	c.net.setCut(c.servers[i].addr, c.servers[j].addr, true)
}

// Isolate cuts a server off from all others until Heal.
func (c *Cluster) Isolate(i int) {
	for j := range c.servers {
		if j != i {
			c.Cut(i, j)
		}
	}
}

// Heal undoes all cuts.
func (c *Cluster) Heal() { c.net.heal() }

// Pause makes a server neither hear nor speak until Resume.
func (c *Cluster) Pause(i int) {
	c.memory()
	c.net.setHeld(c.servers[i].addr, true)
}

// Resume undoes Pause.
func (c *Cluster) Resume(i int) { c.net.setHeld(c.servers[i].addr, false) }

func (c *Cluster) memory() {
	c.t.Helper()
	if c.opts.disk {
		c.t.Fatal("clustertest: servers on disk cannot be cut off")
	}
}

// Kill stops a server without a word to the others. Its stores stay. On disk it
// is an orderly stop.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	s := c.servers[i]
	if s.rep.Load() == nil {
		return
	}
	if !c.opts.disk {
		c.net.setHeld(s.addr, true)
	}
	s.cancel()
	if err := <-s.done; err != nil {
		c.t.Errorf("server %d: %v", i, err)
	}
	s.rep.Store(nil)
}

// Stop stops a server in an orderly way and returns what Run returned.
func (c *Cluster) Stop(i int) error {
	s := c.servers[i]
	s.cancel()
	err := <-s.done
	s.rep.Store(nil)
	return err
}

// Ended tells whether a server has ended by itself, and what Run returned.
func (c *Cluster) Ended(i int) (bool, error) {
	s := c.servers[i]
	if s.rep.Load() == nil {
		return true, nil
	}
	select {
	case err := <-s.done:
		s.rep.Store(nil)
		if !c.opts.disk {
			c.net.ended(s.addr)
		}
		return true, err
	default:
		return false, nil
	}
}

// Empty takes everything from a server in memory that is not running.
func (c *Cluster) Empty(i int) {
	c.memory()
	s := c.servers[i]
	s.store, s.snaps = raft.NewInmemStore(), &snapshots{}
}

// Restart starts a server that is not running, with the stores it had.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	s := c.servers[i]
	if s.rep.Load() != nil {
		c.t.Fatalf("clustertest: server %d is running", i)
	}
	if c.opts.disk && s.done != nil {
		l, err := net.Listen("tcp", string(s.addr))
		if err != nil {
			c.t.Fatalf("listen again: %v", err)
		}
		s.cfg.Listener = l
	}
	c.net.setHeld(s.addr, false)
	c.start(i)
}
