//go:build linux

package incidents

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/jepsen/stand/boxwords"
	"vigil/rpc/gen/vigilv1"
)

// processes lists the processes of a machine one of whose arguments contains a text.
func (w *world) processes(m *stand.Machine, text string) (found []boxwords.Process) {
	w.t.Helper()
	list, err := m.Processes()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range list {
		if strings.Contains(strings.Join(p.Args, " "), text) {
			found = append(found, p)
		}
	}
	return found
}

// lifeFolder is where a host keeps the present life of an agent.
func (w *world) lifeFolder(h *stand.Host, slot string) string {
	w.t.Helper()
	a := w.agent(slot)
	return filepath.Join(h.Data, "lives", fmt.Sprintf("%d-%d", a.GetId(), a.GetIncarnationRaw()))
}

// cleared waits until a host has nothing more of a life.
func (w *world) cleared(folder string) {
	w.t.Helper()
	w.eventually("the folder of the dead life goes", func() error {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %v; %s", folder, err, w.describe())
		}
		return nil
	})
}

// kill kills one process of a machine.
func (w *world) kill(m *stand.Machine, pid int) {
	w.t.Helper()
	if err := m.Signal(pid, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
}

// resident is the process of a slot on a host.
func (w *world) resident(h *stand.Host, slot string) stand.Resident {
	w.t.Helper()
	all, err := h.Residents()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range all {
		if r.Agent == w.slot(slot) {
			return r
		}
	}
	w.t.Fatalf("%s is not on %s: %v", slot, h.Name, all)
	return stand.Resident{}
}

// I47, zombie session: an agent in a terminal whose process is killed is dead, although
// its terminal would live on: the shim watches the process. The terminal is gone before
// the next life begins.
func TestI47TerminalOfADeadAgentProvesNothing(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("work", 1, "", on(h), by("tmux")))
	first := w.runs(1)["work"]
	folder := w.lifeFolder(h, "work")
	if len(w.processes(h.Machine, folder)) == 0 {
		t.Skip("agents have no terminal here: there is no tmux")
	}
	w.kill(h.Machine, first.PID)
	if e := w.sees("agent.exited", "work", 0); !strings.Contains(e.GetText(), "killed") {
		t.Errorf("its death is told as: %s", e.GetText())
	}
	second := w.next("work", first.Incarnation)
	if left := w.processes(h.Machine, folder); len(left) > 0 {
		t.Errorf("life %d runs beside the terminal of life %d: %v", second.Incarnation, first.Incarnation, left)
	}
	w.cleared(folder)
}

// I119, ignored SIGTERM: a stop ends an agent that traps SIGTERM with everything that
// it has started, in its process group or out of it.
func TestI119StopEndsTheWholeTree(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("work", 1, "trap-term,fork", on(h)))
	l := w.runs(1)["work"]
	if n := len(w.processes(h.Machine, "child "+w.slot("work"))); n != 2 {
		t.Fatalf("it has %d children", n)
	}
	w.wants("work", "stopped")
	if l = w.gone(l); l.Term == 0 {
		t.Error("it was killed without having been asked to end")
	}
	w.idle("work")
	if left := w.processes(h.Machine, w.slot("work")); len(left) > 0 {
		t.Errorf("its end was reported, and this is left: %v", left)
	}
}

// I119, the other half: while something of an agent outlives SIGKILL, that is shown,
// and its slot stays taken, whoever asks for a start; when it is gone the agent
// starts.
func TestI119UnkillableKeepsItsSlot(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("work", 1, "fork", on(h)))
	first := w.runs(1)["work"]
	thaw := w.unkillable("child\x00" + w.slot("work"))
	w.kill(h.Machine, first.PID)
	w.sees("agent.unkillable", "work", 0)
	w.wants("work", "running")
	if text, code := w.vigil("agent", "restart", w.slot("work")); code != 0 {
		t.Fatalf("agent restart: %s", text)
	}
	always(t, 2*time.Second, "its slot stays taken", func() error {
		if a := w.agent("work"); a.GetWhyCode() != "unkillable" || a.GetStuck() == "" {
			return errors.New(w.describe())
		}
		return w.count("work", 1)
	})
	thaw()
	w.next("work", first.Incarnation)
}

// unkillable makes the processes whose arguments begin with a text behind the program's
// name outlive SIGKILL, as one does that waits for a disk, until it is undone: in the
// freezer of version 1 nothing wakes them.
func (w *world) unkillable(args string) (undo func()) {
	w.t.Helper()
	dir := fmt.Sprintf("/sys/fs/cgroup/freezer/vigil-incidents-%d", os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.t.Skipf("nothing can be made unkillable here: %v", err)
	}
	set := func(file, text string) error { return os.WriteFile(filepath.Join(dir, file), []byte(text), 0) }
	w.t.Cleanup(func() {
		w.eventually("the freezer goes", func() error {
			thawed := set("freezer.state", "THAWED")
			left, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // usually agentd has killed them
			for _, line := range strings.Fields(string(left)) {
				if pid, err := strconv.Atoi(line); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			return errors.Join(thawed, syscall.Rmdir(dir))
		})
	})
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, file := range lines {
		text, _ := os.ReadFile(file) // it may have ended
		if _, rest, _ := bytes.Cut(text, []byte{0}); bytes.HasPrefix(rest, []byte(args)) {
			if err := set("cgroup.procs", filepath.Base(filepath.Dir(file))); err != nil {
				w.t.Fatal(err)
			}
			n++
		}
	}
	if n == 0 {
		w.t.Fatalf("there is no process %q", args)
	}
	if err := set("freezer.state", "FROZEN"); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("it is frozen", func() error {
		if state, err := os.ReadFile(filepath.Join(dir, "freezer.state")); string(state) != "FROZEN\n" {
			return fmt.Errorf("%s %w", state, err)
		}
		return nil
	})
	return func() {
		if err := set("freezer.state", "THAWED"); err != nil {
			w.t.Error(err)
		}
	}
}

// wants has a human say what an agent shall be.
func (w *world) wants(slot, desired string) {
	w.t.Helper()
	if _, err := w.fleet.SetAgent(w.ctx(), &vigilv1.SetAgentRequest{Agent: w.slot(slot), Desired: desired,
		By: "test"}); err != nil {
		w.t.Fatal(err)
	}
}

// idle waits until the cluster knows that nothing of an agent runs.
func (w *world) idle(slot string) {
	w.t.Helper()
	w.eventually("nothing of "+slot+" runs", func() error {
		if a := w.agent(slot); a.GetProcess() != "none" {
			return errors.New(w.describe())
		}
		return nil
	})
}

// I121, orphans of a restarted daemon: agentd is killed twenty times, at rest, while
// it takes its agents over and while it replaces one. At the end there are as many
// processes as agents, those that were not killed are the same, and each has its shim.
func TestI121DaemonKilledTwentyTimes(t *testing.T) {
	w := fleet(t)
	const agents = 10
	h := w.Hosts[0]
	w.room(role("work", agents, "", on(h), lasting(patience)))
	before := w.runs(agents)
	victims := slices.Sorted(mapKeys(before))[:4]
	for i := range 20 {
		back := w.replace(h)
		switch {
		case i%5 == 4:
			back()
			slot := victims[i/5]
			w.kill(h.Machine, before[slot].PID) // it is about to replace one
			w.gone(before[slot])
		case i%2 == 0:
			w.eventually("agentd has begun", func() error {
				if !strings.Contains(w.log(h.Name, "agentd"), fmt.Sprintf("pid=%d", h.Process.PID)) {
					return errors.New("it has not")
				}
				return nil
			})
		case i%2 == 1:
			back() // at rest
		}
	}
	w.replace(h)()
	after := w.runs(agents)
	for slot, l := range before {
		now := after[slot]
		switch killed := slices.Contains(victims, slot); {
		case !killed && now.File != l.File:
			t.Errorf("%s: life %d, process %d became life %d, process %d", slot, l.Incarnation, l.PID,
				now.Incarnation, now.PID)
		case killed && now.Incarnation == l.Incarnation:
			t.Errorf("%s was killed and is said to live", slot)
		}
	}
	var here []stand.Resident
	w.eventually("nothing else runs", func() (err error) {
		if here, err = h.Residents(); len(here) != agents {
			return errors.Join(fmt.Errorf("%d processes of agents: %v", len(here), here), err)
		}
		return nil
	})
	for _, r := range here {
		if r.Shim == 0 {
			t.Errorf("%s, process %d, has no shim", r.Agent, r.PID)
		}
	}
	w.shimsOf(h, here)
}

// shimsOf makes sure that each agent has a shim of its own, and that any other shim is in the reserve of the agentd
// that runs: none of the agentds that were killed has left one.
func (w *world) shimsOf(h *stand.Host, agents []stand.Resident) {
	w.t.Helper()
	const mostInReserve = 4 // as many as may start at once
	held := map[int]bool{}
	for _, r := range agents {
		held[r.Shim] = true
	}
	w.eventually("a shim for each agent, and a reserve", func() error {
		with, spare := 0, 0
		for _, p := range w.processes(h.Machine, "/proc/self/exe shim") {
			switch {
			case held[p.PID]:
				with++
			case p.Parent == h.Process.PID:
				spare++
			default:
				return fmt.Errorf("shim %d holds no agent and is a child of %d, not of agentd %d", p.PID, p.Parent, h.Process.PID)
			}
		}
		if with != len(agents) || spare > mostInReserve {
			return fmt.Errorf("%d shims hold %d agents, %d are in reserve", with, len(agents), spare)
		}
		return nil
	})
}

// replace kills the agentd of a host and starts another one; wait returns when that
// one has registered what runs there.
func (w *world) replace(h *stand.Host) (wait func()) {
	w.t.Helper()
	start := w.killHost(h)
	registered := func() int { return strings.Count(w.log(h.Name, "agentd"), "host registered") }
	before := registered()
	start()
	return func() {
		w.t.Helper()
		w.eventually("the new agentd has registered", func() error {
			if registered() == before {
				return errors.New("it has not")
			}
			return nil
		})
	}
}

// mapKeys yields the slots of lives.
func mapKeys(lives map[string]*ledger.Life) func(func(string) bool) {
	return func(yield func(string) bool) {
		for slot := range lives {
			if !yield(slot) {
				return
			}
		}
	}
}

// I123, left-overs block the restart: agentd, a shim and what they hold are killed at
// once. Lock, socket and terminal of the dead life do not stand in the way of the first
// try, and are removed; those of a life that goes on stay.
func TestI123LeftOversDoNotBlock(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("dead", 1, "", on(h), by("tmux"), lasting(patience)),
		role("alive", 1, "", on(h), by("tmux"), lasting(patience)))
	before := w.runs(2)
	dead, alive := w.lifeFolder(h, "dead"), w.lifeFolder(h, "alive")
	start := w.killHost(h)
	w.kill(h.Machine, w.shimOf(h, before["dead"].PID))
	w.gone(before["dead"])
	for _, file := range []string{"lock", "intent.json", "started.json", "sock"} {
		if _, err := os.Lstat(filepath.Join(dead, file)); err != nil {
			t.Errorf("nothing is left over: %v", err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(h.Data, "agentd.lock")); strings.TrimSpace(string(text)) !=
		strconv.Itoa(h.Process.PID) {
		t.Errorf("the lock names %q, %v", text, err)
	}
	start()
	w.next("dead", before["dead"].Incarnation)
	after := w.runs(2)
	if err := w.count("dead", 2); err != nil {
		t.Error(err)
	}
	if now := after["alive"]; now.File != before["alive"].File {
		t.Errorf("the one that was alive is now life %d, process %d", now.Incarnation, now.PID)
	}
	w.cleared(dead)
	for _, file := range []string{"lock", "sock"} {
		if _, err := os.Lstat(filepath.Join(alive, file)); err != nil {
			t.Errorf("of the life that goes on: %v", err)
		}
	}
	if e := w.events("agent.start_limit"); len(e) > 0 {
		t.Errorf("a start took more than one try: %v", e)
	}
}

// shimOf finds the shim of a process on a host: the agent may be below its terminal.
func (w *world) shimOf(h *stand.Host, pid int) int {
	w.t.Helper()
	list, err := h.Processes()
	if err != nil {
		w.t.Fatal(err)
	}
	parents, shims := map[int]int{}, map[int]bool{}
	for _, p := range list {
		parents[p.PID], shims[p.PID] = p.Parent, slices.Contains(p.Args, "shim")
	}
	for ; pid > 1; pid = parents[pid] {
		if shims[pid] {
			return pid
		}
	}
	w.t.Fatalf("process %d on %s has no shim", pid, h.Name)
	return 0
}
