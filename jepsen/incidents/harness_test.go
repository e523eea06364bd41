//go:build linux

package incidents

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/disk"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// patience is how long anything may take on a machine that is busy with other
// tests. Nothing is judged by how fast it was.
const patience = 60 * time.Second

// ttl of agents and hosts, unless a test says otherwise.
const ttl = 2 * time.Second

var (
	vigilFlag = flag.String("vigil", "", "program under test (default: it is built)")
	builtFlag = flag.String("programs", "", "folder with what stands run (default: it is built)")
	keepFlag  = flag.Bool("keep", false, "keep ledger and logs")
	allFlag   = flag.Bool("all", false, "also the rows that take long")
)

// tooSlow says why this program is not fit for a stand; empty: it is.
var tooSlow string

// settings keep what is tested elsewhere out of the way; a test that is about them
// sets them itself (see set).
var settings = map[string]string{
	"ttl": ttl.String(), "host_ttl": ttl.String(), "accept_limit": "3s", "stop_grace": "500ms",
	"starts_per_host": "20", "starts_per_second": "100", "brake_agents": "0", "flap_limit": "0",
	"breaker_starts": "20", "breaker_window": "5s", "breaker_pause": "10s", "healthy_after": "2s",
}

// timing keeps a leader for as long as nobody takes it away: six servers, six daemons and their agents share two cores,
// and with the default of 250 ms four leaders of five in a run had only waited for a processor.
var timing = map[string]string{"heartbeat": "500ms", "leader_lease": "500ms"}

// limits let servers take snapshots often.
var limits = map[string]string{"snapshot_entries": "2000", "trailing_logs": "500"}

// runners beside stand.Runner; they start tickers too.
var runners = map[string]string{
	"quota": `usage_limit: [{exit_code: 75, pattern: "try again in (?P<seconds>[0-9]+) seconds"}]`,
	"pty":   `pty: true`,
	"tmux":  `kind: tmux`,
	"small": `limits: {memory_max: 48MiB}`,
}

// shared is the stand that all tests use.
var shared struct {
	once   sync.Once
	stand  *stand.Stand
	conn   *client.Client
	folder string
	err    error
	failed bool
}

// The whole program, or each part, runs in a network namespace of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	if skipped() == "" && parted() {
		os.Exit(inParts())
	}
	os.Exit(stand.Inside(skipped(), func() int { return runAll(m) }))
}

// runAll runs the tests and takes the stand down after them.
func runAll(m *testing.M) int {
	code := m.Run()
	if shared.conn != nil {
		_ = shared.conn.Close() // nothing is under way
	}
	if shared.stand != nil {
		if err := shared.stand.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if shared.folder != "" && !shared.failed && !*keepFlag {
		_ = os.RemoveAll(shared.folder)
	}
	return code
}

// skipped says why nothing can be tried here; empty: it can.
func skipped() string {
	if testing.Short() {
		return "starts machines"
	}
	if tooSlow != "" {
		return tooSlow
	}
	return stand.Missing()
}

// slow leaves a row that takes long to runs of all rows.
func slow(t *testing.T, what string) {
	t.Helper()
	if !*allFlag {
		t.Skip("takes " + what + ": make incidents, or -all")
	}
}

func open() {
	if shared.folder, shared.err = os.MkdirTemp("", "vigil-incidents-"); shared.err != nil {
		return
	}
	if shared.err = os.Chmod(shared.folder, 0o711); shared.err != nil {
		return
	}
	config, err := programs(shared.folder)
	if err != nil {
		shared.err = err
		return
	}
	config.Folder, config.Servers, config.Hosts, config.Settings, config.Runners = shared.folder, 3, 3,
		settings, runners
	config.Timing = timing
	config.Limits, config.Disks = limits, disk.Missing() == ""
	config.Insecure = true // some read, hold and repeat calls on their way: see postman
	if *allFlag && *vigilFlag == "" {
		config.Vigil, config.Clocks = filepath.Join(shared.folder, "stepped"), true
		if shared.err = stand.BuildStepped(config.Vigil); shared.err != nil {
			return
		}
	}
	if shared.stand, shared.err = stand.Open(config); shared.err != nil {
		return
	}
	shared.conn, shared.err = client.Open(client.Config{Addrs: shared.stand.Addrs(),
		Name: "incidents", RetryFor: patience})
}

// programs puts what stands run into a folder, where tests find it by name.
func programs(folder string) (stand.Config, error) {
	if *builtFlag == "" {
		return stand.Build(folder, *vigilFlag)
	}
	built, here := stand.Built(*builtFlag, *vigilFlag), stand.Built(folder, *vigilFlag)
	err := errors.Join(os.Link(built.Ticker, here.Ticker), os.Link(built.Box, here.Box))
	if *vigilFlag == "" {
		err = errors.Join(err, os.Link(built.Vigil, here.Vigil))
	}
	return here, err
}

// world is the stand as one test uses it, with a room of its own. What it does to
// the machines ends with the test.
type world struct {
	*stand.Stand
	t       *testing.T
	name    string // of the room
	fleet   vigilv1.FleetClient
	cluster vigilv1.ClusterClient
	work    vigilv1.WorkClient
	pauses  []ledger.Pause
	seen    uint64 // event before the test
}

// fleet gives the stand to a test, healed and with a room name that nobody has used.
func fleet(t *testing.T) *world {
	t.Helper()
	if why := skipped(); why != "" {
		t.Skip(why)
	}
	shared.once.Do(open)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	name := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(t.Name(), "/", "-"), "Test"))
	w := &world{Stand: shared.stand, t: t, name: name[:min(len(name), 40)], fleet: vigilv1.NewFleetClient(shared.conn),
		cluster: vigilv1.NewClusterClient(shared.conn), work: vigilv1.NewWorkClient(shared.conn)}
	w.settled()
	w.seen = w.status().GetLastEvent()
	began := time.Now()
	t.Cleanup(func() {
		w.judge()
		w.clear()
		if t.Failed() {
			shared.failed = true
			t.Logf("ledger and logs are in %s", shared.folder)
		}
		t.Logf("took %s", time.Since(began).Round(100*time.Millisecond))
	})
	return w
}

// ctx bounds one step.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// settled waits until all servers and hosts are at work.
func (w *world) settled() {
	w.t.Helper()
	w.eventually("all servers and hosts are at work", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		st, err := w.cluster.Status(ctx, &vigilv1.StatusRequest{})
		if err != nil {
			return err
		}
		if len(st.GetServers()) != len(w.Servers) {
			return fmt.Errorf("%d servers", len(st.GetServers()))
		}
		for _, sv := range w.Servers {
			own, err := vigilv1.NewClusterClient(w.at(sv)).Status(ctx, &vigilv1.StatusRequest{Stale: true})
			if err != nil {
				return fmt.Errorf("server %s: %w", sv.Name, err)
			}
			if own.GetLeader() == "" || own.GetLeader() != st.GetLeader() {
				return fmt.Errorf("server %s takes %q for the leader, not %q", sv.Name, own.GetLeader(), st.GetLeader())
			}
		}
		for _, h := range w.Hosts {
			got, err := w.fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: h.Name})
			if err != nil {
				return err
			}
			if got.GetState() != "ready" || got.GetPressure() != "" {
				return fmt.Errorf("host %s is %s, %s %s", h.Name, got.GetState(), got.GetSuspectWhy(),
					got.GetPressure())
			}
		}
		return nil
	})
}

// clear deletes the room and waits until nothing of it runs.
func (w *world) clear() {
	w.t.Helper()
	_, err := w.fleet.DeleteRoom(w.ctx(), &vigilv1.DeleteRoomRequest{Room: w.name, By: "test"})
	if errors.Is(err, client.ErrNotFound) {
		return
	}
	if err != nil {
		w.t.Errorf("delete room: %v", err)
		return
	}
	w.eventually("the room is gone", func() error {
		_, err := w.fleet.GetRoom(w.ctx(), &vigilv1.GetRoomRequest{Room: w.name})
		if errors.Is(err, client.ErrNotFound) {
			return nil
		}
		return fmt.Errorf("it is there: %v; %s", err, w.describe())
	})
}

// judge holds the ledger of the test's agents against the laws.
func (w *world) judge() {
	w.t.Helper()
	var mine []*ledger.Life
	for _, l := range w.ledger() {
		if strings.HasPrefix(l.Agent, w.name+"/") {
			mine = append(mine, l)
		}
	}
	v := ledger.Judge(mine, ledger.Rules{Pauses: w.pauses, Slack: ttl,
		Fenced: func(agent string) bool { return !strings.HasPrefix(agent, w.name+"/fast") }})
	for _, f := range v.Broken() {
		w.t.Errorf("broken law: %s", f)
	}
}

func (w *world) ledger() []*ledger.Life {
	w.t.Helper()
	lives, err := ledger.Read(w.Ledger.Folder)
	if err != nil {
		w.t.Fatal(err)
	}
	return lives
}

// eventually waits until fn gives nil, for at most the patience of all tests.
func (w *world) eventually(what string, fn func() error) {
	w.t.Helper()
	eventually(w.t, patience, what, fn)
}

// eventually waits until fn gives nil; its last error says what is missing.
func eventually(t *testing.T, limit time.Duration, what string, fn func() error) {
	t.Helper()
	end := time.Now().Add(limit)
	for {
		err := fn()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// always looks again and again for so long: fn never gives an error.
func always(t *testing.T, span time.Duration, what string, fn func() error) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if err := fn(); err != nil {
			t.Fatalf("%s: not all the time: %v", what, err)
		}
	}
}

// at gives a plain connection to one server, which passes on what only the leader
// can do.
func (w *world) at(sv *stand.Server) *grpc.ClientConn {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+sv.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

// vigil runs a client command and gives its output, also that of errors, and code.
func (w *world) vigil(args ...string) (string, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.Program(), args...)
	cmd.Env = append(os.Environ(), "VIGIL_ADDR="+strings.Join(w.Addrs(), ","))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("vigil %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// log is the output of a program that the stand has started.
func (w *world) log(machine, name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(shared.folder, machine, name+".log"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) status() *vigilv1.StatusResponse {
	w.t.Helper()
	st, err := w.cluster.Status(w.ctx(), &vigilv1.StatusRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// leader is the server that leads at the moment.
func (w *world) leader() *stand.Server {
	w.t.Helper()
	var lead *stand.Server
	w.eventually("somebody leads", func() error {
		name := w.status().GetLeader()
		for _, sv := range w.Servers {
			if sv.Name == name {
				lead = sv
				return nil
			}
		}
		return fmt.Errorf("the leader is %q", name)
	})
	return lead
}

// host finds a host of the stand by its name.
func (w *world) host(name string) *stand.Host {
	w.t.Helper()
	for _, h := range w.Hosts {
		if h.Name == name {
			return h
		}
	}
	w.t.Fatalf("there is no host %q", name)
	return nil
}

// hostState is how the cluster sees a host.
func (w *world) hostState(h *stand.Host) *vigilv1.Host {
	w.t.Helper()
	got, err := w.fleet.GetHost(w.ctx(), &vigilv1.GetHostRequest{Host: h.Name})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}
