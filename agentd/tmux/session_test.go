package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/agenttest"
)

// limit is generous: nothing here may depend on the speed of the machine.
const limit = 60 * time.Second

// buffer is output that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// rig is a life folder with what a shim would bring.
type rig struct {
	t      *testing.T
	config Config
	out    *buffer

	mu  sync.Mutex
	ran [][]string // every process that was started
}

func newRig(t *testing.T, program string, args ...string) *rig {
	t.Helper()
	tmux, err := Find()
	if err != nil {
		t.Skip(err)
	}
	// t.TempDir holds the name of the test and may be too long for a socket.
	folder, err := os.MkdirTemp("", "life")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	r := &rig{t: t, out: &buffer{}}
	r.config = Config{Tmux: tmux, Folder: folder, Path: program, Args: args, Dir: folder, Output: r.out, Start: r.start,
		Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "VIGIL_TOKEN=secret", "TMUX=/else,1,0"}}
	return r
}

func (r *rig) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	r.ran = append(r.ran, slices.Clone(cmd.Args))
	r.mu.Unlock()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: r.config.Credential}
	return cmd.Start()
}

func (r *rig) open() *Session {
	r.t.Helper()
	s, err := Open(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	// Both have usually ended; what the program left behind is still in its group.
	r.t.Cleanup(func() {
		_ = syscall.Kill(-s.Server(), syscall.SIGKILL)
		_ = syscall.Kill(-s.PID(), syscall.SIGKILL)
	})
	return s
}

// run runs the program to its end.
func (r *rig) run() Exit {
	r.t.Helper()
	return r.open().Wait()
}

// until waits for something that happens outside of this process.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	agenttest.Until(t, limit, 5*time.Millisecond, what, done)
}

// untilRead is shell that waits until tmux has read a line which begins so. A program that ends at once
// may lose it: the kernel hands on what it prints a moment later, and tmux waits for no more than the end.
func untilRead(line string) string {
	return `; until tmux capture-pane -p -t "$TMUX_PANE" | grep -q '^` + line + `'; do sleep 0.01; done; `
}

func TestExits(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		want    Exit
		out     string
	}{
		{"/bin/sh", []string{"-c", "exit 7"}, Exit{Code: 7}, ""},
		{"/bin/sh", []string{"-c", "kill -KILL $$"}, Exit{Code: -1, Signal: "killed"}, ""},
		{"/bin/sh", []string{"-c", "echo last words" + untilRead("last words")}, Exit{}, "last words\r\n"},
		{"/bin/true", nil, Exit{}, ""},
		{"/bin/false", nil, Exit{Code: 1}, ""},
		{"/bin/sh", []string{"-c", "test -t 0 && test -t 1 && test -t 2"}, Exit{}, ""},
		// The agent's own panes come and go without an end of the agent.
		{"/bin/sh", []string{"-c", `set -e; tmux split-window -d true; ` +
			`until [ "$(tmux list-panes | wc -l)" = 1 ]; do sleep 0.01; done; echo still here` +
			untilRead("still here")}, Exit{}, "still here\r\n"},
	} {
		r := newRig(t, c.program, c.args...)
		if got := r.run(); got != c.want || r.out.String() != c.out {
			t.Errorf("%s %q: %+v with output %q, want %+v with %q", c.program, c.args, got, r.out.String(),
				c.want, c.out)
		}
		left, _ := os.ReadDir(string(placeIn(r.config.Folder)))
		if slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == "sock" }) {
			t.Errorf("%s: the socket was left behind", c.program)
		}
	}
}

// No shell and no syntax of tmux gets between the order and the program.
func TestArgumentsArriveAsTheyAre(t *testing.T) {
	args := []string{"", " ", ";", "a;", `a\;`, `\`, "'", `"`, "$HOME", "$(id)", "`id`", "#{pane_id}",
		"#(id)", "~", "{", "}", "%if 1", "two\nlines\n   # not a comment", "\t", "käse", "\xff\x01", "-d",
		"--", "a=b", strings.Repeat("x", 20_000)}
	var want strings.Builder
	for _, arg := range args {
		fmt.Fprintf(&want, "<%s>", arg)
	}
	file := filepath.Join(t.TempDir(), "args")
	script := `for a in "$@"; do printf '<%s>' "$a"; done >"$0"`
	r := newRig(t, "/bin/sh", append([]string{"-c", script, file}, args...)...)
	if exit := r.run(); exit != (Exit{}) {
		t.Fatalf("%+v, output %q", exit, r.out)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want.String() {
		t.Errorf("%v, got %q\nwant %q", err, got, want.String())
	}
}

// The process behind the pane carries the marks, and what an outer tmux had set does
// not reach it. Nothing secret stands in the list of processes.
func TestThePaneHasTheLifesEnvironment(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", `read line; echo "dir $PWD token $VIGIL_TOKEN tmux ${TMUX%%,*}"`+
		untilRead("dir ")+"exit 3")
	s := r.open()
	var environ []byte
	var err error
	until(t, "its environment", func() bool { // while it executes its program there is none
		environ, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID()))
		return err != nil || len(environ) > 0
	})
	if err == nil && !bytes.Contains(environ, []byte("VIGIL_TOKEN=secret\x00")) {
		t.Errorf("environment of process %d: %q", s.PID(), environ)
	}
	if group, err := syscall.Getpgid(s.PID()); err != nil || group != s.PID() {
		t.Errorf("group of process %d is %d, %v", s.PID(), group, err)
	}
	if err := s.Send("", true); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("dir %s token secret tmux %s", r.config.Dir, placeIn(r.config.Folder).socket())
	if exit := s.Wait(); exit.Code != 3 || !strings.Contains(r.out.String(), want) {
		t.Errorf("%+v, %q; want %q", exit, r.out, want)
	}
	for _, args := range r.ran {
		if strings.Contains(strings.Join(args, " "), "secret") {
			t.Errorf("the token is in the arguments %q", args)
		}
	}
}

func TestSendAndCapture(t *testing.T) {
	r := newRig(t, "/bin/cat")
	s := r.open()
	const text = "task text; $(id) 'x' #{pane_id}"
	if err := s.Send(text, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Send("", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Send("", false); err != nil {
		t.Fatal(err)
	}
	until(t, "the echo", func() bool {
		shown, err := s.Capture(10)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(shown, text) == 2 // typed, and printed by cat
	})
	for _, args := range r.ran {
		if strings.Contains(strings.Join(args, " "), "task text") {
			t.Errorf("the text is in the arguments %q", args)
		}
	}
	if err := syscall.Kill(-s.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if exit := s.Wait(); exit != (Exit{Code: -1, Signal: "terminated"}) {
		t.Errorf("%+v", exit)
	}
	if _, err := s.Capture(1); err == nil || !strings.Contains(err.Error(), "tmux capture-pane: ") {
		t.Errorf("a session that is over was captured: %v", err)
	}
}

// The interrupt key reaches what runs in the terminal.
func TestInterrupt(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", "echo up; exec cat")
	s := r.open()
	// Until its program runs what tmux has forked ignores the key, as tmux does.
	until(t, "the start of the program", func() bool { return strings.Contains(r.out.String(), "up") })
	if err := s.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if exit := s.Wait(); exit != (Exit{Code: -1, Signal: "interrupt"}) {
		t.Errorf("%+v", exit)
	}
	if err := s.Interrupt(); err == nil {
		t.Error("a session that is over was interrupted")
	}
}

func TestAllOutputArrives(t *testing.T) {
	r := newRig(t, "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"+
		untilRead("line 19999"))
	if exit := r.run(); exit != (Exit{}) {
		t.Errorf("%+v", exit)
	}
	lines := strings.Split(strings.TrimSuffix(r.out.String(), "\r\n"), "\r\n")
	for i, line := range lines {
		if line != "line "+strconv.Itoa(i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	if len(lines) != 20000 {
		t.Errorf("%d lines", len(lines))
	}
}

// A server that dies is the end of the life, and nobody waits for ever.
func TestTheServerIsKilled(t *testing.T) {
	s := newRig(t, "/bin/sleep", "1000").open()
	if err := syscall.Kill(s.Server(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := s.Wait(); exit != (Exit{Code: -1, Signal: Unknown}) {
		t.Errorf("%+v", exit)
	}
	until(t, "the hang-up", func() bool { return syscall.Kill(s.PID(), 0) != nil })
}

// A descendant that has the terminal open does not hide the end of the program.
func TestADescendantPrintsOn(t *testing.T) {
	s := newRig(t, "/bin/sh", "-c", "trap '' HUP; (while :; do echo x; done) & exit 4").open()
	exit := s.Wait()
	if exit.Code != 4 && exit.Signal != Unknown {
		t.Errorf("%+v", exit)
	}
}

// A server that an earlier attempt of the same life has left is ended first (a new life has a
// folder of its own, see I123).
func TestOverseerCommonIssuesZombieSessionIsCleanedUp(t *testing.T) {
	r := newRig(t, "/bin/sleep", "1000")
	old := r.open()
	next := r.open()
	ended := make(chan Exit, 1)
	go func() { ended <- old.Wait() }()
	select {
	case exit := <-ended:
		if exit.Signal == "" {
			t.Errorf("the old program ended by itself: %+v", exit)
		}
	case <-time.After(limit):
		t.Fatal("the old session goes on")
	}
	if err := syscall.Kill(next.PID(), 0); err != nil {
		t.Errorf("the new program: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*Config)
		noTmux bool
		want   string
	}{
		"long path": {func(c *Config) { c.Folder += strings.Repeat("/x", 60) }, true,
			"choose a shorter data directory"},
		"folder name": {func(c *Config) { c.Dir = filepath.Join(c.Dir, "a#b"); _ = os.Mkdir(c.Dir, 0o700) },
			true, "name another folder"},
		"no folder":  {func(c *Config) { c.Dir += "/none" }, false, "no such file"},
		"no program": {func(c *Config) { c.Path = "/no/such" }, false, "no such file"},
		"not a program": {func(c *Config) {
			c.Path = filepath.Join(c.Dir, "file")
			_ = os.WriteFile(c.Path, nil, 0o600)
		}, false, "cannot be executed"},
		"equals sign": {func(c *Config) {
			c.Path, c.Args = filepath.Join(c.Dir, "a=b"), nil
			_ = os.WriteFile(c.Path, nil, 0o700)
		}, true, "rename it"},
		"no tmux":       {func(c *Config) { c.Tmux = "/no/such" }, true, "no such file"},
		"not tmux":      {func(c *Config) { c.Tmux = "/bin/false" }, true, "its server has started nothing"},
		"closed folder": {func(c *Config) { c.Folder += "/none" }, false, "prepare terminal"},
	} {
		r := newRig(t, "/bin/echo", "x")
		c.spoil(&r.config)
		_, err := Open(r.config)
		if err == nil || errors.Is(err, ErrNoTmux) != c.noTmux || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAttach(t *testing.T) {
	r := newRig(t, "/bin/sleep", "1000")
	if _, err := Attach(r.config.Tmux, r.config.Folder, false); err == nil ||
		!strings.Contains(err.Error(), "not of kind tmux") {
		t.Errorf("without a session: %v", err)
	}
	r.open()
	t.Setenv("TERM", "xterm")
	t.Setenv("ROOTS_SECRET", "x")
	t.Setenv("TMUX", "/run/sock,1,0")
	cmd, err := Attach(r.config.Tmux, r.config.Folder, true)
	if err != nil {
		t.Fatal(err)
	}
	// The server learns every variable of its client, and the server is the agent's.
	for _, v := range cmd.Env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE":
		default:
			t.Errorf("the client has %s", name)
		}
	}
	if !slices.Contains(cmd.Env, "TERM=xterm") {
		t.Errorf("the client has no TERM: %q", cmd.Env)
	}
	// There is no terminal here, and tmux is the one to say so: it has found the rest.
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "terminal") {
		t.Errorf("%v: %s", err, out)
	}
}

// As root the whole session belongs to the agent's user.
func TestSessionOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	r := newRig(t, "/bin/sh", "-c", "id -u; exec sleep 1000")
	r.config.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	if err := os.Chmod(r.config.Folder, 0o711); err != nil {
		t.Fatal(err)
	}
	s := r.open()
	until(t, "output", func() bool { return strings.Contains(r.out.String(), "65534") })
	cmd, err := Attach(r.config.Tmux, r.config.Folder, false)
	if err != nil || cmd.SysProcAttr.Credential.Uid != 65534 {
		t.Errorf("%+v, %v", cmd, err)
	}
	for _, pid := range []int{s.Server(), s.PID()} {
		var info syscall.Stat_t
		if err := syscall.Stat(fmt.Sprintf("/proc/%d", pid), &info); err == nil && info.Uid != 65534 {
			t.Errorf("process %d belongs to %d", pid, info.Uid)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a b;\n\x00#{x}")
	f.Fuzz(func(t *testing.T, word string) {
		q := quote(word)
		if strings.ContainsAny(q, " \n;#$'{}") || q[0] != '"' || q[len(q)-1] != '"' {
			t.Errorf("%q became %s", word, q)
		}
		var back []byte
		for i := 1; i < len(q)-1; i++ {
			if q[i] != '\\' {
				back = append(back, q[i])
				continue
			}
			n, err := strconv.ParseUint(q[i+1:i+4], 8, 8)
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, byte(n))
			i += 3
		}
		if string(back) != word {
			t.Errorf("%q came back as %q", word, back)
		}
	})
}
