package agentd

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/agentd/agenttest"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
)

// daemonSpec is what a daemon in a process of its own is told, in TEST_AGENTD.
type daemonSpec struct {
	Dir, Cluster, Agents string // data directory, sockets of the fake cluster and of the agents
	OnStop               OnStop
	Point                string // where it dies by SIGKILL
	After                int    // the how many-th time; 0: the first
	Boot                 string
	Forward              string // of telemetry; empty: to nobody
}

// beDaemon is the daemon: this test binary, started again.
func beDaemon(text string) {
	var spec daemonSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	point = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if name == spec.Point {
			if spec.After--; spec.After <= 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // it is delivered before this thread runs on
			}
		}
	}
	conn, err := grpc.NewClient("unix://"+spec.Cluster, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	a, err := Open(Config{DataDir: spec.Dir, Name: "h1", Conn: conn, Addrs: []string{"127.0.0.1:7420"},
		Seams: Seams{Boot: spec.Boot}, TelemetryForward: spec.Forward,
		Shim: shimCommand(), Stops: Stops{OnStop: spec.OnStop}, Offer: Offer{Runners: testRunners(spec.Agents)},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(os.Stderr, "ready")
	if err := a.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	os.Exit(0)
}

func testRunners(socket string) (all []runner.Runner) {
	for _, mode := range []string{"wait", "plain", "crash", "deaf", "fork", "env", "print"} {
		all = append(all, testRunner(mode, socket))
	}
	tells := testRunner("tells", socket)
	tells.Telemetry = true
	return append(all, tells,
		runner.Runner{Name: "sleep", Program: "sleep", User: runner.SameUser(), Args: []string{"600"}})
}

// daemon is a daemon in a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{} // closed when it has ended
}

// host is where daemons follow each other.
type host struct {
	*fake
	spec   daemonSpec
	agents chan *agentTalk
}

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{fake: newFake(t, time.Minute), agents: make(chan *agentTalk, 1000)}
	dir, err := os.MkdirTemp("", "v") // not TempDir: its path may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = h.server.Serve(listener) })
	t.Cleanup(func() { listener.Close(); tasks.Wait() })
	r := &rig{fake: h.fake, agents: h.agents}
	h.spec = daemonSpec{Dir: t.TempDir(), Cluster: filepath.Join(dir, "c"), Agents: r.listen(t), OnStop: Keep}
	t.Cleanup(func() { // a test that failed may leave agents
		for _, s := range startedIn(t, h.spec.Dir) {
			_ = syscall.Kill(s.Shim, syscall.SIGKILL)
		}
	})
	return h
}

// start starts a daemon; it is killed at the end of the test, and its agents with it.
func (h *host) start(t testing.TB, change ...func(*daemonSpec)) *daemon {
	t.Helper()
	spec := h.spec
	for _, f := range change {
		f(&spec)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{cmd: exec.Command(agenttest.Program()), log: &lockedBuffer{}, done: make(chan struct{})}
	d.cmd.Env = append(os.Environ(), "TEST_AGENTD="+string(text), "GORACE=atexit_sleep_ms=0")
	d.cmd.Stderr = d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	t.Cleanup(func() {
		d.kill(t)
		if t.Failed() {
			t.Logf("daemon:\n%s", d.log.String())
		}
	})
	return d
}

func (d *daemon) kill(t testing.TB) {
	t.Helper()
	_ = d.cmd.Process.Kill()
	next(t, d.done)
}

// stop tells the daemon to end and expects an orderly end.
func (d *daemon) stop(t testing.TB) {
	t.Helper()
	d.terminate(t)
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the daemon ended with %d:\n%s", code, d.log.String())
	}
}

// terminate tells the daemon to end and waits for that.
func (d *daemon) terminate(t testing.TB) {
	t.Helper()
	until(t, "the daemon is ready", func() bool { return contains(d.log, "ready\n") })
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	next(t, d.done)
}

// clear ends all agents of the host in an orderly way.
func (h *host) clear(t testing.TB) {
	t.Helper()
	drained(h.streams)
	d := h.start(t, func(s *daemonSpec) { s.OnStop = End })
	next(t, h.streams)
	d.stop(t)
	if left, _ := filepath.Glob(filepath.Join(h.spec.Dir, "lives", "*")); len(left) > 0 {
		t.Errorf("the journal still holds %v", left)
	}
}

// drained gives all that is in a channel by now.
func drained[T any](c <-chan T) (all []T) {
	for {
		select {
		case v := <-c:
			all = append(all, v)
		default:
			return all
		}
	}
}

// startedIn reads what the shims of a data directory have written down.
func startedIn(t testing.TB, dir string) (all []shim.Started) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "lives", "*", shim.StartedFile))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s shim.Started
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// copyTree copies a folder with all its plain files.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		switch {
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !e.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func contains(b *lockedBuffer, text string) bool { return strings.Contains(b.String(), text) }
