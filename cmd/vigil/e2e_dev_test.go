//go:build linux

package main_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// demo is a running `vigil dev`.
type demo struct {
	*testFleet
	*proc
	text string // its greeting
	dir  string
}

func newDemo(t *testing.T, args ...string) *demo {
	t.Helper()
	vigil(t)
	setenv(t, "TMPDIR", t.TempDir()) // a demo that is killed leaves its folder
	if getenv(t, "XDG_CONFIG_HOME") == noContexts {
		setenv(t, "XDG_CONFIG_HOME", t.TempDir()) // each demo is the selected one for its own test
	}
	p := spawn(t, "dev", append([]string{"dev", "--every", "0", "--port", "0"}, args...)...)
	d := &demo{proc: p, text: p.shows(regexp.MustCompile(`Ctrl-C ends everything`))}
	t.Log(strings.SplitN(d.text, "\n", 2)[0])
	d.dir = d.find(`files and logs +(\S+)`)
	self, err := trust.Dir(filepath.Join(d.dir, "identity")).Holder()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(client.Config{Addrs: []string{d.find(`https://(\S+)/`)}, TLS: self.Client(nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	d.testFleet = &testFleet{t: t, fleet: vigilv1.NewFleetClient(c), status: vigilv1.NewClusterClient(c)}
	return d
}

// find gives the group of the first match in the greeting.
func (d *demo) find(pattern string) string {
	d.proc.t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(d.text)
	if m == nil {
		d.proc.t.Fatalf("the greeting lacks %s:\n%s", pattern, d.text)
	}
	return m[1]
}

func (d *demo) pid(pattern string) int {
	d.proc.t.Helper()
	n, _ := strconv.Atoi(d.find(pattern)) // the pattern has digits only
	return n
}

func (d *demo) kill(pid int) {
	d.proc.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		d.proc.t.Fatal(err)
	}
}

// quit ends the demo and looks for what it has left behind.
func (d *demo) quit() {
	t := d.proc.t
	t.Helper()
	d.leave()
	if _, err := os.Stat(d.dir); !os.IsNotExist(err) {
		t.Errorf("folder %s is left behind (%v)", d.dir, err)
	}
}

// leave ends the demo, of which the folder may stay, and looks for processes that it has left behind.
func (d *demo) leave() {
	t := d.proc.t
	t.Helper()
	d.signal(syscall.SIGINT)
	if code := d.end(); code != 0 {
		t.Fatalf("dev ended with %d", code)
	}
	if left := relatedTo(d.dir); len(left) > 0 {
		t.Errorf("processes are left behind: %v", left)
	}
}

// relatedTo lists the processes that have a folder in their arguments, environment
// or as current folder: daemons, agents and shims of a demo.
func relatedTo(dir string) (left []string) {
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is correct
	for _, at := range all {
		if at == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(at + "/cmdline") // what ends meanwhile is empty
		env, _ := os.ReadFile(at + "/environ")
		cwd, _ := os.Readlink(at + "/cwd")
		if strings.Contains(string(line)+string(env)+cwd, dir) {
			left = append(left, filepath.Base(at)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

func TestDevComesUpAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	if n := len(regexp.MustCompile(`pid +\d+`).FindAllString(d.text, -1)); n < 9 {
		t.Fatalf("%d processes in the greeting, want 3 servers, 2 daemons and 4 agents:\n%s", n, d.text)
	}
	if n := len(relatedTo(d.dir)); n < 3+2+2*4 {
		t.Fatalf("%d processes run, want 3 servers, 2 daemons, 4 shims and 4 agents at least", n)
	}
	if !strings.Contains(d.text, "5 agents") ||
		!regexp.MustCompile(`agent vet +starts when`).MatchString(d.text) || strings.Contains(d.text, "export ") {
		t.Errorf("the greeting counts other agents than README, or wants something exported:\n%s", d.text)
	}
	if p := spawn(t, "status", "status"); p.end() != 0 || !strings.Contains(p.out.String(), "2 ready of 2") {
		t.Errorf("another terminal does not find the demo: %s", p.out.String())
	}
	if p := spawn(t, "start-host", "dev", "start-host", "west"); p.end() != 4 { // it is not off
		t.Errorf("another terminal does not find the demo's folder: %s", p.out.String())
	}
	d.shows(regexp.MustCompile(`task.completed +demo/words`))
	d.kill(d.pid(`kill -9 (\d+) +# an agent:`))
	d.shows(regexp.MustCompile(`agent.started +demo/\S+ #2`))
	d.kill(d.pid(`kill -9 (\d+) +# the leader`))
	d.shows(regexp.MustCompile(`server s\d has ended \(signal: killed\)`))
	task, err := d.fleet.CreateTask(d.ctx(),
		&vigilv1.CreateTaskRequest{Room: "demo", Role: "words", Title: "w", Text: "address.txt"})
	if err != nil {
		t.Fatal(err)
	}
	d.completed(task.GetId())
	d.quit()
	if p := spawn(t, "contexts", "context", "list"); p.end() != 0 ||
		!strings.Contains(p.out.String(), "There are no contexts") {
		t.Errorf("the demo has left its context behind: %s", p.out.String())
	}
}

// A demo believes nobody without an identity, whoever it is, and a folder that is kept is founded once: its
// second run has the same root, and gives a host that is new an identity too.
func TestDevHasIdentities(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	d := newDemo(t, "--data-dir", dir)
	addr := d.find(`https://(\S+)/`)
	stranger := filepath.Join(t.TempDir(), "config")
	ask := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), vigil(t), args...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+stranger, "VIGIL_ADDR=", "VIGIL_CONTEXT=")
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("vigil %v answers a stranger: %s", args, out)
		}
		return string(out)
	}
	if out := ask("status", "--addr", addr); !strings.Contains(out, "speaks TLS") ||
		!strings.Contains(out, "vigil login TOKEN") {
		t.Errorf("a stranger hears %s", out)
	}
	resp, err := http.Get("http://" + addr + "/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "https://") {
		t.Errorf("HTTP in clear gets %d %s (%v)", resp.StatusCode, text, err)
	}
	root := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "identity", "roots.crt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := root()
	d.leave()
	again := newDemo(t, "--data-dir", dir, "--hosts", "3")
	again.ready("north")
	if root() != before {
		t.Error("the second run has another root")
	}
	again.leave()
}

// Of a demo that is killed nothing is left: its agents, which would stay frozen for ever, end when no
// daemon comes for them.
func TestDevKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	d.kill(d.proc.cmd.Process.Pid)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left := relatedTo(d.dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left behind: %v", left)
		}
	}
}

// Agents outlive their daemon, also when it is not there at the end (L10).
func TestDevAgentdDiesAndAgentsGoOn(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	before := d.lives("")
	d.kill(d.pid(`kill -9 (\d+) +# agentd of east`))
	d.shows(regexp.MustCompile(`agentd of east runs again`))
	// It has adopted them when the cluster can stop one through it and start its next life.
	var name string
	for agent, life := range before {
		if life.host == "east" && agent != "demo/vet" {
			name = agent
		}
	}
	if _, err := d.fleet.RestartAgent(d.ctx(), &vigilv1.RestartAgentRequest{Agent: name, By: "test"}); err != nil {
		t.Fatal(err)
	}
	d.shows(regexp.MustCompile(`agent.started +` + name + ` #2`))
	for agent, life := range d.lives("") {
		if was := before[agent]; agent != name && agent != "demo/vet" && was != life {
			t.Errorf("%s was %+v and is %+v", agent, was, life)
		}
	}
	d.kill(d.pid(`host west +pid (\d+)`))
	d.shows(regexp.MustCompile(`agentd of west has ended`))
	d.quit()
}

// A host that dies takes nothing with it but its own: its agents live on elsewhere,
// and it is used again when it is back.
func TestDevHostDiesAndComesBack(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	host := func(verb, name, want string) {
		t.Helper()
		p := spawn(t, verb, "dev", verb, name, "--data-dir", d.dir)
		if code := p.end(); code != 0 || !regexp.MustCompile(want).MatchString(p.out.String()) {
			t.Fatalf("%s ended with %d: %s", verb, code, p.out.String())
		}
	}
	d.heard("west")
	before := d.lives("")
	host("kill-host", "west", `host west is off until .*: 1 daemon, [23] shims and [2-9]`)
	if left := relatedTo(filepath.Join(d.dir, "west")); len(left) > 0 {
		t.Errorf("host west is off, but there is still %v", left)
	}
	for agent, life := range before {
		if life.host == "west" && alive(life.pid) {
			t.Errorf("host west is off, but %s still runs", agent)
		}
		if life.host == "east" && agent != "demo/vet" && !alive(life.pid) {
			t.Errorf("%s does not run any more, but its host is east", agent)
		}
	}
	d.shows(regexp.MustCompile(`host.surrendered +west`)) // checksum is fast
	d.shows(regexp.MustCompile(`agent.started +demo/checksum\S* #2`))
	d.shows(regexp.MustCompile(`agent.started +demo/words\S* #2`)) // words is fenced
	d.shows(regexp.MustCompile(`host.lost +west`))

	host("start-host", "west", "host west is on again")
	d.ready("west")
	if _, err := d.fleet.DrainHost(d.ctx(), &vigilv1.DrainHostRequest{Host: "east", By: "test"}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); len(d.lives("west")) < 4; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("east is drained, but west has only %v", d.lives("west"))
		}
	}
	d.quit()
}

// devLife is where an agent lives.
type devLife struct {
	host string
	pid  int
	inc  string
}

// lives gives the running agents, of one host when it is named.
func (d *demo) lives(host string) map[string]devLife {
	d.proc.t.Helper()
	list, err := d.fleet.ListAgents(d.ctx(), &vigilv1.ListAgentsRequest{Room: "demo"})
	if err != nil {
		d.proc.t.Fatal(err)
	}
	all := map[string]devLife{}
	for _, a := range list.GetAgents() {
		if a.GetPid() != 0 && (host == "" || host == a.GetHost()) {
			all[a.GetName()] = devLife{a.GetHost(), int(a.GetPid()), a.GetIncarnation()}
		}
	}
	return all
}

// heard waits until the servers hear a host on its stream and in gossip: one that dies
// before that is not missed until its lease ends.
func (d *demo) heard(host string) {
	t := d.proc.t
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		h, err := d.fleet.GetHost(d.ctx(), &vigilv1.GetHostRequest{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		stream, gossip := 0, 0
		for _, v := range h.GetViews() {
			if v.GetStream() == "alive" {
				stream++
			}
			if v.GetGossip() == "alive" {
				gossip++
			}
		}
		if stream == 1 && gossip == 3 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("host %s is heard as %v", host, h.GetViews())
		}
	}
}

// ready waits until a host gets starts.
func (d *demo) ready(host string) {
	t := d.proc.t
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		h, err := d.fleet.GetHost(d.ctx(), &vigilv1.GetHostRequest{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		if h.GetState() == "ready" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("host %s is %s: %s", host, h.GetState(), h.GetSuspectWhy())
		}
	}
}
