//go:build linux

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestHierarchies(t *testing.T) {
	for name, c := range map[string]struct {
		own, mounts, unified, memory string
	}{
		"unified": {
			"0::/system.slice/vigil.service\n",
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
			"/sys/fs/cgroup/system.slice/vigil.service", "",
		},
		"hybrid": {
			"4:memory:/a\n1:name=systemd:/x\n0::/b\n",
			"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n" +
				"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"/sys/fs/cgroup/unified/b", "/sys/fs/cgroup/memory/a",
		},
		"container with a part of it": {
			"0::/docker/abc/inner\n",
			"30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"/sys/fs/cgroup/inner", "",
		},
		"outside of what is mounted": {
			"0::/../other\n",
			"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"", "",
		},
		"a mount of another part": {
			"0::/system.slice\n",
			"30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"", "",
		},
		"none": {"", "", "", ""},
	} {
		unified, old := parseHierarchies(c.own, c.mounts)
		if unified != c.unified || old["memory"] != c.memory {
			t.Errorf("%s: %q %v, want %q %q", name, unified, old, c.unified, c.memory)
		}
	}
}

// group makes a control group for the test.
func group(t *testing.T, limits Limits) *Cgroup {
	t.Helper()
	c, degraded := NewCgroup("vigil-test-"+strings.ReplaceAll(t.Name(), "/", "-"), limits)
	if !c.unifies() {
		t.Skip(degraded)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inGroup starts a tree in a control group.
func inGroup(t *testing.T, mode string, n int) (*Tree, *Cgroup, []int) {
	t.Helper()
	c := group(t, Limits{})
	r, w := io.Pipe()
	t.Cleanup(func() { r.Close() })
	s := spec(mode, Mark{"test-host", uint32(os.Getpid()), 2}, w)
	s.Cgroup = c
	tree, err := forker(t).Start(s)
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, r, n)
	go io.Copy(io.Discard, r)
	t.Cleanup(func() {
		tree.Stop(0)
		await(t, tree)
	})
	return tree, c, pids
}

// L7: a tree in a control group is frozen as one, however it forks, and dies so.
func TestCgroupHoldsTheWholeTree(t *testing.T) {
	tree, c, pids := inGroup(t, "family", 3)
	for _, pid := range pids {
		if !c.holds(pid) {
			t.Errorf("process %d is not in the group", pid)
		}
	}
	if c.holds(os.Getpid()) {
		t.Error("this process is in the group")
	}
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	if c.event("frozen") != "1" {
		t.Error("not frozen")
	}
	if err := tree.Thaw(); err != nil {
		t.Fatal(err)
	}
	if c.event("frozen") != "0" {
		t.Error("not thawed")
	}
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	tree.Stop(time.Hour) // a frozen tree has no use for a grace
	await(t, tree)
	for _, pid := range pids {
		if s := stateOf(pid); s != 0 && s != 'Z' {
			t.Errorf("process %d is in state %c after the end of its tree", pid, s)
		}
	}
}

// Processes that fork and flee their session at every step are caught by the
// group, which no look at the list of processes could promise.
func TestCgroupCatchesAChainOfForks(t *testing.T) {
	tree, c, _ := inGroup(t, "chain", 20)
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(c.unified, "cgroup.procs"))
	after, _ := os.ReadFile(filepath.Join(c.unified, "cgroup.procs"))
	if string(before) != string(after) || len(before) == 0 {
		t.Errorf("frozen, it goes on from %q to %q", before, after)
	}
	tree.Stop(0)
	await(t, tree)
	if c.event("populated") != "0" {
		t.Error("something is left")
	}
}

// What somebody else made and left is removed with all that is in it.
func TestRemoveCgroupOfAnother(t *testing.T) {
	_, c, pids := inGroup(t, "family", 3)
	inner := filepath.Join(c.unified, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the group", func() bool { return !RemoveCgroup(c.unified) })
	if _, err := os.Stat(c.unified); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, pid := range pids {
		until(t, "the end of a process", func() bool { s := stateOf(pid); return s == 0 || s == 'Z' })
	}
}

// A terminal is what the program runs in, and ends with it.
func TestTerminalIsTheProgramsOwn(t *testing.T) {
	r, w := io.Pipe()
	s := spec("terminal", Mark{"test-host", uint32(os.Getpid()), 4}, w)
	s.PTY = true
	tree, err := forker(t).Start(s)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		await(t, tree)
		w.Close()
	}()
	text, err := io.ReadAll(r)
	if want := "true true true 50x200\r\n"; err != nil || string(text) != want {
		t.Errorf("%q %v, want %q", text, err, want)
	}
	if e := tree.Exit(); e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
}

// describeTerminal says what the three streams are.
func describeTerminal() string {
	var is []string
	for fd := range 3 {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		is = append(is, map[bool]string{true: "true", false: "false"}[err == nil])
	}
	size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil {
		return err.Error()
	}
	return strings.Join(is, " ") + " " + strconv.Itoa(int(size.Row)) + "x" + strconv.Itoa(int(size.Col))
}

// Recorded counts: the kernel counts under oom_kill whom it killed for whatever memory was short, and under oom only a
// group that came to its own limit.
func TestOutOfMemoryOfWhom(t *testing.T) {
	events := func(most, oom, kills int) map[string]string {
		return map[string]string{
			"memory.events": fmt.Sprintf("low 0\nhigh 0\nmax %d\noom %d\noom_kill %d\noom_group_kill 0\n",
				most, oom, kills)}
	}
	old := func(kills, fails string) map[string]string {
		return map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n" + kills, "memory.failcnt": fails}
	}
	for name, tt := range map[string]struct {
		files       map[string]string
		killed, own bool
	}{
		"nothing":                    {events(0, 0, 0), false, false},
		"the limit of the group":     {events(212, 1, 1), true, true},
		"memory of the machine":      {events(0, 0, 1), true, false},
		"no controller":              {nil, false, false},
		"old, the limit":             {old("oom_kill 2\n", "17\n"), true, true},
		"old, memory of the machine": {old("oom_kill 1\n", "0\n"), true, false},
		"old, nobody counts":         {old("", "0\n"), false, false},
	} {
		dir := t.TempDir()
		for file, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []*Cgroup{{unified: dir}, {old: []string{t.TempDir(), dir}}} {
			if killed, own := c.OutOfMemory(); killed != tt.killed || own != tt.own {
				t.Errorf("%s: killed %v, own %v", name, killed, own)
			}
		}
	}
}
