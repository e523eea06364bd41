//go:build linux

package workload

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/freeport"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 90 * time.Second

var vigilFlag = flag.String("vigil", "", "program under test (default: it is built)")

// fleet is real servers and hosts on this machine, without namespaces.
type fleet struct {
	t             *testing.T
	folder        string
	vigil, ticker string
	api, raft     []string
	servers       []*child
	hosts         []*child
}

// child is a process.
type child struct {
	cmd  *exec.Cmd
	out  output
	done chan struct{}
}

// output is what a process has said.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.text.String()
	return s[max(0, len(s)-3000):]
}

// newFleet builds the programs and starts three servers and two hosts.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, folder: t.TempDir()}
	f.vigil, f.ticker = filepath.Join(f.folder, "vigil"), filepath.Join(f.folder, "ticker")
	packages := map[string]string{f.vigil: "vigil/cmd/vigil", f.ticker: "vigil/jepsen/ticker"}
	if *vigilFlag != "" {
		delete(packages, f.vigil)
		f.vigil = *vigilFlag
	}
	for program, pkg := range packages {
		if out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", pkg, err, out)
		}
	}
	if err := os.Mkdir(f.ledger(), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	for range 3 {
		f.api, f.raft = append(f.api, freePort(t)), append(f.raft, freePort(t))
	}
	for i := range 3 {
		f.servers = append(f.servers, f.server(i))
	}
	for i := range 2 {
		f.hosts = append(f.hosts, f.host(i))
	}
	return f
}

func (f *fleet) ledger() string { return filepath.Join(f.folder, "ledger") }

// freePort gives an address on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	addrs, err := freeport.Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// server starts server i, for the first time or again.
func (f *fleet) server(i int) *child {
	f.t.Helper()
	enters := "found: true"
	if i > 0 {
		enters = fmt.Sprintf("join: [%q]", f.api[0])
	}
	name := fmt.Sprintf("s%d", i+1)
	return f.start(name, "server", fmt.Sprintf(`id: %s
data_dir: %q
addr: %q
raft_addr: %q
insecure: true
log_level: info
%s
settings: {ttl: 2s, host_ttl: 2s, accept_limit: 3s, stop_grace: 400ms, breaker_starts: "1000", breaker_window: 5s, healthy_after: 2s,
  brake_agents: "0", flap_limit: "0", starts_per_host: "20", starts_per_second: "100"}
`, name, filepath.Join(f.folder, name), f.api[i], f.raft[i], enters))
}

func (f *fleet) host(i int) *child {
	f.t.Helper()
	name, account := fmt.Sprintf("h%d", i+1), ""
	if os.Geteuid() == 0 {
		account = "root"
	}
	return f.start(name, "agentd", fmt.Sprintf(`servers: ["%s"]
insecure: true
data_dir: %q
name: %s
on_stop: end
log_level: info
runners:
  - {name: ticker, program: %q, user: %q, env: {TICKER_LEDGER: %q, TICKER_HOST: %s}}
`, strings.Join(f.api, `", "`), filepath.Join(f.folder, name), name, f.ticker, account, f.ledger(), name))
}

// start starts the program in one of its roles.
func (f *fleet) start(name, role, config string) *child {
	f.t.Helper()
	file := filepath.Join(f.folder, name+".yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		f.t.Fatal(err)
	}
	c := &child{cmd: exec.Command(f.vigil, role, "--config", file), done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal follows this thread
		defer close(c.done)
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // nobody asks how it ended
		}
	}()
	if err := <-started; err != nil {
		f.t.Fatalf("start %s: %v", name, err)
	}
	return c
}

// kill ends a process and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // or it is gone
	<-c.done
}

// close ends everything, also agents that outlive their host.
func (f *fleet) close() {
	for _, h := range f.hosts {
		_ = h.cmd.Process.Signal(syscall.SIGTERM) // it ends its agents
	}
	for _, h := range f.hosts {
		select {
		case <-h.done:
		case <-time.After(patience):
			f.t.Errorf("a host does not end:\n%s", h.out.tail())
			h.kill()
		}
	}
	for i, s := range f.servers {
		s.kill()
		if f.t.Failed() {
			f.t.Logf("output of server %d:\n%s", i+1, s.out.tail())
		}
	}
	lives, err := ledger.Read(f.ledger())
	if err != nil {
		f.t.Error(err)
	}
	for _, l := range lives {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.PID))
		if err == nil && exe == f.ticker {
			_ = syscall.Kill(l.PID, syscall.SIGKILL) // or it has ended just now
			for syscall.Kill(l.PID, 0) == nil {
				if st, err := os.ReadFile(fmt.Sprintf("/proc/%d/exe", l.PID)); errors.Is(err, os.ErrNotExist) &&
					st == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}
