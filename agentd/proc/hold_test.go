//go:build linux

package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who names the leader of a held tree may be the agent: a process that is not of its
// life is refused and left alone.
func TestHoldRefusesAForeignLeader(t *testing.T) {
	f := forker(t)
	foreign := exec.Command("/bin/sleep", "300")
	foreign.Env = []string{}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Process.Kill(); _ = foreign.Wait() }()
	limit := func() (l unix.Rlimit) {
		if err := unix.Prlimit(foreign.Process.Pid, unix.RLIMIT_NOFILE, nil, &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := limit()
	s := spec("wait", Mark{"hold-host", uint32(os.Getpid()), 1}, io.Discard)
	s.Limits.OpenFiles = 17
	for _, pid := range []int{foreign.Process.Pid, 1} {
		tree, err := f.Hold(s, pid, os.Getpid(), func() Exit { t.Error("it is waited for"); return Exit{} })
		if err == nil || tree != nil || !strings.Contains(err.Error(), "does not carry the mark") {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	if now := limit(); now != before {
		t.Errorf("limit %+v, was %+v", now, before)
	}
	// A program that has ended already is no reason to refuse.
	brief := exec.Command("/bin/true")
	if err := brief.Run(); err != nil {
		t.Fatal(err)
	}
	tree, err := f.Hold(s, brief.Process.Pid, brief.Process.Pid, func() Exit { return Exit{Code: 3} })
	if err != nil {
		t.Fatal(err)
	}
	if await(t, tree); tree.Exit().Code != 3 {
		t.Errorf("exit %+v", tree.Exit())
	}
}

// The mark comes first, and nobody else sets it.
func TestMarkIsFirst(t *testing.T) {
	m := Mark{"h", 7, 3}
	got := m.In([]string{"A=1", EnvMark + "=other:1:1", EnvMark, "VIGIL_INCARNATION=1.7", EnvMark + "S=x", "B=2"})
	if want := []string{m.Env(), "A=1", "VIGIL_INCARNATION=1.7", EnvMark + "S=x", "B=2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A process is found however large its environment is.
func TestLargeEnvironment(t *testing.T) {
	m := Mark{"large-host", uint32(os.Getpid()), 1}
	cmd := exec.Command("/bin/sleep", "300")
	for i := range 12 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("LARGE%d=%s", i, strings.Repeat("x", 100<<10)))
	}
	cmd.Env = append(cmd.Env, m.Env()) // as a shell may sort it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	// Start returns in the middle of the exec: the environment is there a moment later.
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		found := NewScanner().Find(m)
		if slices.Equal(found, []int{cmd.Process.Pid}) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("found %v", found)
		}
	}
}

// hung is output on a disk that hangs until it is closed.
type hung struct{ reached, back chan struct{} }

func (h hung) Write(p []byte) (int, error) {
	close(h.reached)
	<-h.back
	return 0, io.ErrClosedPipe
}

// The end of a tree is told though its output cannot be written.
func TestOutputThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	f := forker(t)
	disk := hung{make(chan struct{}), make(chan struct{})}
	defer close(disk.back)
	s := spec("wait", Mark{"hang-host", uint32(os.Getpid()), 1}, disk)
	a := forkAnswer{}
	if err := f.do(func(null *os.File) { a = fork(s, null) }); err != nil || a.err != nil {
		t.Fatal(err, a.err)
	}
	tree := newTree(s, a.pid, f.scans)
	tree.writes = time.Millisecond
	go tree.watch(a.output, disk)
	<-disk.reached
	tree.Stop(0)
	await(t, tree)
	if tree.Exit().Signal != "killed" {
		t.Errorf("exit %+v", tree.Exit())
	}
}
