//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/tmux"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestTerminal(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.PTY = true
	s, a, _ := r.start(spec)
	a.tell("terminal")
	if line := a.await("terminal"); line != "terminal <nil>" {
		t.Error(line)
	}
	a.tell("exit 0")
	if exit := wait(t, s); exit.Code != 0 || exit.Tail != "to the terminal\r\n" {
		t.Errorf("exit %+v", exit)
	}
}

// A terminal that was hung up on keeps nobody: the life ends with its program.
func TestTerminalOfAForkingAgent(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite+session+group")
	spec.PTY = true
	s, a, children := r.start(spec)
	a.tell("exit 4")
	if exit := wait(t, s); exit.Code != 4 {
		t.Errorf("exit %+v", exit)
	}
	for _, c := range children {
		c.ended()
	}
}

func TestOutputIsRotated(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.LogBytes, spec.LogKeep = 10_000, 2
	s, a, _ := r.start(spec)
	a.ask("many 20000")
	a.tell("exit 0")
	exit := wait(t, s)
	if !strings.HasSuffix(exit.Tail, "line 19998\nline 19999\n") || len(exit.Tail) > maxTail {
		t.Errorf("tail of %d bytes: %q", len(exit.Tail), exit.Tail)
	}
	files, _ := filepath.Glob(filepath.Join(r.folder, "logs", "demo", "builder.log*"))
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 40<<10 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}
}

func TestUsageLimitAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		word string
		hit  bool
	}{
		"said":     {"print usage limit reached, try again in 7 minutes", true},
		"not said": {"print all is well", false},
	} {
		r := newRig(t)
		spec := r.spec("polite")
		spec.Usage = []UsageRule{{Code: 3, Pattern: `usage limit reached.* (?P<minutes>\d+) minutes`}}
		s, a, _ := r.start(spec)
		a.ask(c.word)
		a.tell("exit 3")
		if exit := wait(t, s); exit.UsageLimit != c.hit || c.hit && exit.RetryAfter != 7*time.Minute {
			t.Errorf("%s: exit %+v", name, exit)
		}
	}
	// A stop on purpose is not a limit, whatever was printed before.
	r := newRig(t)
	spec := r.spec("polite")
	spec.Usage = []UsageRule{{Pattern: "limit"}}
	s, a, _ := r.start(spec)
	a.ask("print limit")
	s.Stop(time.Hour, "drained")
	if exit := wait(t, s); exit.UsageLimit || !exit.Ordered {
		t.Errorf("exit %+v", exit)
	}
}

// The socket and the records are nobody else's, and the mask of the agent's own
// files is not touched.
func TestRights(t *testing.T) {
	r := newRig(t)
	s, _, _ := r.start(r.spec("polite"))
	for _, name := range []string{SocketFile, StartedFile, NoteFile, LockFile} {
		info, err := os.Lstat(filepath.Join(r.folder, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	env, err := os.ReadFile("/proc/" + itoa(s.Started().Shim) + "/environ")
	if err != nil || string(env) != "GOMAXPROCS=2\x00" {
		t.Errorf("environment of the shim: %q %v", env, err)
	}
	mask := unix.Umask(0)
	unix.Umask(mask)
	status, _ := os.ReadFile("/proc/" + itoa(s.PID()) + "/status")
	if want := "Umask:\t" + strconv.FormatInt(int64(mask)+010000, 8)[1:]; !strings.Contains(string(status), want) {
		t.Errorf("no %q in %s", want, status)
	}
	_, after, _ := strings.Cut(string(status), "SigIgn:\t")
	// 32 and 33 belong to the C library of whoever started all of this.
	const library = 1<<31 | 1<<32
	if ignored, err := strconv.ParseUint(strings.TrimSpace(after[:min(16, len(after))]), 16,
		64); err != nil || ignored&^library != 0 {
		t.Errorf("the agent ignores signals %x: %v", ignored, err)
	}
	if fds, err := os.ReadDir("/proc/" + itoa(s.PID()) + "/fd"); err == nil {
		for _, fd := range fds {
			to, _ := os.Readlink("/proc/" + itoa(s.PID()) + "/fd/" + fd.Name())
			if strings.HasPrefix(to, r.folder) {
				t.Errorf("the agent holds %s", to)
			}
		}
	}
	if started, err := os.ReadFile(filepath.Join(r.folder, StartedFile)); err != nil ||
		strings.Contains(string(started), "TEST_") {
		t.Errorf("the environment is on disk: %q %v", started, err)
	}
}

func TestPidsLimitOfTheTree(t *testing.T) {
	r := newRig(t)
	spec := r.spec("")
	spec.Limits.Pids = 20
	spec.Path, spec.Args = "/bin/sh", []string{"-c",
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do sleep 300 & done"}
	s, err := r.launcher().Start(spec, r.lock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if strings.Contains(s.Started().Degraded, "not enforced") {
		t.Skip(s.Started().Degraded)
	}
	if exit := wait(t, s); exit.Code == 0 || !strings.Contains(exit.Tail, "fork") {
		t.Errorf("exit %+v", exit)
	}
}

// A host without control groups runs agents too, and says so.
func TestDegradedIsReported(t *testing.T) {
	r := newRig(t)
	s, _, _ := r.start(r.spec("polite"))
	if (len(s.Started().Groups) == 0) != strings.Contains(s.Started().Degraded, "no control group") {
		t.Errorf("started %+v", s.Started())
	}
}

// What SIGKILL does not end keeps its slot, and is reported while it does. The old
// freezer makes such processes.
func TestUnkillableIsStuckAndKeepsItsSlot(t *testing.T) {
	freezer := "/sys/fs/cgroup/freezer/vigil-test-" + itoa(os.Getpid())
	if err := os.Mkdir(freezer, 0o755); err != nil {
		t.Skipf("the old freezer is needed: %v", err)
	}
	defer os.Remove(freezer)
	r := newRig(t)
	s, a, _ := r.start(r.spec("deaf"))
	if err := os.WriteFile(freezer+"/cgroup.procs", []byte(itoa(a.pid)), 0); err != nil {
		t.Skip(err)
	}
	set := func(state string) {
		if err := os.WriteFile(freezer+"/freezer.state", []byte(state), 0); err != nil {
			t.Error(err)
		}
	}
	set("FROZEN")
	defer set("THAWED")
	until(t, "frozen", func() bool {
		text, _ := os.ReadFile(freezer + "/freezer.state")
		return string(text) == "FROZEN\n"
	})
	s.Stop(0, "superseded")
	words, over := make(chan string, 10), make(chan Exit, 1)
	go func() { over <- s.Wait(func(word string) { words <- word }) }()
	select {
	case word := <-words:
		if !strings.Contains(word, "cannot be killed") {
			t.Error(word)
		}
	case <-over:
		t.Fatal("its end was told while it is there")
	case <-time.After(patience):
		t.Fatal("nothing was said")
	}
	if held, err := locked(r.folder); !held || err != nil {
		t.Errorf("lock held %v, %v", held, err)
	}
	set("THAWED")
	select {
	case exit := <-over:
		if exit.Signal != "killed" || !exit.Ordered || len(words) != 0 {
			t.Errorf("exit %+v, %d more words", exit, len(words))
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// Agents of other accounts are held too.
func TestAgentOfAnotherAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may start agents of others")
	}
	r := newRig(t)
	for path := r.folder; path != "/"; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o001 == 0 {
			_ = os.Chmod(path, info.Mode().Perm()|0o011)
		}
	}
	if err := os.Chmod(r.socket, 0o666); err != nil {
		t.Fatal(err)
	}
	spec := r.spec("deaf+group+session")
	spec.Credential = &Credential{UID: 65534, GID: 65534}
	spec.PTY = true
	// The folder of the test binary is closed to others.
	program, err := os.ReadFile(spec.Path)
	if err != nil {
		t.Fatal(err)
	}
	spec.Path = filepath.Join(filepath.Dir(r.folder), "agent")
	if err := os.WriteFile(spec.Path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := r.launcher().Start(spec, r.lock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	a, children := r.up(2)
	if info, err := os.Stat("/proc/" + itoa(a.pid)); err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("%v %v", info, err)
	}
	if status, err := os.ReadFile("/proc/" + itoa(a.pid) + "/status"); err != nil ||
		!strings.Contains(string(status), "CapBnd:\t0000000000000000") ||
		!strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("it may gain rights: %v %s", err, status)
	}
	r.advance(50 * time.Minute)
	until(t, "freeze", s.Frozen)
	for _, one := range append(children, a) {
		until(t, "frozen "+one.mode, func() bool { return frozen(s, one.pid) })
	}
	s.Stop(0, "superseded")
	if exit := wait(t, s); !exit.Ordered {
		t.Errorf("exit %+v", exit)
	}
	for _, one := range append(children, a) {
		one.ended()
	}
}

// newTerminalRig is newRig for lives in tmux sessions; without tmux the test is skipped.
func newTerminalRig(t *testing.T) *rig {
	t.Helper()
	if _, err := tmux.Find(); err != nil {
		t.Skip(err)
	}
	r := newRig(t)
	short, err := os.MkdirTemp("", "life") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	r.folder = short
	return r
}

// inTmux starts an agent in a tmux session.
func inTmux(t *testing.T, mode string) (*rig, *Shim, *agent, []*agent) {
	r := newTerminalRig(t)
	spec := r.spec(mode)
	spec.Kind = "tmux"
	s, a, children := r.start(spec)
	if s.PID() != a.pid || strings.Contains(s.Started().Degraded, "tmux") {
		t.Errorf("started %+v, the agent is %d", s.Started(), a.pid)
	}
	return r, s, a, children
}

// A program in a tmux session is held like any other: its status and output, its
// stop, and its whole tree.
func TestTmuxIsHeldLikeAnyOther(t *testing.T) {
	t.Run("exit", func(t *testing.T) {
		_, s, a, children := inTmux(t, "polite+session+group")
		a.ask("print hello")
		a.tell("exit 3")
		if exit := wait(t, s); exit.Code != 3 || !strings.Contains(exit.Tail, "hello") {
			t.Errorf("exit %+v", exit)
		}
		for _, c := range children {
			c.ended()
		}
	})
	t.Run("stop", func(t *testing.T) {
		_, s, a, _ := inTmux(t, "polite")
		s.Stop(time.Hour, "drain")
		a.await("bye")
		if exit := wait(t, s); exit.Code != 0 || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("deaf", func(t *testing.T) {
		_, s, a, children := inTmux(t, "deaf+session+group")
		s.Stop(time.Millisecond, "drain")
		if exit := wait(t, s); exit.Signal != "killed" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
		for _, one := range append(children, a) {
			one.ended()
		}
	})
	t.Run("limits", func(t *testing.T) {
		r := newRig(t)
		spec := r.spec("polite")
		spec.Kind, spec.Limits.OpenFiles = "tmux", 300
		_, a, _ := r.start(spec)
		limits, err := os.ReadFile("/proc/" + itoa(a.pid) + "/limits")
		if err != nil ||
			strings.Join(strings.Fields(string(limits[strings.Index(string(limits),
				"Max open files"):]))[:5], " ") != "Max open files 300 300" {
			t.Errorf("%s %v", limits, err)
		}
	})
	t.Run("no program", func(t *testing.T) {
		r := newRig(t)
		spec := r.spec("polite")
		spec.Kind, spec.Path = "tmux", "/no/such/program"
		if _, err := r.launcher().Start(spec, r.lock()); err == nil || !strings.Contains(err.Error(), spec.Path) {
			t.Error(err)
		}
	})
}

// L7 holds in a tmux session too.
func TestL7Tmux(t *testing.T) {
	t.Run("freeze", func(t *testing.T) {
		r, s, a, children := inTmux(t, "deaf+session")
		r.advance(50 * time.Minute)
		until(t, "freeze", s.Frozen)
		for _, one := range append(children, a) {
			until(t, "frozen "+one.mode, func() bool { return frozen(s, one.pid) })
		}
		s.Acknowledge(r.now())
		a.ask("print on")
		s.Stop(0, "superseded")
		if exit := wait(t, s); !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("shim killed", func(t *testing.T) {
		_, s, a, children := inTmux(t, "deaf+session+group")
		if err := syscall.Kill(s.Started().Shim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, s); !exit.Vanished {
			t.Errorf("exit %+v", exit)
		}
		for _, one := range append(children, a) {
			one.ended()
		}
	})
}
