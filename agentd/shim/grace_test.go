//go:build linux

package shim

import (
	"os"
	"strings"
	"testing"
	"time"
)

// onEveryShell runs a test with an agent that is the child of a shell, its leader, which SIGTERM ends at once: with
// control groups, without, and in a tmux session. The child is in the shell's group; it says "deaf" when it hears
// SIGTERM, and goes on.
func onEveryShell(t *testing.T, test func(t *testing.T, r *rig, s *Shim, child *agent)) {
	begin := func(t *testing.T, r *rig, kind string) {
		spec := r.spec("deaf")
		spec.Kind = kind
		// The end of a shell hangs up its terminal.
		spec.Path, spec.Args = "/bin/sh", []string{"-c", `trap "" HUP; "$0"; exit 3`, spec.Path}
		s, child, _ := r.start(spec)
		if s.PID() == child.pid {
			t.Fatal("there is no shell before the agent")
		}
		test(t, r, s, child)
	}
	onEveryHost(t, func(t *testing.T, r *rig) { begin(t, r, "exec") })
	t.Run("tmux", func(t *testing.T) {
		r := newTerminalRig(t)
		begin(t, r, "tmux")
	})
}

// shellEnded waits for the end of the leader after the child has heard SIGTERM.
func shellEnded(t *testing.T, s *Shim, child *agent) {
	t.Helper()
	child.await("deaf")
	until(t, "the end of the shell", func() bool {
		text, err := os.ReadFile("/proc/" + itoa(s.PID()) + "/stat")
		return err != nil || strings.Contains(string(text), ") Z ")
	})
}

// A stop gives the whole group its grace: the program of a shell may clean up though the shell is gone, and the life is
// over when it has. How the life ended is how its leader did.
func TestGraceIsTheWholeGroups(t *testing.T) {
	onEveryShell(t, func(t *testing.T, _ *rig, s *Shim, child *agent) {
		s.Stop(time.Hour, "drained")
		shellEnded(t, s, child)
		child.ask("print cleaned up")
		child.tell("exit 0")
		exit := wait(t, s)
		if exit.Code != -1 || exit.Signal != "terminated" || exit.Reason != "drained" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
		// The terminal of a tmux session ends with its program.
		if !strings.HasSuffix(t.Name(), "/tmux") && !strings.Contains(exit.Tail, "cleaned up") {
			t.Errorf("tail %q", exit.Tail)
		}
	})
}

// What is deaf to SIGTERM is killed when the grace is over, and not before.
func TestGraceOfADeafChildEnds(t *testing.T) {
	onEveryShell(t, func(t *testing.T, _ *rig, s *Shim, child *agent) {
		const grace = 300 * time.Millisecond
		begin := time.Now()
		s.Stop(grace, "drained")
		if exit := wait(t, s); !exit.Ordered || time.Since(begin) < grace {
			t.Errorf("after %s: %+v", time.Since(begin), exit)
		}
		child.ended()
	})
}

// L7: a shorter grace, a kill and a freeze count while the rest of a group has its grace.
func TestL7GraceOfAChildIsCutShort(t *testing.T) {
	for name, cut := range map[string]func(r *rig, s *Shim){
		"shorter": func(_ *rig, s *Shim) { s.Stop(time.Millisecond, "sooner") },
		"kill":    func(_ *rig, s *Shim) { s.Stop(0, "superseded") },
		"freeze":  func(r *rig, _ *Shim) { r.advance(50 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			onEveryShell(t, func(t *testing.T, r *rig, s *Shim, child *agent) {
				s.Stop(time.Hour, "drained")
				shellEnded(t, s, child)
				child.ask("print still here")
				cut(r, s)
				exit := wait(t, s)
				// tmux, which is killed too, may not have told yet how the shell has ended.
				told := exit.Signal == "terminated" || strings.HasSuffix(t.Name(), "/tmux")
				if !told || exit.Reason != "drained" || !exit.Ordered {
					t.Errorf("exit %+v", exit)
				}
				child.ended()
			})
		})
	}
}

// What a leader leaves behind that ends by itself is killed at once, and so is, after a stop, what has left its group:
// nobody has told it to end.
func TestNoGraceForWhatIsLeft(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, children := r.start(r.spec("polite+group+session"))
		a.tell("exit 4")
		if exit := wait(t, s); exit.Code != 4 || exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
		for _, c := range children {
			c.ended()
		}
	})
	onEveryHost(t, func(t *testing.T, r *rig) {
		s, a, children := r.start(r.spec("polite+session"))
		s.Stop(time.Hour, "drained")
		a.await("bye")
		if exit := wait(t, s); exit.Code != 0 || exit.Signal != "" || !exit.Ordered {
			t.Errorf("exit %+v", exit)
		}
		for _, c := range children {
			c.ended()
		}
	})
}
