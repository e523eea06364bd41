package agentd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// Restarting or killing agentd costs no agent its life: same pids, no starts, no
// ends, and it answers for them again.
func TestRestartsCostNoAgentItsLife(t *testing.T) {
	agents, restarts := uint32(50), 20
	if testing.Short() {
		agents, restarts = 10, 6
	}
	h := newHost(t)
	d := h.start(t)
	stream := next(t, h.streams)
	var orders []*vigilv1.Order
	for agent := uint32(1); agent <= agents; agent++ {
		orders = append(orders, order("start", agent, 1, "sleep"))
	}
	stream.orders(t, orders...)
	pids := map[uint32]uint32{}
	for range agents {
		s := next(t, h.starts)
		pids[s.GetAgent()] = s.GetPid()
	}
	next(t, h.registers)
	for range agents {
		next(t, h.accepts)
	}
	for i := range restarts {
		if i%2 == 0 {
			d.kill(t)
		} else {
			d.stop(t)
		}
		drained(h.beats)
		d = h.start(t)
		inventory := next(t, h.registers).GetInventory()
		if len(inventory) != int(agents) {
			t.Fatalf("restart %d: %d agents in the inventory", i, len(inventory))
		}
		for _, r := range inventory {
			if r.GetPid() != pids[r.GetAgent()] || r.GetIncarnation() != 1 {
				t.Fatalf("restart %d: %v, its pid was %d", i, r, pids[r.GetAgent()])
			}
		}
		for len(next(t, h.beats).GetAgents()) != int(agents) {
		}
		// The order list may be old, and the report of the start was perhaps lost.
		next(t, h.streams).orders(t, orders...)
		for range agents {
			if s := next(t, h.starts); s.GetPid() != pids[s.GetAgent()] {
				t.Fatalf("restart %d: start report %v, its pid was %d", i, s, pids[s.GetAgent()])
			}
		}
	}
	none(t, h.accepts, "an order was accepted")
	none(t, h.exits, "an end was reported")
	none(t, h.leaves, "the host has left")
	for agent, pid := range pids {
		if s := state(int(pid)); s == 0 || s == 'Z' {
			t.Errorf("agent %d (pid %d) is gone", agent, pid)
		}
	}
	d.kill(t)
	h.clear(t)
	if n := len(drained(h.exits)); n != int(agents) {
		t.Errorf("%d ends were reported, want %d", n, agents)
	}
}

// L7: shims in reserve go with their agentd, however it ends, and the agents stay.
func TestL7TheReserveGoesWithAgentd(t *testing.T) {
	for _, how := range []string{"killed", "stopped"} {
		h := newHost(t)
		d := h.start(t)
		next(t, h.streams).orders(t, order("start", 1, 1, "sleep"))
		agent := next(t, h.starts).GetPid()
		holder := startedIn(t, h.spec.Dir)[0].Shim
		var ready []int
		until(t, "a shim in reserve", func() bool {
			ready = slices.DeleteFunc(childrenOf(d.cmd.Process.Pid), func(pid int) bool { return pid == holder })
			return len(ready) == 1
		})
		if how == "killed" {
			d.kill(t)
		} else {
			d.stop(t)
		}
		until(t, "the end of the shim in reserve", func() bool { return state(ready[0]) == 0 || state(ready[0]) == 'Z' })
		if s := state(int(agent)); s == 0 || s == 'Z' {
			t.Errorf("%s: the agent is gone", how)
		}
		h.clear(t)
	}
}

// childrenOf lists the processes that a process has started.
func childrenOf(parent int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread that is gone has none
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// A crash of agentd at any step between the acceptance and the record neither starts
// a life twice nor forgets one.
func TestKilledAtEveryStep(t *testing.T) {
	for _, step := range []struct {
		point string
		runs  bool // the agent must have been started before the crash
	}{
		{"accepting", false}, {"accepted", false}, {"locked", false}, {"journaled", false},
		{"forked", true}, {"reported", true},
	} {
		t.Run(step.point, func(t *testing.T) {
			h := newHost(t)
			accepted := map[uint64]bool{}
			h.set(func() {
				h.onAccept = func(r *vigilv1.AcceptOrderRequest) error { accepted[r.GetIncarnation()] = true; return nil }
			})
			d := h.start(t, func(s *daemonSpec) { s.Point = step.point })
			next(t, h.registers)
			next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
			next(t, d.done)

			d = h.start(t)
			inventory := next(t, h.registers).GetInventory()
			stream := next(t, h.streams)
			inc := uint64(1)
			switch {
			case step.runs:
				if len(inventory) != 1 {
					t.Fatal("a life that runs is not in the inventory")
				}
			case step.point == "journaled":
				// It may have been forked: that none is left is reported.
				if x := next(t, h.exits); x.GetReason() != killed || !x.GetOrdered() || x.GetIncarnation() != 1 {
					t.Errorf("exit %v", x)
				}
				inc = 2
			case accepted[1]:
				inc = 2 // the cluster has buried the first, since the inventory lacks it
			}
			if !step.runs {
				stream.orders(t, order("start", 1, inc, "wait"))
			}
			a := next(t, h.agents)
			pid := a.expect(t, "up")
			if step.runs && int(inventory[0].GetPid()) != pid {
				t.Errorf("pid %d runs, the inventory says %v", pid, inventory)
			}
			for s := next(t, h.starts); s.GetIncarnation() != inc || int(s.GetPid()) != pid; s = next(t, h.starts) {
				t.Errorf("start report %v of pid %d", s, pid)
			}
			stream.orders(t, order("start", 1, inc, "wait"))
			stream.settle(t)
			none(t, h.agents, "a second process")
			none(t, h.exits, "an end was reported")
			d.kill(t)
			h.clear(t)
			a.gone(t)
			if all := drained(h.exits); len(all) != 1 || all[0].GetIncarnation() != inc || !all[0].GetOrdered() {
				t.Errorf("exit reports %v", all)
			}
		})
	}
}

// What agents do while no agentd runs is reported once, however often agentd is
// killed on the way.
func TestEndWhileAgentdIsAway(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "crash"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)
	d.kill(t)
	a.conn.Write([]byte("die\n"))
	a.gone(t)
	until(t, "the record", func() bool { return disk.ReadExit(filepath.Join(h.spec.Dir, "lives", "1-1")) != nil })
	// The report is taken, but agentd does not live to note it.
	d = h.start(t, func(s *daemonSpec) { s.Point = "told" })
	next(t, d.done)
	first := next(t, h.exits)
	if first.GetCode() != 3 || first.GetOrdered() || first.GetTail() == "" || first.GetHost() != 7 {
		t.Errorf("exit %v", first)
	}
	for _, r := range drained(h.registers) { // L8, L11: or it would be taken for gone with the host
		if i := r.GetInventory(); len(i) != 1 || i[0].GetAgent() != 1 || i[0].GetIncarnation() != 1 {
			t.Errorf("inventory %v", i)
		}
	}
	d = h.start(t)
	if again := next(t, h.exits); again.GetIncarnation() != 1 || again.GetCode() != 3 {
		t.Errorf("exit %v", again)
	}
	d.stop(t)
	h.clear(t)
	none(t, h.exits, "reported although the cluster knew")
}

// An agent that lost both agentd and its shim is dead, reported, not charged, and
// nothing of it is left when the host registers (incident: orphans).
func TestOrphanIsKilledAndReported(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "fork"))
	var all []*agentTalk
	for range 3 {
		a := next(t, h.agents)
		a.expect(t, "up")
		all = append(all, a)
	}
	next(t, h.starts)
	d.kill(t)
	killShims(t, h.spec.Dir)
	d = h.start(t)
	x := next(t, h.exits)
	for _, a := range all {
		a.gone(t)
	}
	d.kill(t)
	if !x.GetOrdered() || x.GetReason() != killed || x.GetIncarnation() != 1 {
		t.Errorf("exit %v", x)
	}
	h.clear(t)
}

// A shim that is killed takes its agent with it; that is the agent's crash, so that
// restarts of what is killed for its memory are bounded.
func TestKilledShim(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.streams).orders(t, order("start", 1, 1, "fork"))
	var all []*agentTalk
	for range 3 {
		a := next(t, h.agents)
		a.expect(t, "up")
		all = append(all, a)
	}
	killShims(t, h.spec.Dir)
	x := next(t, h.exits)
	for _, a := range all {
		a.gone(t)
	}
	d.kill(t)
	if x.GetOrdered() || x.GetStartFailed() || x.GetSignal() != "killed" || x.GetReason() == "" {
		t.Errorf("exit %v", x)
	}
	h.clear(t)
}

// A copy of a data directory is another boot of the host: it touches nothing of the
// original, and while it is refused it waits (incident: cloned host id).
func TestCopyOfTheDataDirectory(t *testing.T) {
	h := newHost(t)
	first := h.start(t)
	original := next(t, h.registers)
	next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)

	clone := t.TempDir()
	copyTree(t, h.spec.Dir, clone)
	h.set(func() {
		h.onRegister = func(r *vigilv1.RegisterRequest) error {
			if r.GetBoot() != original.GetBoot() {
				return no("host_in_use")
			}
			return nil
		}
	})
	d := h.start(t, func(s *daemonSpec) { s.Dir = clone })
	for range 3 {
		r := next(t, h.registers)
		if r.GetKey() != original.GetKey() || r.GetBoot() == original.GetBoot() || len(r.GetBoot()) > 64 ||
			len(r.GetInventory()) != 0 {
			t.Fatalf("the copy registers with %v, the original with %v", r, original)
		}
	}
	until(t, "the remedy", func() bool { return contains(d.log, "for a copy remove host_key") })
	a.conn.Write([]byte("hello\n"))
	a.expect(t, "heard hello")
	none(t, h.exits, "the copy spoke for the original's agent")
	d.stop(t)
	first.stop(t)
	h.clear(t)
	if all := drained(h.exits); len(all) != 1 {
		t.Errorf("exit reports %v", all)
	}
}

// L10: what cannot be read for a moment proves no end. A life whose lock or intent cannot be opened goes on, keeps its
// slot, and is taken over when it can.
func TestL10JournalThatCannotBeReadEndsNoLife(t *testing.T) {
	for file, says := range map[string]string{shim.LockFile: "is asked again", shim.IntentFile: "is read again"} {
		t.Run(file, func(t *testing.T) {
			h := newHost(t)
			d := h.start(t)
			next(t, h.registers)
			next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
			a := next(t, h.agents)
			a.expect(t, "up")
			next(t, h.starts)
			d.kill(t)
			path := filepath.Join(h.spec.Dir, "lives", "1-1", file)
			if err := errors.Join(os.Rename(path, path+".aside"), os.Symlink(file, path)); err != nil {
				t.Fatal(err)
			}
			d = h.start(t)
			if i := next(t, h.registers).GetInventory(); len(i) != 1 || i[0].GetAgent() != 1 || i[0].GetIncarnation() != 1 {
				t.Errorf("inventory %v", i)
			}
			stream := next(t, h.streams)
			until(t, "the word of it", func() bool { return contains(d.log, says) })
			stream.orders(t, order("stop", 1, 1, "")) // nobody knows to whom yet
			stream.settle(t)
			a.conn.Write([]byte("hello\n"))
			a.expect(t, "heard hello")
			none(t, h.exits, "an end was reported")
			if err := os.Rename(path+".aside", path); err != nil {
				t.Fatal(err)
			}
			x := next(t, h.exits)
			a.gone(t)
			if x.GetIncarnation() != 1 || !x.GetOrdered() || x.GetReason() != "stopped by order" {
				t.Errorf("exit %v", x)
			}
			d.stop(t) // when all is told
			h.clear(t)
			none(t, h.exits, "a second end was reported")
		})
	}
}

// A life of another boot does not run, whether its lock can be tried or not.
func TestLockOfAnotherBootThatCannotBeTried(t *testing.T) {
	h := newHost(t)
	d := h.start(t)
	next(t, h.streams).orders(t, order("start", 1, 1, "wait"))
	a := next(t, h.agents)
	a.expect(t, "up")
	next(t, h.starts)
	next(t, h.registers)
	d.kill(t)
	killShims(t, h.spec.Dir)
	a.gone(t)
	lock := filepath.Join(h.spec.Dir, "lives", "1-1", shim.LockFile)
	if err := errors.Join(os.Remove(lock), os.Symlink(shim.LockFile, lock)); err != nil {
		t.Fatal(err)
	}
	d = h.start(t, func(s *daemonSpec) { s.Boot = "another" })
	if i := next(t, h.registers).GetInventory(); len(i) != 0 {
		t.Errorf("inventory %v", i)
	}
	until(t, "the end of its folder", func() bool {
		list, err := os.ReadDir(filepath.Join(h.spec.Dir, "lives"))
		return err == nil && len(list) == 0
	})
	none(t, h.exits, "an end was reported")
	d.stop(t)
}

// killShims kills every shim of a data directory.
func killShims(t testing.TB, dir string) {
	t.Helper()
	for _, s := range startedIn(t, dir) {
		if err := syscall.Kill(s.Shim, syscall.SIGKILL); err != nil {
			t.Fatal(fmt.Errorf("kill shim %d: %w", s.Shim, err))
		}
		until(t, "the end of the shim", func() bool { // its first thread may be dead while others still hold its files
			threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.Shim)) // none: it is gone
			return state(s.Shim) == 0 || state(s.Shim) == 'Z' && len(threads) <= 1
		})
	}
}
