//go:build linux

package proc

import (
	"syscall"
	"testing"
)

// A10: what the agent itself had stopped before a freeze stays stopped after the thaw, in its group and
// outside of it, and may be continued by the agent; the rest goes on. A freeze that is repeated changes nothing.
func TestA10ThawLeavesAloneWhatTheAgentHadStopped(t *testing.T) {
	tree, pids := start(t, forker(t), "family", 3)
	for _, resting := range [][]int{{}, {0}, {1}, {2}, {0, 1, 2}} {
		rests := map[int]bool{}
		for _, i := range resting {
			rests[pids[i]] = true
			if err := syscall.Kill(pids[i], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			until(t, "its own stop", func() bool { return stateOf(pids[i]) == 'T' })
		}
		for range 2 {
			if err := tree.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
		for _, pid := range pids {
			until(t, "the freeze", func() bool { return stateOf(pid) == 'T' })
		}
		if err := tree.Thaw(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if !rests[pid] {
				until(t, "running", func() bool { return stateOf(pid) != 'T' })
			}
		}
		for pid := range rests {
			if stateOf(pid) != 'T' {
				t.Errorf("%d of %v goes on although it had been stopped", pid, resting)
			}
			_ = syscall.Kill(pid, syscall.SIGCONT)
			until(t, "continued", func() bool { return stateOf(pid) != 'T' })
		}
	}
}
