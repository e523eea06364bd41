package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The demo in numbers.
const (
	devRoom   = "demo"
	devPace   = 250 * time.Millisecond // least time of a step of work
	devIdle   = 20 * time.Second       // an on-demand agent leaves after so long without a task
	devReady  = 60 * time.Second       // for everything to be up
	devLook   = 25 * time.Millisecond  // between looks while it comes up
	devFirst  = 5                      // tasks created at once
	devAgents = 4                      // that always run
)

type devOptions struct {
	dataDir string
	every   time.Duration
	chaos   bool
	seed    uint64
}

// newDevCmd is `vigil dev`.
func newDevCmd(a *app) *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole fleet on this machine, to try things out",
		Long: `Run three servers, one host and a demo room whose agents are real processes: they
wait for tasks and compute checksums, count words and vet Go modules. What happens is
shown as it happens. Kill anything and watch it come back; Ctrl-C ends everything.

With --chaos parts are killed and frozen at random while you watch: at most one
server and one agent at a time, so that the fleet has to survive every step.`,
		Example: "  vigil dev\n  vigil dev --chaos --seed 7\n  vigil dev --data-dir ./fleet",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.every < 0 {
				return usagef("flag --every: %s is negative", o.every)
			}
			if o.seed == 0 {
				o.seed = rand.Uint64N(1_000_000)
			}
			if o.chaos && !cmd.Flags().Changed("every") {
				o.every = 2 * time.Second
			}
			return a.dev(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.dataDir, "data-dir", "", "keep everything in this folder (default: a temporary one, removed at the end)")
	fl.DurationVar(&o.every, "every", 10*time.Second, "create a task so often, with --chaos every 2s (0: none)")
	fl.BoolVar(&o.chaos, "chaos", false, "kill and freeze parts at random")
	fl.Uint64Var(&o.seed, "seed", 0, "seed of --chaos (default: a random one)")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

// fleet is the running demo.
type fleet struct {
	app     *app
	options devOptions
	place   *devPlace
	servers []*child
	agentd  *child
	conn    *conn
	began   time.Time

	mu     sync.Mutex        // guards the output and what follows
	quiet  bool              // nothing more is to be said by children
	newest uint64            // event that was seen last
	joined map[string]string // incarnation of an agent that was seen to join
}

// dev runs the demo until ctx ends.
func (a *app) dev(ctx context.Context, o devOptions) (err error) {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	place, err := openDevPlace(o.dataDir, 3)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove()) }()
	f := &fleet{app: a, options: o, place: place, began: time.Now(), joined: map[string]string{}}
	if err := place.write(exe, o.settings()); err != nil {
		return err
	}
	addrs := place.apiAddrs()
	c, err := client.Open(client.Config{Addrs: addrs, Name: "vigil dev"})
	if err != nil {
		return err
	}
	defer c.Close()
	f.conn = &conn{c, vigilv1.NewFleetClient(c), vigilv1.NewWorkClient(c), vigilv1.NewClusterClient(c)}
	for _, s := range place.servers {
		c := f.child("server "+s.ID, exe, place.path(s.ID, "log"), "server", "--config", place.path(s.ID, "server.yaml"))
		if place.temp {
			c.stop = syscall.SIGKILL // nobody needs its data any more, so nobody has to wait
		}
		f.servers = append(f.servers, c)
	}
	f.agentd = f.child("agentd", exe, place.path("host", "log"), "agentd", "--config", place.path("host", "agentd.yaml"))
	return f.run(ctx)
}

func (f *fleet) child(name, exe, log string, args ...string) *child {
	return &child{name: name, exe: exe, args: args, log: log, say: f.say, stop: syscall.SIGTERM}
}

// settings are those of the demo: nothing is parked because somebody played with it.
func (o *devOptions) settings() map[string]string {
	s := map[string]string{"breaker_starts": "20", "healthy_after": "20s"}
	if o.chaos {
		s["breaker_starts"] = "1000"
	}
	return s
}

// run brings everything up, shows it, and takes it down in order: the agents and
// their host say good-bye while there are servers to hear it.
func (f *fleet) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	base := context.WithoutCancel(ctx)
	hostCtx, stopHost := context.WithCancel(base)
	serverCtx, stopServers := context.WithCancel(base)
	defer stopServers()
	defer stopHost()
	var host, servers errgroup.Group
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
	up(&host, hostCtx, f.agentd)

	err := f.live(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.As(cause, new(signalError)) {
		err = cause // a child that could not be started
	} else if ctx.Err() != nil {
		err = nil // somebody has seen enough
	}
	f.farewell(base)
	stopHost()
	_ = host.Wait() // its error is the cause above
	stopServers()
	_ = servers.Wait()
	return err
}

// live is the demo between its beginning and its end.
func (f *fleet) live(ctx context.Context) error {
	if err := f.comeUp(ctx); err != nil {
		return err
	}
	if err := f.greet(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.feed(ctx) })
	g.Go(func() error { return f.createTasks(ctx) })
	if f.options.chaos {
		g.Go(func() error { return newChaos(f).run(ctx) })
	}
	return g.Wait()
}

// comeUp declares the room and waits until its agents have joined.
func (f *fleet) comeUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, devReady)
	defer cancel()
	if _, err := f.conn.fleet.ApplyRoom(ctx, devRoles()); err != nil {
		return fmt.Errorf("declare room %s: %w; logs are in %s", devRoom, err, f.place.dir)
	}
	for {
		agents, err := f.agents(ctx)
		if err == nil {
			n := 0
			for _, agent := range agents {
				if agent.GetParticipant() != "DISCONNECTED" && agent.GetPid() != 0 {
					n++
				}
			}
			if n >= devAgents {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the agents of room %s: not all have come up within %s; logs are in %s", devRoom, devReady, f.place.dir)
		case <-time.After(devLook):
		}
	}
}

// devRoles declares the room. Its times are short, so that even a frozen agent is
// replaced while one watches.
func devRoles() *vigilv1.ApplyRoomRequest {
	role := func(name string, replicas uint32, start string) *vigilv1.RoleSpec {
		return &vigilv1.RoleSpec{Name: name, Runner: name, Replicas: replicas, Start: start, Proof: "agent",
			Ttl: durationpb.New(20 * time.Second), StopGrace: durationpb.New(2 * time.Second), StartLimit: durationpb.New(10 * time.Second)}
	}
	return &vigilv1.ApplyRoomRequest{Room: devRoom, By: "vigil dev", Roles: []*vigilv1.RoleSpec{
		role("checksum", 2, "always"), role("words", 2, "always"), role("vet", 1, "on_demand"),
	}}
}

// agents lists those of the room.
func (f *fleet) agents(ctx context.Context) ([]*vigilv1.Agent, error) {
	list, err := f.conn.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: devRoom})
	return list.GetAgents(), err
}

// createTasks creates some tasks at once and then one every now and then.
func (f *fleet) createTasks(ctx context.Context) error {
	jobs := devJobs()
	for n := 0; ; n++ {
		job := jobs[n%len(jobs)]
		_, err := f.conn.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: devRoom, Role: job[0], Text: job[1],
			Title: job[0] + " of " + job[1], By: "vigil dev"})
		if err != nil && ctx.Err() == nil {
			f.say("a task could not be created: %v", err)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case n < devFirst-1:
			continue
		case f.options.every == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.options.every):
		}
	}
}

// server finds the child that runs a server.
func (f *fleet) server(id string) *child {
	at := slices.IndexFunc(f.servers, func(c *child) bool { return strings.HasSuffix(c.name, " "+id) })
	if at < 0 {
		return nil
	}
	return f.servers[at]
}
