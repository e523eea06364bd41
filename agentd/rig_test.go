package agentd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/agenttest"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// rig is a daemon with a scripted cluster, and the agents that it starts.
type rig struct {
	*fake
	dir       string
	agents    chan *agentTalk
	log       *lockedBuffer
	clock     *atomic.Int64 // how far the clock is ahead of the real one; nil: real
	ahead     string        // the same, in a file for shims
	advancing sync.Mutex
	shims     launcher     // nil: real ones
	end       func() error // ends the daemon and gives what Run returned
	stream    *fakeStream
}

// agentTalk is the test's end of the socket of one test agent.
type agentTalk struct {
	conn  net.Conn
	words chan string // closed at the end of the process
}

// pid waits for the agent's first words and gives its pid.
func (a *agentTalk) expect(t testing.TB, want string) (pid int) {
	t.Helper()
	for {
		words := next(t, a.words)
		if words == "" {
			t.Fatalf("the agent ended before it said %q", want)
		}
		var mode string
		fmt.Sscan(words, &mode, &pid)
		if strings.Contains(words, want) {
			return pid
		}
	}
}

// gone waits for the end of the process.
func (a *agentTalk) gone(t testing.TB) {
	t.Helper()
	for next(t, a.words) != "" {
	}
}

// newRig starts a daemon. script is the TEST_AGENT of each runner.
func newRig(t testing.TB, ttl time.Duration, fakeClock bool, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{fake: newFake(t, ttl), dir: t.TempDir(), agents: make(chan *agentTalk, 100), log: &lockedBuffer{}}
	socket := r.listen(t)
	r.configure(t, fakeClock, append([]func(*Config){func(c *Config) { c.Runners = testRunners(socket) }},
		change...)...)
	return r
}

// configure starts the daemon and waits for its stream.
func (r *rig) configure(t testing.TB, fakeClock bool, change ...func(*Config)) {
	t.Helper()
	config := Config{DataDir: r.dir, Name: "h1", Conn: r.conn, Addrs: []string{"127.0.0.1:7420"},
		Seams: Seams{Boot: "boot-1"}, Version: "test", Shim: shimCommand(), Stops: Stops{OnStop: End},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: r.log})}
	if fakeClock {
		r.clock, r.ahead = &atomic.Int64{}, filepath.Join(t.TempDir(), "ahead")
		config.Clock = r.now
		config.Shim = append(config.Shim, r.ahead)
	}
	for _, f := range change {
		f(&config)
	}
	r.run(t, config)
	r.stream = next(t, r.streams)
}

// now is what the clock says.
func (r *rig) now() time.Duration { return shim.BootClock() + time.Duration(r.clock.Load()) }

func testRunner(mode, socket string) runner.Runner {
	return runner.Runner{Name: mode, Program: agenttest.Program(), User: runner.SameUser(),
		// Under the race detector a program takes a second to exit, unless told not to.
		Env: map[string]string{"TEST_AGENT": mode, "TEST_SOCKET": socket, "GORACE": "atexit_sleep_ms=0"}}
}

// run starts the daemon and sees to its end.
func (r *rig) run(t testing.TB, config Config) {
	t.Helper()
	a, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	if r.shims != nil {
		a.shims = r.shims
	}
	ctx, cancel := context.WithCancel(context.Background())
	var result error
	var tasks sync.WaitGroup
	tasks.Go(func() { result = a.Run(ctx) })
	r.end = func() error {
		cancel()
		tasks.Wait()
		return result
	}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
}

// listen accepts the test agents.
func (r *rig) listen(t testing.TB) string {
	t.Helper()
	// Not TempDir: its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	ended := make(chan struct{}) // a test that has failed leaves agents that talk on
	tasks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { <-ended; conn.Close() })
			a := &agentTalk{conn: conn, words: make(chan string, 100)}
			r.agents <- a
			tasks.Go(func() {
				defer close(a.words)
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				lines.Buffer(nil, 1<<20)
				for lines.Scan() {
					a.words <- lines.Text()
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(ended)
		tasks.Wait()
		os.RemoveAll(dir)
	})
	return path
}

// start has a runner's agent started and gives it.
func (r *rig) start(t testing.TB, mode string, agent uint32, inc uint64) *agentTalk {
	t.Helper()
	r.stream.orders(t, order("start", agent, inc, mode))
	a := next(t, r.agents)
	a.expect(t, "up")
	if s := next(t, r.starts); s.GetAgent() != agent || s.GetIncarnation() != inc || s.GetHost() != 7 {
		t.Fatalf("start report %v", s)
	}
	return a
}

func order(kind string, agent uint32, inc uint64, runner string) *vigilv1.Order {
	return &vigilv1.Order{Kind: kind, Agent: agent, AgentName: fmt.Sprintf("demo/r%d", agent), Incarnation: inc,
		Runner: runner, StopGrace: durationpb.New(20 * time.Second), Proof: "process"}
}

// advance moves the clock.
func (r *rig) advance(d time.Duration) {
	r.advancing.Lock()
	defer r.advancing.Unlock()
	text := time.Duration(r.clock.Add(int64(d))).String()
	if err := errors.Join(os.WriteFile(r.ahead+".new", []byte(text), 0o600),
		os.Rename(r.ahead+".new", r.ahead)); err != nil {
		panic(err)
	}
}

// shimCommand runs the program of these tests as a shim.
func shimCommand() []string { return []string{agenttest.Program(), "shim"} }

// until waits for something that tells nobody when it happens.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	agenttest.Until(t, patience, 2*time.Millisecond, what, ok)
}

// state is the kernel's letter for the state of a process; 0: gone.
func state(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return text[bytes.LastIndexByte(text, ')')+2]
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
