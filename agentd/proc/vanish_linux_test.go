package proc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// reaper holds a tree as a shim does: orphans come to this process. It says what is left when the tree is done.
// Where looks are forbidden, whoever asks for the list of all processes waits for ever.
func reaper(mode string, forbidden bool) string {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err.Error()
	}
	c, degraded := NewCgroup("vigil-test-vanish-"+strconv.Itoa(os.Getpid()), Limits{})
	if !c.unifies() {
		return "skip: " + strings.Join(degraded, "; ")
	}
	r, w := io.Pipe()
	s := spec(mode, Mark{"vanish", uint32(os.Getpid()), 1}, w)
	s.Reap, s.Cgroup = true, c
	s.Env = append(s.Env, "TEST_GROUP="+filepath.Dir(c.unified))
	f := NewForker(NewScanner())
	go f.Run(context.Background())
	f.scans.looking = forbidden
	tree, err := f.Start(s)
	if err != nil {
		return err.Error()
	}
	var pid int
	if _, err := fmt.Fscanf(r, "up %d\n", &pid); err != nil {
		return err.Error()
	}
	go io.Copy(io.Discard, r)
	<-tree.Done()
	left := "nothing is left"
	if runs(pid) {
		left = "it runs"
	}
	if err := c.Remove(); err != nil {
		return err.Error()
	}
	return left
}

// fleer starts a process that leaves session, group and control group, and ends before it.
func fleer() {
	in, out, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_PROC=deaf")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	out.Close()
	var pid int
	if _, err := fmt.Fscanf(in, "up %d\n", &pid); err != nil {
		panic(err)
	}
	if err := writeFile(filepath.Join(os.Getenv("TEST_GROUP"), "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		panic(err)
	}
	fmt.Println("up", pid)
}

// L7: what has left session, group and control group and lost its parent belongs to its tree still; and where
// nothing is left, the list of all processes is not read.
func TestL7OrphansThatFledAreFoundAndNothingElseIsLookedFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it moves a process to another control group")
	}
	for _, c := range []struct{ mode, what string }{{"flees", "reaper"}, {"says", "reaper without looks"}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_PROC="+c.what, "TEST_TREE="+c.mode)
		out, err := cmd.CombinedOutput()
		if why, ok := strings.CutPrefix(string(out), "skip: "); ok {
			t.Skip(why)
		}
		if string(out) != "nothing is left\n" || err != nil {
			t.Errorf("%s, %s: %q, %v", c.mode, c.what, out, err)
		}
	}
}
