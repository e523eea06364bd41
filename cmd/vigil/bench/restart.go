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
	"syscall"
	"time"

	"vigil/agentd/runner"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// AgentCommand is the hidden command that is an agent of the benchmark.
const AgentCommand = "bench-agent"

func restartSpec() *Spec {
	return &Spec{
		Name: "restart", Short: "Kill real agent processes and see how soon they run again",
		Long: `Starts a daemon with --count agents, real processes that join their room and wait.
Kills each of them once with SIGKILL, --batch at a time and --rate a second, so
that no budget of restarts is met. Latency is the time from the kill to the event
which says that the next life runs, seen at the leader; the time until it has joined
is given too.`,
		Uses: []string{"count", "batch", "rate"}, CountHelp: "agents",
		Defaults: Options{Count: 200, Batch: 3, Rate: 3, Conns: 1},
		Own:      true, run: runRestart,
	}
}

// daemonLimit is how long the daemon may take to stop its agents.
const daemonLimit = 40 * time.Second

func runRestart(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(1, false)
	if err != nil {
		return err
	}
	c := clients[0]
	daemon, err := r.startDaemon(ctx)
	if err != nil {
		return err
	}
	x := &reborn{room: r.tag, agents: map[string]*lifeline{}, changed: make(chan struct{}, 1)}
	defer x.reap()
	defer daemon.stop(daemonLimit)
	watch, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	// The others hear of a commit up to 20 ms later, and the agent runs meanwhile.
	lead, err := r.stand.leader(ctx)
	if err != nil {
		return err
	}
	stream, err := vigilv1.NewFleetClient(lead.conn).WatchEvents(watch, &vigilv1.WatchEventsRequest{Tail: true})
	if err == nil {
		_, err = stream.Header()
	}
	if err != nil {
		return fmt.Errorf("watch events: %w", err)
	}
	all.Go(func() { x.watch(stream) })
	_, err = vigilv1.NewFleetClient(c).ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: r.tag, By: "bench",
		Roles: []*vigilv1.RoleSpec{{Name: "agent", Runner: benchRunner, Replicas: uint32(r.Count)}}})
	if err != nil {
		return fmt.Errorf("apply room: %w", err)
	}
	limit := readyLimit + time.Duration(r.Count)*200*time.Millisecond
	if err := x.await(ctx, r, limit, r.Count, 1, daemon); err != nil {
		return err
	}
	before, err := r.measure(ctx)
	if err != nil {
		return err
	}
	if err := x.killAll(ctx, r, daemon); err != nil {
		return err
	}
	if err := r.measureAfter(ctx, before); err != nil {
		return err
	}
	x.report(r)
	return nil
}

// startDaemon starts agentd with one runner: this program as an agent.
func (r *run) startDaemon(ctx context.Context) (*process, error) {
	dir := filepath.Join(r.stand.dir, "host")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	file := filepath.Join(r.stand.dir, "agentd.yaml")
	// An agent is a whole Go program; these keep two hundred of them small.
	config := fmt.Sprintf(`capacity: %d
on_stop: end
runners:
  - name: %s
    program: %s
    user: %q
    args: [%s]
    env: {GOMAXPROCS: "1", GOGC: "50", GOMEMLIMIT: "24MiB"}
`, r.Count, benchRunner, strconv.Quote(r.Program), runner.SameUser(), AgentCommand)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	args := []string{"agentd", "--config", file, "--data-dir", dir, "--server", strings.Join(r.stand.addrs(), ","),
		"--name", "bench", "--log-level", "warn"}
	if r.stand.tls == nil {
		args = append(args, "--insecure")
	} else if err := r.stand.joinHost(ctx, r.Program, dir); err != nil {
		return nil, err
	}
	return startProcess(filepath.Join(r.stand.dir, "agentd.log"), nil, r.Program, args...)
}

// lifeline is what is known about one agent.
type lifeline struct {
	pid    int
	lives  int // started
	joins  int
	killed time.Time
}

// reborn follows the agents through the events.
type reborn struct {
	room string

	mu      sync.Mutex
	agents  map[string]*lifeline
	tally   tally // kill to start
	joined  samples
	changed chan struct{}
}

type eventStream interface {
	Recv() (*vigilv1.Event, error)
}

// watch notes starts and joins until the stream ends.
func (x *reborn) watch(stream eventStream) {
	for {
		e, err := stream.Recv()
		now := time.Now()
		if err != nil {
			x.mu.Lock()
			x.tally.fail(fmt.Errorf("watch events: %w", err))
			x.mu.Unlock()
			return
		}
		if e.GetRoom() == x.room && e.GetAgent() != "" {
			x.note(e, now)
		}
	}
}

func (x *reborn) note(e *vigilv1.Event, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.agents[e.GetAgent()]
	if a == nil {
		a = &lifeline{}
		x.agents[e.GetAgent()] = a
	}
	switch e.GetKind() {
	case "agent.started":
		pid, err := strconv.Atoi(strings.TrimPrefix(e.GetText(), "pid "))
		if err != nil {
			x.tally.fail(fmt.Errorf("event of %s: no process number in %q", e.GetAgent(), e.GetText()))
		}
		a.pid = pid
		a.lives++
		if a.lives == 2 {
			x.tally.ops++
			x.tally.add(now.Sub(a.killed))
		}
	case "agent.joined":
		a.joins++
		if a.joins == 2 {
			x.joined.add(now.Sub(a.killed))
		}
	case "agent.parked", "agent.lease_ended", "agent.fence_ended", "agent.start_limit":
		x.tally.fail(fmt.Errorf("agent %s: %s %s", e.GetAgent(), e.GetKind(), e.GetText()))
	default:
		return
	}
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// await waits until n agents have joined so many times.
func (x *reborn) await(ctx context.Context, r *run, limit time.Duration, n, joins int, daemon *process) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		have := 0
		x.mu.Lock()
		for _, a := range x.agents {
			if a.joins >= joins {
				have++
			}
		}
		first := x.tally.first
		x.mu.Unlock()
		r.say("agents in their room: %d of %d", have, n)
		if have >= n {
			return nil
		}
		select {
		case <-x.changed:
		case <-daemon.done:
			return fmt.Errorf("agentd ended: %w: %s", daemon.ended(), tail(daemon.log))
		case <-timer.C:
			return errors.Join(fmt.Errorf("only %d of %d agents have joined after %s: %s", have, n, limit,
				tail(daemon.log)), first)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// killAll kills every agent once.
func (x *reborn) killAll(ctx context.Context, r *run, daemon *process) error {
	x.mu.Lock()
	var names []string
	for name := range x.agents {
		names = append(names, name)
	}
	x.mu.Unlock()
	began := time.Now()
	every := time.Duration(r.Batch) * time.Second / time.Duration(r.Rate)
	for at := 0; at < len(names) && ctx.Err() == nil; at += r.Batch {
		pause(ctx, time.Until(began.Add(every*time.Duration(at/r.Batch+1))))
		for _, name := range names[at:min(at+r.Batch, len(names))] {
			if err := x.kill(name); err != nil {
				return err
			}
		}
		r.say("killed %d of %d agents", min(at+r.Batch, len(names)), len(names))
	}
	if err := x.await(ctx, r, readyLimit, len(names), 2, daemon); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tally.seconds = time.Since(began).Seconds()
	return nil
}

func (x *reborn) kill(name string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.agents[name]
	if !isAgent(a.pid) {
		return fmt.Errorf("kill agent %s: process %d is not an agent of this benchmark", name, a.pid)
	}
	a.killed = time.Now()
	if err := syscall.Kill(a.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill agent %s: %w", name, err)
	}
	return nil
}

// reap kills what the daemon has left behind: nothing, unless it had to be killed.
func (x *reborn) reap() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.agents {
		if isAgent(a.pid) {
			_ = syscall.Kill(a.pid, syscall.SIGKILL) // it may be gone by now
		}
	}
}

// isAgent makes sure that only agents of the benchmark are killed.
func isAgent(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid > 1 && err == nil && strings.Contains(string(line), AgentCommand)
}

func (x *reborn) report(r *run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r.report.take(&x.tally)
	r.report.set("agents", len(x.agents))
	r.report.set("joined_p50_ms", x.joined.percentile(0.50))
	r.report.set("joined_p99_ms", x.joined.percentile(0.99))
	r.report.set("joined_max_ms", x.joined.max())
}

// tail gives the end of a log.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// RunAgent is the process of an agent of the benchmark: it joins, waits, completes
// what it is given, and leaves when ctx ends. With BENCH_LEDGER it keeps a
// ledger in that folder.
func RunAgent(ctx context.Context, addrs []string, getenv func(string) string) error {
	cfg, err := client.WorkerFromEnv(getenv)
	if err != nil {
		return err
	}
	if err := keepLedger(ctx, cfg, getenv); err != nil {
		return err
	}
	cfg.MaxWait = 10 * time.Minute
	c, err := client.Open(client.Config{Addrs: addrs, Name: AgentCommand})
	if err != nil {
		return err
	}
	defer c.Close()
	return client.Work(ctx, c, cfg, func(context.Context, *client.Job) (string, error) { return "done", nil })
}
