//go:build linux

package shim

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vigil/agentd/agenttest"
)

// patience is how long anything may take on a machine that is busy with other
// tests.
const patience = 60 * time.Second

// rig is a life folder, a clock, and a socket on which agents tell their tales.
type rig struct {
	t      *testing.T
	folder string
	clock  string
	bare   bool // without control groups
	socket string
	agents chan *agent
}

// agent is one process that has dialed the rig.
type agent struct {
	t     *testing.T
	mode  string
	pid   int
	conn  net.Conn
	lines chan string // closed at its end
}

// onEveryHost runs a test with control groups and without.
func onEveryHost(t *testing.T, test func(t *testing.T, r *rig)) {
	for name, bare := range map[string]bool{"groups": false, "no groups": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.bare = bare
			test(t, r)
		})
	}
}

func (r *rig) launcher() *Launcher {
	if r.bare {
		return launcher(r.clock, "bare")
	}
	return launcher(r.clock)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, folder: filepath.Join(dir, "7-3"), clock: filepath.Join(dir, "clock"),
		socket: filepath.Join(dir, "s"), agents: make(chan *agent, 16)}
	if len(r.socket) > 100 {
		r.socket = filepath.Join(os.TempDir(), fmt.Sprintf("vigil-%d-%d", os.Getpid(), time.Now().UnixNano()))
		t.Cleanup(func() { os.Remove(r.socket) })
	}
	if err := os.Mkdir(r.folder, 0o711); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { r.hear(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		// Whatever the test left running ends now.
		scans.Bury(markOf(r.folder), nil, func() {})
		until(t, "the end of the shim", func() bool { held, _ := locked(r.folder); return !held })
		Bury(r.folder, markOf(r.folder), func(string) {})
		tasks.Wait()
	})
	return r
}

func (r *rig) hear(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	a := &agent{t: r.t, conn: conn, lines: make(chan string, 1000)}
	defer close(a.lines)
	if n, _ := fmt.Sscanf(lines.Text(), "up %s %d", &a.mode, &a.pid); n != 2 {
		return
	}
	r.agents <- a
	for lines.Scan() {
		a.lines <- lines.Text()
	}
}

// advance moves the shim's clock, and nobody else's.
func (r *rig) advance(d time.Duration) {
	r.t.Helper()
	r.write(r.clock, strconv.FormatFloat((seconds(r.clock)+d).Seconds(), 'f', 3, 64))
}

// pass advances the clock and waits until the shim has looked at it.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.advance(d)
	until(r.t, "a look of the shim", func() bool { return seconds(r.clock+".seen") == seconds(r.clock) })
}

// sleep lets the machine sleep: time passes in which nothing runs.
func (r *rig) sleep(d time.Duration) {
	r.t.Helper()
	r.write(r.clock+".asleep", strconv.FormatFloat((seconds(r.clock+".asleep")+d).Seconds(), 'f', 3, 64))
	r.advance(d)
}

// now is the shim's clock.
func (r *rig) now() time.Duration { return shifted(r.clock)() }

func (r *rig) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) spec(mode string) Spec { return specFor(r.folder, mode, r.socket) }

func (r *rig) lock() *os.File {
	r.t.Helper()
	lock, err := takeLock(r.folder)
	if err != nil {
		r.t.Fatal(err)
	}
	return lock
}

// start starts an agent and waits until it and its children are up.
func (r *rig) start(spec Spec) (*Shim, *agent, []*agent) {
	r.t.Helper()
	s, err := r.launcher().Start(spec, r.lock())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.Close)
	first, children := r.up(strings.Count(spec.Env[0], "+"))
	return s, first, children
}

func (r *rig) up(more int) (first *agent, children []*agent) {
	r.t.Helper()
	for range more + 1 {
		select {
		case a := <-r.agents:
			if a.mode == "deaf" && more > 0 {
				children = append(children, a)
			} else {
				first = a
			}
		case <-time.After(patience):
			r.t.Fatal("an agent does not come up")
		}
	}
	return first, children
}

// ask gives a word and waits until the agent has done it.
func (a *agent) ask(word string) {
	a.t.Helper()
	fmt.Fprintln(a.conn, word)
	a.await("did " + word)
}

// tell gives a word.
func (a *agent) tell(word string) { fmt.Fprintln(a.conn, word) }

func (a *agent) await(want string) string {
	a.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				a.t.Fatalf("agent %s has ended; %q was awaited", a.mode, want)
			}
			if strings.HasPrefix(line, want) {
				return line
			}
		case <-deadline:
			a.t.Fatalf("agent %s does not say %q", a.mode, want)
		}
	}
}

// ended waits for the end of the agent.
func (a *agent) ended() {
	a.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case _, ok := <-a.lines:
			if !ok {
				return
			}
		case <-deadline:
			a.t.Fatalf("agent %s lives on", a.mode)
		}
	}
}

// wait waits for the end of a life.
func wait(t *testing.T, s *Shim) Exit {
	t.Helper()
	got := make(chan Exit, 1)
	go func() { got <- s.Wait(func(string) {}) }()
	select {
	case exit := <-got:
		return exit
	case <-time.After(patience):
		t.Fatal("the life does not end")
	}
	return Exit{}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	agenttest.Until(t, patience, 2*time.Millisecond, what, ok)
}

// frozen tells whether a process is kept from running.
func frozen(s *Shim, pid int) bool {
	for _, group := range s.started.Groups {
		text, err := os.ReadFile(filepath.Join(group, "cgroup.events"))
		if err == nil && strings.Contains(string(text), "frozen 1") {
			return true
		}
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "T")
}

// daemon starts a shim from another process, which can be killed.
func (r *rig) daemon(mode string) (cmd *exec.Cmd) {
	r.t.Helper()
	cmd = exec.Command(os.Args[0], append([]string{"daemon", r.folder}, r.launcher().Command[2:]...)...)
	cmd.Env = append(os.Environ(), "TEST_MODE="+mode, "TEST_SOCKET="+r.socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "started ") {
		r.t.Fatalf("daemon: %q %v", line, err)
	}
	return cmd
}

func (r *rig) logged() string {
	text, _ := os.ReadFile(filepath.Join(r.folder, "logs", "demo", "builder.log"))
	return string(text)
}
