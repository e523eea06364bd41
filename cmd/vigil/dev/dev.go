package dev

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/ui"
	"vigil/rpc/trust"
)

// The demo in numbers.
const (
	devRoom   = "demo"
	devPace   = 250 * time.Millisecond // least time of a step of work
	devIdle   = 20 * time.Second       // an on-demand agent leaves after so long without a task
	devReady  = 60 * time.Second       // for everything to be up
	devLook   = 25 * time.Millisecond  // between looks while it comes up
	devFirst  = 5                      // tasks created at once
	devTTL    = 10 * time.Second       // short, so that one can watch a host being lost
	devHealth = 2 * time.Second        // between the agents' reports
	devOrphan = 15 * time.Second       // agents that nobody watches any more end after this
)

// Ports of the servers: the API of the first has the one that every command tries by itself.
const (
	devPort    = 7420
	maxDevPort = 65_535 - 2*devServers + 1
	devServers = 3
)

// devTiming is calmer than that of servers with machines of their own: here agents compile and test beside them, and a
// leader that only waits for a processor is to be kept.
var devTiming = map[string]string{"heartbeat": "500ms", "leader_lease": "500ms"}

// Pauses before a part that ended is started again.
const (
	serverAgain = 3 * time.Second // time to see that another one leads
	hostAgain   = time.Second     // as a service manager does
)

type devOptions struct {
	dataDir string
	hosts   int
	every   time.Duration
	chaos   bool
	seed    uint64
	port    int  // of the first server, the others follow; 0: any that is free
	asked   bool // somebody wants this port and no other
	metrics bool // hosts give figures, too, and a configuration of Prometheus is written
}

// newDevCmd is `vigil dev`.
func newDevCmd(a *cli.App) *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole fleet on this machine, to try things out",
		Long: `Run three servers, two hosts and a demo room whose agents are real processes: they
wait for tasks and compute checksums, count words and vet Go modules. What happens is
shown as it happens. Kill anything and watch it come back; Ctrl-C ends everything.

The hosts east and west are two daemons (agentd) on this machine. vigil dev kill-host
kills one with all that runs on it, as when the power fails, and start-host switches
it on again.

Servers, hosts and you have identities, as in any cluster: of a root that is made for the
demo and goes with it.

While it runs, the other commands of vigil find it in every terminal: its servers have the
usual ports (7420 to 7425) if these are free, and they are the selected context, named dev;
see vigil context. At the end the context goes and the earlier one is selected again.

With --metrics hosts give figures as servers do, and prometheus.yaml in the folder of the demo is a
configuration with which Prometheus reads them all.

With --chaos parts are killed and frozen at random while you watch: at most one
server, one host and one agent at a time, so that the fleet has to survive every step.

Leases are short here (10 s), so that one can watch them end. When vigil dev itself is
killed, its servers and daemons end with it, and its agents freeze and end within 20 s.`,
		Example: "  vigil dev\n  vigil dev --hosts 3\n  vigil dev --chaos --seed 7\n" +
			"  vigil dev --data-dir ./fleet --metrics",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.ChooseSubcommand(cmd, args)
			}
			if o.every < 0 {
				return cli.Usagef("flag --every: %s is negative", o.every)
			}
			if o.hosts < 1 || o.hosts > len(devHostNames) {
				return cli.Usagef("flag --hosts: %d is out of range, 1 to %d is allowed", o.hosts, len(devHostNames))
			}
			if o.port < 0 || o.port > maxDevPort {
				return cli.Usagef("flag --port: %d is out of range, 0 to %d is allowed", o.port, maxDevPort)
			}
			o.asked = cmd.Flags().Changed("port")
			if o.seed == 0 {
				o.seed = rand.Uint64N(1_000_000)
			}
			if o.chaos && !cmd.Flags().Changed("every") {
				o.every = 2 * time.Second
			}
			return runDev(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.dataDir,
		"data-dir", "", "keep everything in this folder (default: a temporary one, removed at the end)")
	fl.IntVar(&o.hosts, "hosts", 2, "number of hosts, 1 to 5: "+strings.Join(devHostNames[:], ", "))
	fl.DurationVar(&o.every, "every", 10*time.Second, "create a task so often, with --chaos every 2s (0: none)")
	fl.IntVar(&o.port, "port", devPort,
		"first of the ports that the servers listen on, one after the other (0: any that are free)")
	fl.BoolVar(&o.metrics, "metrics", false, "hosts give figures, too, and prometheus.yaml is written for Prometheus")
	fl.BoolVar(&o.chaos, "chaos", false, "kill and freeze parts at random")
	fl.Uint64Var(&o.seed, "seed", 0, "seed of --chaos (default: a random one)")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	cmd.AddCommand(newDevKillHostCmd(a), newDevStartHostCmd(a))
	return cmd
}

// fleet is the running demo.
type fleet struct {
	app     *cli.App
	options devOptions
	place   *devPlace
	servers []*child
	agentds []*child // one a host, in the order of place.hosts
	conn    *cli.Conn
	self    *trust.Holder // of conn
	began   time.Time
	context string // the demo's, once it is announced
	page    *ui.Server

	mu     sync.Mutex        // guards the output and what follows
	quiet  bool              // nothing more is to be said by children
	newest uint64            // event that was seen last
	joined map[string]string // incarnation of an agent that was seen to join
}

// runDev runs the demo until ctx ends.
func runDev(ctx context.Context, a *cli.App, o devOptions) (err error) {
	if err := checkSystem(runtime.GOOS); err != nil {
		return err
	}
	place, err := openDevPlace(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove()) }()
	exe, err := place.keepProgram()
	if err != nil {
		return err
	}
	f := &fleet{app: a, options: o, place: place, began: time.Now(), joined: map[string]string{}}
	if o.metrics {
		if err := place.openFigures(); err != nil {
			return err
		}
	}
	if err := place.write(exe, o.settings()); err != nil {
		return err
	}
	if err := place.found(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // somebody has changed their mind
		}
		return err
	}
	c, self, err := place.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	f.conn, f.self = cli.NewConn(c), self
	for _, s := range place.servers {
		c := f.child("server "+s.ID, exe, place.path(s.ID, "log"),
			"server", "--config", place.path(s.ID, "server.yaml"))
		c.again = serverAgain
		if place.temp {
			c.stop = syscall.SIGKILL // nobody needs its data any more, so nobody has to wait
		}
		f.servers = append(f.servers, c)
	}
	for _, h := range place.hosts {
		c := f.child("agentd of "+h.name, exe, place.path(h.name, "log"), "agentd", "--config", h.config())
		c.again, c.hold = hostAgain, h.whyHeld
		f.agentds = append(f.agentds, c)
	}
	return f.run(ctx)
}

func (f *fleet) child(name, exe, log string, args ...string) *child {
	return &child{name: name, exe: exe, args: args, log: log, say: f.say, stop: syscall.SIGTERM}
}

// settings are those of the demo: nothing is parked because somebody played with it, and
// what takes minutes elsewhere can be watched.
func (o *devOptions) settings() map[string]string {
	s := map[string]string{"breaker_starts": "20", "healthy_after": "20s", "flap_pause": "10s",
		"ttl": devTTL.String(), "host_ttl": devTTL.String(),
		"ladder_interval": "1s", "ladder_nudge": "5s", "ladder_wake": "5s", "ladder_interrupt": "2s",
		"ladder_cooldown":   "10s",
		"watchdog_interval": "5s", "watchdog_start_delay": "5s", "watchdog_min_age": "5s", "watchdog_grace": "10s"}
	if o.chaos {
		s["breaker_starts"], s["flap_limit"] = "1000", "1000"
	}
	return s
}

// run brings everything up, shows it, and takes it down in order: the agents and
// their hosts say good-bye while there are servers to hear it.
func (f *fleet) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	base := context.WithoutCancel(ctx)
	hostCtx, stopHosts := context.WithCancel(base)
	serverCtx, stopServers := context.WithCancel(base)
	defer stopServers()
	defer stopHosts()
	var hosts, servers errgroup.Group
	up := func(g *errgroup.Group, ctx context.Context, c *child) {
		g.Go(func() error {
			err := c.run(ctx)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	for _, s := range f.servers {
		up(&servers, serverCtx, s)
	}
	for _, d := range f.agentds {
		up(&hosts, hostCtx, d)
	}

	err := f.live(ctx)
	if f.context != "" {
		err = errors.Join(err, withdraw(f.app, f.context, f.place.dir))
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) &&
		!errors.As(cause, new(cli.SignalError)) {
		err = cause // a child that could not be started
	} else if ctx.Err() != nil {
		err = nil // somebody has seen enough
	}
	f.farewell(base)
	stopHosts()
	_ = hosts.Wait() // their errors are the cause above
	err = errors.Join(err, f.sweep(base))
	stopServers()
	_ = servers.Wait()
	return err
}

// sweep ends what a daemon could not: one that was killed a moment ago has left its
// agents to a next one, which does not come any more.
func (f *fleet) sweep(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, childGrace)
	defer cancel()
	for _, h := range f.place.hosts {
		if _, e := h.kill(ctx); !errors.Is(e, errNoProc) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// live is the demo between its beginning and its end.
func (f *fleet) live(ctx context.Context) error {
	if err := f.comeUp(ctx); err != nil {
		return err
	}
	if err := f.openPage(); err != nil {
		return err
	}
	if err := f.greet(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.page.Run(ctx) })
	g.Go(func() error { return f.feed(ctx) })
	g.Go(func() error { return f.createTasks(ctx) })
	g.Go(func() error { return f.keepIdentity(ctx) })
	if f.options.chaos {
		g.Go(func() error { return newChaos(f).run(ctx) })
	}
	return g.Wait()
}

// openPage prepares the page of the demo, for the browser of whoever runs it.
func (f *fleet) openPage() error {
	port := ui.DefaultPort
	if f.options.port == 0 {
		port = 0
	}
	l, err := ui.Listen(port, false)
	if err != nil {
		return err
	}
	self := ""
	if peer, known := f.self.Self(); known {
		self = peer.Short()
	}
	if f.page, err = ui.Open(ui.Config{Listener: l, Conn: f.conn, Self: self, Cluster: "vigil dev"}); err != nil {
		l.Close()
	}
	return err
}
