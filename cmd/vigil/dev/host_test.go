package dev

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vigil/agentd/proc"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
)

// stage starts a process that waits for the end of the test: a script of that name in
// that folder, with these arguments and variables.
func stage(t *testing.T, dir, name string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("echo on stage\nread x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", append([]string{name}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it may have been killed
	})
	if _, err := io.ReadFull(out, make([]byte, len("on stage"))); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// What carries no sign of the host gets no signal.
func TestKillHostSparesOthers(t *testing.T) {
	h := devHost{name: "west", dir: filepath.Join(t.TempDir(), "west")}
	if _, err := h.processes(); errors.Is(err, errNoProc) {
		t.Skip(err)
	}
	key := strings.Repeat("0123456789abcdef", 2)
	other := strings.Repeat("f", 32)
	if err := os.MkdirAll(filepath.Join(h.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "data", "host_key"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lives := filepath.Join(h.dir, "data", "lives")
	theirs := t.TempDir()
	cast := []struct {
		what string
		cmd  *exec.Cmd
		dies bool
	}{
		{"its daemon", stage(t, theirs, "agentd", nil, "--config", h.config()), true},
		{"its shim", stage(t, filepath.Join(lives, "1-1"), "shim", nil), true},
		{"its agent", stage(t, theirs,
			"agent", []string{proc.EnvMark + "=" + proc.HostMark(key) + "-fe00.1:1:1"}), true},
		{"the daemon of another host",
			stage(t, theirs, "agentd", nil, "--config", filepath.Join(theirs, "agentd.yaml")), false},
		{"an editor of its configuration", stage(t, theirs, "edit", nil, h.config()), false},
		{"the shim of another host", stage(t, filepath.Join(theirs, "lives", "1-1"), "shim", nil), false},
		{"a shell in its folder", stage(t, filepath.Join(lives, "1-1"), "look", nil), false},
		{"the agent of another host",
			stage(t, theirs, "agent", []string{proc.EnvMark + "=" + proc.HostMark(other) + "-fe00.1:1:1"}), false},
	}
	toll, err := h.switchOff(t.Context())
	if err != nil || toll != (devToll{devDaemon: 1, devShim: 1, devAgentProcess: 1}) {
		t.Errorf("%v, %v", toll, err)
	}
	for _, c := range cast {
		if dead := life.StartOf(c.cmd.Process.Pid) == ""; dead != c.dies {
			t.Errorf("%s: killed is %v, want %v", c.what, dead, c.dies)
		}
	}
	if h.whyOff() == "" {
		t.Error("the host is not off")
	}
	if err := h.switchOn(); err != nil || h.whyOff() != "" {
		t.Errorf("the host is not on: %v, %v", err, h.whyOff())
	}
}

func TestKillHostNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	place, err := openDevPlace(devOptions{dataDir: dir, hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.write("/bin/true", nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"no folder", []string{"kill-host", "west"}, "vigil context use dev", cli.ExitUsage},
		{"a folder that is gone", []string{"kill-host", "west", "--data-dir", filepath.Join(dir, "gone")},
			"has it ended?", cli.ExitNotFound},
		{"a folder of something else", []string{"kill-host", "west", "--data-dir", t.TempDir()},
			"is not the folder of a demo", cli.ExitNotFound},
		{"an unknown host", []string{"kill-host", "north", "--data-dir", dir},
			`has no host "north": it has east, west`, cli.ExitNotFound},
		{"a host outside", []string{"kill-host", "../west", "--data-dir", dir}, `has no host "../west"`,
			cli.ExitNotFound},
		{"a host that is on", []string{"start-host", "west", "--data-dir", dir}, "host west is not off",
			cli.ExitConflict},
		{"too many hosts", []string{"--hosts", "6"}, "1 to 5 is allowed", cli.ExitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			var errs strings.Builder
			a := &cli.App{Terminal: term.NewTerminal(strings.NewReader(""), io.Discard, &errs, os.Getenv),
				Getenv: os.Getenv}
			cmd := newDevCmd(a)
			cmd.SetArgs(tt.args)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			cli.Report(&errs, err, false)
			code := cli.ExitCode(err)
			if code != tt.code || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, errs.String(), tt.code, tt.want)
			}
		})
	}
}

// A child that is held is neither started nor started again.
func TestChildThatIsHeldWaits(t *testing.T) {
	dir := t.TempDir()
	var off atomic.Bool
	off.Store(true)
	lines := make(chan string, 10)
	c := &child{name: "x", exe: "/bin/sh", args: []string{"-c", "exec sleep 1000"}, log: filepath.Join(dir, "log"),
		again: time.Millisecond, say: func(format string, _ ...any) { lines <- format },
		hold: func() string {
			if off.Load() {
				return "it is off"
			}
			return ""
		}}
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	if err := c.wait(t.Context()); ending(err) != "signal: killed" {
		t.Errorf("one that was started while it was being switched off ended so: %v", ending(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.run(ctx) }()
	off.Store(false)
	tick, limit := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for c.pid() == 0 {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the child was not started")
		}
	}
	off.Store(true)
	c.signal(9)
	if line := <-lines; !strings.HasSuffix(line, "has ended (%s): %s") {
		t.Errorf("it says %q", line)
	}
	cancel()
	if err := <-done; err != nil || c.pid() != 0 {
		t.Errorf("%v, pid %d", err, c.pid())
	}
}

func TestChaosLeavesOneHostOn(t *testing.T) {
	place, err := openDevPlace(devOptions{dataDir: t.TempDir(), hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.write("/bin/true", nil); err != nil {
		t.Fatal(err)
	}
	f := &fleet{place: place, options: devOptions{seed: 1}}
	for range place.hosts {
		f.agentds = append(f.agentds, &child{cmd: &exec.Cmd{}})
	}
	c := newChaos(f)
	if _, d := c.host(); d == nil {
		t.Error("no host is chosen while both are well")
	}
	if err := os.WriteFile(place.hosts[1].offFile(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if h, d := c.host(); d != nil {
		t.Errorf("%s is chosen while west is off", h.name)
	}
	if err := place.hosts[1].switchOn(); err != nil {
		t.Fatal(err)
	}
	f.agentds[0].cmd = nil
	if h, d := c.host(); d != nil {
		t.Errorf("%s is chosen while the daemon of east does not run", h.name)
	}
	one := f.agentds[1:]
	f.agentds, f.place.hosts = one, place.hosts[1:]
	if c.killHost(t.Context()) {
		t.Error("the only host was killed")
	}
}
