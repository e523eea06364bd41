//go:build linux

package main_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	marks "vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/rpc/client"
	"vigil/rpc/freeport"
	"vigil/rpc/gen/vigilv1"
)

// patience is how long anything may take on a machine that is busy with other
// tests; what is measured is logged.
const patience = 90 * time.Second

// program is the binary under test, built by whoever asks first.
var program struct {
	once sync.Once
	dir  string
	err  error
}

// rests gives pauses that grow to a second: for waits in which each look runs the program, which takes from the
// processor what the waited-for work needs.
func rests() func() {
	pause := 100 * time.Millisecond
	return func() {
		time.Sleep(pause)
		pause = min(2*pause, time.Second)
	}
}

// sideBySide is how many tests of real processes run at once: they wait more than they work.
const sideBySide = "6"

// noContexts is a folder that does not exist: what whoever runs the tests has selected is no
// business of theirs.
const noContexts = "/nonexistent/vigil-tests"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == spanTool {
		os.Exit(tellSpan(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == asFirst {
		beFirst(os.Args[2:])
	}
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) { // its default
		_ = flag.Set("test.parallel", sideBySide) // a number
	}
	_ = os.Setenv("XDG_CONFIG_HOME", noContexts) // a name and a value that are possible
	code := m.Run()
	if program.dir != "" {
		_ = os.RemoveAll(program.dir)
	}
	os.Exit(code)
}

// vigil gives the path of the program.
func vigil(t *testing.T) string {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("starts real processes, which the race detector does not see")
	}
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "vigil-e2e-"); program.err != nil {
			return
		}
		began := time.Now()
		defer func() { t.Logf("program built in %s", time.Since(began)) }()
		out, err := exec.Command("go", "build", "-o", filepath.Join(program.dir, "vigil"), ".").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("build: %w: %s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, "vigil")
}

// proc is a process of the program with its output.
type proc struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	out  lockedBuffer
	done chan struct{} // closed when it has ended
}

// spawn starts the program; it is killed at the end of the test if it still runs.
func spawn(t *testing.T, name string, args ...string) *proc {
	t.Helper()
	p, err := run(t, name, exec.Command(vigil(t), args...))
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	return p
}

// run is spawn for a command that may bring attributes of its own.
func run(t *testing.T, name string, cmd *exec.Cmd) (*proc, error) {
	t.Helper()
	p := &proc{t: t, name: name, cmd: cmd, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environ(t), &p.out, &p.out
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid, p.cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal follows this thread
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the state is looked at below
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.out.tail())
		}
	})
	return p, nil
}

func (p *proc) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// end waits for the end and gives the exit code, -1 after a signal.
func (p *proc) end() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%s does not end", p.name)
		return 0
	}
}

// lockedBuffer is written by a process and read by the test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *lockedBuffer) tail() string {
	s := b.String()
	return s[max(0, len(s)-6000):]
}

// testFleet is three servers, or one, a host and a client.
type testFleet struct {
	t       *testing.T
	dir     string
	api     []string
	raft    []string
	servers []*proc
	agentd  *proc
	// terminals is the agentd of the other host that newTerminalCrew starts.
	terminals *proc
	client    *client.Client
	fleet     vigilv1.FleetClient
	status    vigilv1.ClusterClient
	seen      uint64   // last event that was waited for
	front     []string // where clients are told to find the servers, when not at api
	behind    []string // where servers listen for each other, when not at raft
	config    string   // file of all servers; empty: none
	founded   bool     // the first server has been started
}

// alone has a fleet of one server: for tests that are about agents, and ask nothing of a second one.
func alone(f *testFleet) { f.api, f.raft = f.api[:1], f.raft[:1] }

// newFleet starts everything; the host has the runners "checksum" and "words".
// What has to be known before the servers start is set by before.
func newFleet(t *testing.T, before ...func(*testFleet)) *testFleet {
	t.Helper()
	f := &testFleet{t: t, dir: t.TempDir()}
	for range 3 {
		f.api, f.raft = append(f.api, freePort(t)), append(f.raft, freePort(t))
	}
	for _, set := range before {
		set(f)
	}
	for i := range f.api {
		f.servers = append(f.servers, f.startServer(i))
	}
	f.write("input/poem.txt", strings.Repeat("look on my works ye mighty and despair\n", 50))
	var runners strings.Builder
	for _, role := range []string{"checksum", "words"} {
		fmt.Fprintf(&runners, "  - {name: %s, program: %q, user: %q, args: [dev-agent, %s, --files, %q]}\n",
			role, vigil(t), runner.SameUser(), role, f.path("input"))
	}
	f.write("agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h1\non_stop: end\nrunners:\n%s",
		strings.Join(f.api, ", "), f.path("host"), runners.String()))
	f.agentd = spawn(t, "agentd", "agentd", "--config", f.path("agentd.yaml"))
	t.Cleanup(func() { f.clear("host", f.agentd) })
	c, err := client.Open(client.Config{Addrs: f.api, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	f.client, f.fleet, f.status = c, vigilv1.NewFleetClient(c), vigilv1.NewClusterClient(c)
	f.voters(len(f.api))
	return f
}

// voters waits until so many servers have a vote.
func (f *testFleet) voters(want int) {
	f.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n := 0
		list, err := f.status.ListServers(f.ctx(), &vigilv1.ListServersRequest{})
		for _, s := range list.GetServers() {
			if s.GetVoter() {
				n++
			}
		}
		if n == want {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%d of %d servers have a vote: %v", n, want, err)
		}
	}
}

// clear ends what a host has left: its agents outlive agentd, and a test that fails
// tells nobody to stop. Nothing of it runs when it returns.
func (f *testFleet) clear(dataDir string, agentd *proc) {
	agentd.signal(syscall.SIGKILL)
	<-agentd.done
	key, err := os.ReadFile(f.path(dataDir + "/host_key"))
	if err != nil {
		return // it never got that far
	}
	mark := []byte(marks.EnvMark + "=" + marks.HostMark(strings.TrimSpace(string(key))) + "-")
	calm := 0 // looks in a row: one that was just forked shows neither lock nor mark yet
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left := f.shims(dataDir)
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, mark) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				left = append(left, pid)
			}
		}
		if calm++; len(left) > 0 {
			calm = 0
		}
		if calm == 5 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // or it is gone
		}
	}
	f.t.Errorf("processes of %s cannot be killed", dataDir)
}

// shims gives the processes that run with a life folder of the host: they hold its
// lock, whether they have come as far as a record or not.
func (f *testFleet) shims(dataDir string) (pids []int) {
	locks, _ := filepath.Glob(f.path(dataDir + "/lives/*/lock"))
	if len(locks) == 0 {
		return nil
	}
	held := map[string]bool{}
	for _, lock := range locks {
		held[lock] = true
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && held[to] {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// startServer starts server i, for the first time or again.
func (f *testFleet) startServer(i int) *proc {
	f.t.Helper()
	id := fmt.Sprintf("s%d", i+1)
	args := []string{"server", "--insecure", "--id", id, "--data-dir", f.path(id), "--addr", f.api[i],
		"--raft-addr", f.raft[i], "--log-level", "info"}
	if i == 0 && !f.founded {
		args, f.founded = append(args, "--found"), true
	} else {
		args = append(args, "--join", strings.Join(append(f.api[:i:i], f.api[i+1:]...), ","))
	}
	if f.front != nil {
		args = append(args, "--advertise-addr", f.front[i])
	}
	if f.behind != nil {
		args = append(args, "--raft-bind", f.behind[i])
	}
	if f.config != "" {
		args = append(args, "--config", f.config)
	}
	return spawn(f.t, id, args...)
}

func (f *testFleet) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *testFleet) write(name, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// ctx bounds one step.
func (f *testFleet) ctx() context.Context {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	f.t.Cleanup(cancel)
	return ctx
}

// apply declares a room with one agent a role.
func (f *testFleet) apply(room string, roles ...string) {
	f.t.Helper()
	req := &vigilv1.ApplyRoomRequest{Room: room, By: "test"}
	for _, r := range roles {
		req.Roles = append(req.Roles, &vigilv1.RoleSpec{Name: r, Runner: r, Replicas: 1,
			StopGrace: durationpb.New(2 * time.Second)})
	}
	if _, err := f.fleet.ApplyRoom(f.ctx(), req); err != nil {
		f.t.Fatalf("apply room: %v", err)
	}
}

// create creates a task about the poem.
func (f *testFleet) create(role string) uint64 {
	f.t.Helper()
	room, role, _ := strings.Cut(role, "/")
	task, err := f.fleet.CreateTask(f.ctx(), &vigilv1.CreateTaskRequest{Room: room, Role: role,
		Title: "poem", Text: "poem.txt", By: "test"})
	if err != nil {
		f.t.Fatalf("create task: %v", err)
	}
	return task.GetId()
}

// await reads the history on until an event fits; earlier ones are passed over.
func (f *testFleet) await(what string, fits func(*vigilv1.Event) bool) *vigilv1.Event {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		stream, err := f.fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{After: f.seen})
		for err == nil {
			var e *vigilv1.Event
			if e, err = stream.Recv(); err == nil {
				f.seen = e.GetSeq()
				if fits(e) {
					return e
				}
			}
		}
		last = err // a server was lost; the next one goes on from there
	}
	f.t.Fatalf("%s: not seen within %s (last: %v)", what, patience, last)
	return nil
}

// completed waits for the completion of a task.
func (f *testFleet) completed(task uint64) {
	f.t.Helper()
	f.await(fmt.Sprintf("completion of task %d", task), func(e *vigilv1.Event) bool {
		return e.GetKind() == "task.completed" && e.GetTask() == task
	})
}

// agent asks for one agent.
func (f *testFleet) agent(name string) *vigilv1.Agent {
	f.t.Helper()
	got, err := f.fleet.GetAgent(f.ctx(), &vigilv1.GetAgentRequest{Agent: name})
	if err != nil {
		f.t.Fatalf("get agent %s: %v", name, err)
	}
	return got.GetAgent()
}

// joined waits until an agent is a participant under another incarnation than the
// one given.
func (f *testFleet) joined(name, not string) *vigilv1.Agent {
	f.t.Helper()
	f.await("join of "+name, func(e *vigilv1.Event) bool {
		return e.GetKind() == "agent.joined" && e.GetAgent() == name && e.GetIncarnation() != not
	})
	return f.agent(name)
}

// leader gives the number of the server that leads.
func (f *testFleet) leader() int {
	f.t.Helper()
	st, err := f.status.Status(f.ctx(), &vigilv1.StatusRequest{})
	if err != nil {
		f.t.Fatalf("status: %v", err)
	}
	for i := range f.servers {
		if st.GetLeader() == fmt.Sprintf("s%d", i+1) {
			return i
		}
	}
	f.t.Fatalf("the leader is %q", st.GetLeader())
	return 0
}

// freePort gives an address on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	addrs, err := freeport.Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}
