package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

func hostlossSpec() *Spec {
	return &Spec{
		Name: "hostloss", Short: "Kill whole hosts and see how soon their agents run elsewhere",
		Long: `Starts three hosts beside the three servers, with agents of the policies fast and
fenced, and kills everything of one host (agentd, shims, agents) with SIGKILL, --count
times, one host after the other. Measured from the kill: until the host is suspect,
and until the last of its agents of each policy runs on another host. The agents keep
a ledger: overlaps counts fenced agents of which two lives ran at once. Count and
latency are those of the fenced agents, which wait for the end of their fence (--ttl).

With --busy nothing is killed: all processors are kept busy for that time, and
false_suspicions counts hosts that were suspected although they lived.

The brake and the rule for flapping hosts are off: they would hold the restarts up.`,
		Uses: []string{"count", "ttl", "busy"}, CountHelp: "hosts killed",
		Defaults: Options{Count: 20, TTL: 10 * time.Second, Conns: 1},
		Config:   "settings: {brake_agents: \"0\", flap_limit: \"0\"}\n",
		Own:      true, run: runHostloss,
	}
}

const (
	lossHosts  = 3
	lossAgents = 6 // of each policy
	// calmAfterLoss is how long all is well before the next kill.
	calmAfterLoss = 2 * time.Second
)

// lossHost is one host of the benchmark.
type lossHost struct {
	name, dir, config string
	daemon            *process
}

// loss is the benchmark under way.
type loss struct {
	*run
	fleet  vigilv1.FleetClient
	hosts  []*lossHost
	ledger string

	mu        sync.Mutex
	changed   chan struct{}
	suspected map[string]time.Time // by host, since the last kill
	started   map[string]homecoming
	doubted   int // all suspicions
	broken    error
}

// homecoming is the newest start of an agent.
type homecoming struct {
	host string
	at   time.Time
}

func runHostloss(ctx context.Context, r *run) (err error) {
	clients, err := r.stand.dial(1, false)
	if err != nil {
		return err
	}
	x := &loss{run: r, fleet: vigilv1.NewFleetClient(clients[0]), ledger: filepath.Join(r.stand.dir, "ledger"),
		changed: make(chan struct{}, 1), suspected: map[string]time.Time{}, started: map[string]homecoming{}}
	if err := os.MkdirAll(x.ledger, 0o700); err != nil {
		return fmt.Errorf("make ledger: %w", err)
	}
	defer func() { err = errors.Join(err, x.end()) }()
	for i := range lossHosts {
		h := &lossHost{name: fmt.Sprintf("h%d", i+1)}
		x.hosts = append(x.hosts, h)
		if err := x.prepare(h); err != nil {
			return err
		}
		if err := x.start(h); err != nil {
			return err
		}
	}
	stop, err := x.watch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := x.declare(ctx); err != nil {
		return err
	}
	if err := x.settle(ctx); err != nil {
		return err
	}
	if r.Busy > 0 {
		x.busy(ctx)
	} else if err := x.losses(ctx); err != nil {
		return err
	}
	return x.judge(ctx)
}

// prepare writes the configuration of a host.
func (x *loss) prepare(h *lossHost) error {
	h.dir = filepath.Join(x.stand.dir, h.name)
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	h.config = filepath.Join(x.stand.dir, h.name+".yaml")
	config := fmt.Sprintf(`capacity: %d
orphan_limit: 1m
on_stop: end
runners:
  - name: %s
    program: %s
    user: %q
    args: [%s]
    env: {GOMAXPROCS: "1", GOGC: "50", %s: %s, %s: %s}
`, 4*lossAgents, benchRunner, strconv.Quote(x.Program), runner.SameUser(), AgentCommand,
		envLedger, strconv.Quote(x.ledger), envHost, h.name)
	if err := os.WriteFile(h.config, []byte(config), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (x *loss) start(h *lossHost) (err error) {
	h.daemon, err = startProcess(filepath.Join(x.stand.dir, h.name+".log"), nil, x.Program,
		"agentd", "--config", h.config,
		"--data-dir", h.dir, "--server", strings.Join(x.stand.addrs(), ","), "--name", h.name, "--log-level", "warn")
	return err
}

// declare declares the agents: some of each policy.
func (x *loss) declare(ctx context.Context) error {
	var roles []*vigilv1.RoleSpec
	for _, policy := range []string{"fast", "fenced"} {
		roles = append(roles, &vigilv1.RoleSpec{Name: policy, Policy: policy, Runner: benchRunner, Replicas: lossAgents,
			Ttl: durationpb.New(x.TTL)})
	}
	if _, err := x.fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: x.tag, By: "bench", Roles: roles}); err != nil {
		return fmt.Errorf("apply room: %w", err)
	}
	return nil
}

// watch follows suspicions and starts until stop is called.
func (x *loss) watch(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := x.fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{Tail: true})
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch events: %w", err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			e, err := stream.Recv()
			x.note(e, time.Now(), err)
			if err != nil {
				return
			}
		}
	})
	return func() { cancel(); all.Wait() }, nil
}

func (x *loss) note(e *vigilv1.Event, now time.Time, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.broken = fmt.Errorf("watch events: %w", err)
	case e.GetKind() == "host.suspect":
		x.doubted++
		if x.suspected[e.GetHost()].IsZero() {
			x.suspected[e.GetHost()] = now
		}
	case e.GetKind() == "agent.started" && e.GetRoom() == x.tag:
		x.started[e.GetAgent()] = homecoming{e.GetHost(), now}
	default:
		return
	}
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// settle waits until every host is ready and every agent is in its room.
func (x *loss) settle(ctx context.Context) error {
	limit := time.Now().Add(readyLimit + 3*x.TTL)
	well := time.Time{}
	for {
		missing, err := x.missing(ctx)
		if err != nil {
			return err
		}
		switch {
		case missing != "":
			well = time.Time{}
		case well.IsZero():
			well = time.Now()
		case time.Since(well) > calmAfterLoss:
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("not everything runs: %s", missing)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// missing says what is not as it should be, "" when all is.
func (x *loss) missing(ctx context.Context) (string, error) {
	for _, h := range x.hosts {
		if e := h.daemon.ended(); e != nil {
			return "", fmt.Errorf("agentd of %s ended: %w: %s", h.name, e, tail(h.daemon.log))
		}
	}
	hosts, err := x.fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{})
	if err != nil {
		return "", fmt.Errorf("list hosts: %w", err)
	}
	ready := 0
	for _, h := range hosts.GetHosts() {
		if h.GetState() == "ready" {
			ready++
		}
	}
	if ready < lossHosts {
		return fmt.Sprintf("%d of %d hosts are ready", ready, lossHosts), nil
	}
	agents, err := x.agents(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range agents {
		if a.GetProcess() != "running" || a.GetParticipant() == "DISCONNECTED" {
			return a.GetName() + ": " + a.GetWhy(), nil
		}
	}
	if len(agents) < 2*lossAgents {
		return fmt.Sprintf("%d agents are declared", len(agents)), nil
	}
	return "", nil
}

func (x *loss) agents(ctx context.Context) ([]*vigilv1.Agent, error) {
	list, err := x.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: x.tag})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return list.GetAgents(), nil
}

// losses kills one host after the other.
func (x *loss) losses(ctx context.Context) error {
	began := time.Now()
	var suspect, fast samples
	fenced := &tally{}
	for n := range x.Count {
		h := x.hosts[n%len(x.hosts)]
		doubt, homes, err := x.lose(ctx, h)
		if err != nil {
			return fmt.Errorf("loss %d of host %s: %w", n+1, h.name, err)
		}
		suspect.add(doubt)
		fast.add(homes["fast"])
		fenced.add(homes["fenced"])
		fenced.ops++
		x.say("%d of %d hosts killed: suspect after %s, fast %s, fenced %s", n+1, x.Count,
			doubt.Round(time.Millisecond), homes["fast"].Round(time.Millisecond),
			homes["fenced"].Round(time.Millisecond))
		if err := x.start(h); err != nil {
			return err
		}
		if err := x.settle(ctx); err != nil {
			return err
		}
	}
	fenced.seconds = time.Since(began).Seconds()
	x.report.take(fenced)
	x.report.set("runs", x.Count)
	for _, f := range []struct {
		name string
		*samples
	}{{"suspect", &suspect}, {"fast", &fast}, {"fenced", &fenced.samples}} {
		x.report.set(f.name+"_p50_ms", f.percentile(0.50))
		x.report.set(f.name+"_max_ms", f.max())
	}
	return nil
}

// lose kills everything of a host and waits until its agents run elsewhere. It gives
// the time until the host was suspect, and until the last agent of each policy ran.
func (x *loss) lose(ctx context.Context, h *lossHost) (doubt time.Duration, homes map[string]time.Duration, err error) {
	agents, err := x.agents(ctx)
	if err != nil {
		return 0, nil, err
	}
	policy := map[string]string{} // of the agents of this host
	for _, a := range agents {
		if a.GetHost() == h.name {
			policy[a.GetName()] = a.GetRole()
		}
	}
	x.mu.Lock()
	clear(x.suspected)
	x.mu.Unlock()
	began, err := x.kill(h)
	if err != nil {
		return 0, nil, err
	}
	limit := time.NewTimer(readyLimit + 3*x.TTL)
	defer limit.Stop()
	for {
		doubt, homes, left := x.rehomed(h, policy, began)
		x.mu.Lock()
		broken := x.broken
		x.mu.Unlock()
		switch {
		case broken != nil:
			return 0, nil, broken
		case left == 0:
			return doubt, homes, nil
		}
		select {
		case <-x.changed:
		case <-limit.C:
			return 0, nil, fmt.Errorf("after %s %d of its agents do not run elsewhere, or it is not suspect",
				readyLimit+3*x.TTL, left)
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
}

// rehomed tells how long what has happened took, and how much has not happened.
func (x *loss) rehomed(h *lossHost, policy map[string]string, began time.Time) (doubt time.Duration,
	homes map[string]time.Duration, left int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	homes = map[string]time.Duration{}
	for agent, p := range policy {
		s := x.started[agent]
		if s.host == h.name || s.at.Before(began) {
			left++
			continue
		}
		homes[p] = max(homes[p], s.at.Sub(began))
	}
	if at := x.suspected[h.name]; at.IsZero() {
		left++
	} else {
		doubt = at.Sub(began)
	}
	return doubt, homes, left
}

// kill kills everything of a host and gives the time of the first kill.
func (x *loss) kill(h *lossHost) (time.Time, error) {
	// A daemon that never came so far as to have an id has started nothing.
	key, err := os.ReadFile(filepath.Join(h.dir, "host_key"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return time.Time{}, fmt.Errorf("read host id: %w", err)
	}
	daemon := h.daemon.cmd.Process.Pid
	if h.daemon.ended() != nil {
		daemon = 0 // its number may belong to somebody else by now
	}
	began, err := killHost(daemon, strings.TrimSpace(string(key)))
	<-h.daemon.done
	return began, err
}
