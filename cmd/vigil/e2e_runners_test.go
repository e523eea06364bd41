//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// termRunner claims, remembers and finishes tasks in a terminal.
const termRunner = `name: term
kind: tmux
program: sh
args:
  - -c
  - |
    while :; do
      vigil wait-for-task --start >task.txt || exit
      echo "a task came"
      vigil remember "life-$VIGIL_INCARNATION"
      vigil task complete "after <$2$VIGIL_RESUME>" || exit
    done
  - term
fresh_args: [x, fresh]
resume_args: [x, resumed]
`

// quotaRunner is out of quota as soon as it has a task.
const quotaRunner = `name: quota
program: sh
args: [-c, 'vigil wait-for-task --start >task.txt || exit; echo "try again in 7 minutes"; exit 75']
usage_limit:
  - {exit_code: 75, pattern: 'again in (?P<minutes>[0-9]+) minutes'}
`

// owned is a runner whose agents share the account of the test.
func owned(declared string) string { return declared + fmt.Sprintf("user: %q\n", runner.SameUser()) }

// Runners that are files: the shipped loop for a plain command, a tool that is out of
// quota, and a terminal that outlives agentd and can be attached to.
func TestRunnersOfAHost(t *testing.T) {
	t.Parallel()
	setenv(t, "PATH", filepath.Dir(vigil(t))+":"+os.Getenv("PATH"))
	setenv(t, "HOME", t.TempDir())
	f := newFleet(t)
	shipped, err := os.ReadFile("../../configs/runners.d/command.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.write("h2/runners.d/command.yaml", owned(strings.Replace(string(shipped), "user: vigil-agents", "", 1)))
	f.write("h2/runners.d/term.yaml", owned(termRunner))
	f.write("h2/runners.d/quota.yaml", owned(quotaRunner))
	f.write("h2/runners.d/ends.yaml", owned(strings.NewReplacer("user: vigil-agents", "", "name: command\n", "name: ends\n",
		"  - wc\n", "  - sh\n  - -c\n  - 'vigil task fail \"$VIGIL_TASK is too hard\" >&2; echo late'\n").
		Replace(string(shipped))))
	f.write("h2/runners.d/typo.yaml", "name: typo\nprogramm: sh\n")
	// The path of a terminal's socket must be short, and that of a test is not.
	data, err := os.MkdirTemp("", "h2-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	if err := os.Symlink(data, f.path("h2data")); err != nil {
		t.Fatal(err)
	}
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n",
		strings.Join(f.api, ", "), data))
	start := func() *proc { return spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml")) }
	agentd := start()
	t.Cleanup(func() { f.clear("h2data", agentd) })
	f.apply("demo", "command", "ends", "quota", "term")

	t.Run("a broken one takes no other with it", func(t *testing.T) {
		want := f.path("h2/runners.d/typo.yaml") + `:2:1: unknown key "programm"`
		check := spawn(t, "check", "agentd", "--config", f.path("h2/agentd.yaml"), "--check")
		if code := check.end(); code != 1 || !strings.Contains(check.out.String(), want) {
			t.Errorf("exit code %d:\n%s", code, check.out.String())
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			hosts, err := f.fleet.ListHosts(f.ctx(), &vigilv1.ListHostsRequest{})
			if err == nil &&
				strings.Contains(fmt.Sprint(hosts), "runner typo is not offered: "+
					strings.ReplaceAll(want, `"`, `\"`)) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("hosts %v, %v", hosts, err)
			}
		}
	})
	t.Run("command", func(t *testing.T) {
		if got := f.result(t, "command"); got != "1\n" { // one word
			t.Errorf("result %q", got)
		}
	})
	t.Run("a program that ends its task itself", func(t *testing.T) {
		var life string
		for range 2 { // by one life, which says no second word about either
			id := f.create("demo/ends")
			f.await("failure", func(e *vigilv1.Event) bool { return e.GetKind() == "task.failed" && e.GetTask() == id })
			task, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: id})
			if err != nil || task.GetResult() != fmt.Sprintf("%d is too hard", id) || len(task.GetLateResults()) > 0 ||
				life != "" && task.GetHolderIncarnation() != life {
				t.Errorf("life %s, %v, %v", life, task, err)
			}
			life = task.GetHolderIncarnation()
		}
		if g := f.agent("demo/ends"); g.GetFailures() != 0 {
			t.Errorf("%v", g)
		}
	})
	t.Run("out of quota", func(t *testing.T) {
		f.create("demo/quota")
		e := f.await("parking", func(e *vigilv1.Event) bool {
			return e.GetKind() == "agent.parked" &&
				e.GetAgent() == "demo/quota"
		})
		if g := f.agent("demo/quota"); !strings.Contains(fmt.Sprint(g, e), "usage limit") || g.GetFailures() != 0 {
			t.Errorf("%v, %v", e, g)
		}
	})
	t.Run("terminal", func(t *testing.T) {
		if _, err := exec.LookPath("tmux"); err != nil {
			t.Skip("there is no tmux")
		}
		f.terminal(t, data, agentd, start)
	})
}

// result has the only task of a role done.
func (f *testFleet) result(t *testing.T, role string) string {
	t.Helper()
	id := f.create("demo/" + role)
	f.completed(id)
	task, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: id})
	if err != nil {
		t.Fatal(err)
	}
	return task.GetResult()
}

// say runs a command at one server and gives what it prints.
func (f *testFleet) say(server int, args ...string) string {
	f.t.Helper()
	p := spawn(f.t, "vigil "+args[0], append(args, "--addr", f.api[server])...)
	if code := p.end(); code != 0 {
		f.t.Fatalf("%q at server %d ended with %d: %s", args, server, code, p.out.tail())
	}
	return p.out.String()
}

func (f *testFleet) terminal(t *testing.T, data string, agentd *proc, start func() *proc) {
	if got := f.result(t, "term"); got != "after <fresh>" {
		t.Errorf("result %q", got)
	}
	before := f.agent("demo/term")
	// A person looks into it from a terminal, which here is one of tmux too. Nothing else is typed for a minute where one
	// may type, so this one only looks on.
	outer := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", filepath.Join(data, "outer"), "-f", os.DevNull},
			args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	outer("new-session", "-d", vigil(t), "agent", "attach", "demo/term", "--data-dir", data, "--read-only",
		";", "set", "-g", "remain-on-exit", "on")
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", filepath.Join(data, "outer"), "kill-server").Run() // it may have ended
	})
	for end := time.Now().Add(patience); !strings.Contains(outer("capture-pane", "-p"),
		"a task came"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the terminal shows\n%s", outer("capture-pane", "-p"))
		}
	}
	// S9: nobody but attach itself has the person's terminal, least of all the agent's tmux.
	tty := strings.TrimSpace(outer("display-message", "-p", "#{pane_tty}"))
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == tty {
			pid := strings.Split(link, "/")[2]
			if line, _ := os.ReadFile("/proc/" + pid + "/cmdline"); !strings.Contains(string(line),
				"attach\x00demo/term") {
				t.Errorf("process %s (%q) has the terminal of the person", pid, line)
			}
		}
	}
	// From anywhere, through whatever server: what it shows, and a word into it.
	for i := range 3 {
		if screen := f.say(i, "agent", "screen", "demo/term"); !strings.Contains(screen, "a task came") {
			t.Errorf("through server %d the screen is %q", i, screen)
		}
		word := fmt.Sprintf("are you there, asks %d; $(id)", i)
		f.say(i, "nudge", "demo/term", word, "--why", "it looks idle")
		for end, rest := time.Now().Add(patience), rests(); !strings.Contains(f.say(i, "agent", "screen", "demo/term"),
			word); rest() {
			if time.Now().After(end) {
				t.Fatalf("%q was not typed: the screen is\n%s", word, f.say(i, "agent", "screen", "demo/term"))
			}
		}
	}
	f.await("the event", func(e *vigilv1.Event) bool {
		return e.GetKind() == "agent.nudged" && strings.Contains(e.GetText(), "it looks idle") &&
			!strings.Contains(fmt.Sprint(e), "are you there")
	})
	// agentd dies; the terminal does not.
	agentd.signal(syscall.SIGKILL)
	<-agentd.done
	agentd = start()
	t.Cleanup(func() { f.clear("h2data", agentd) })
	if got := f.result(t, "term"); got != "after <fresh>" {
		t.Errorf("result %q", got)
	}
	if after := f.agent("demo/term"); after.GetIncarnation() != before.GetIncarnation() ||
		after.GetPid() != before.GetPid() {
		t.Errorf("before %v, after %v", before, after)
	}
	// The program dies; the next life gets what it has remembered.
	if err := syscall.Kill(int(before.GetPid()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.joined("demo/term", before.GetIncarnation())
	if got := f.result(t, "term"); got != "after <resumedlife-"+before.GetIncarnation()+">" {
		t.Errorf("result %q", got)
	}
}
