//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// I55, reclaim without kill: the life whose task is taken back is ended first, with
// SIGKILL when it traps SIGTERM, and only its exit report makes the next start due.
// While its host does not end it the slot stays taken (I119 has the alert of a host
// that cannot). Attempts are bounded too.
func TestI55ReclaimedTaskWaitsForTheOldWorker(t *testing.T) {
	w := fleet(t)
	limits := func(r *vigilv1.RoleSpec) { r.TurnLimit, r.AttemptLimit = durationpb.New(500*time.Millisecond), 2 }
	w.room(role("work", 1, "trap-term", limits))
	first := w.runs(1)["work"]
	task := w.taskIs(w.task("work", "hang"), vigilv1.TaskState_FAILED)
	last := w.next("work", first.Incarnation+1)
	lives := w.lives("work")
	if len(lives) != 3 || task.GetAttempt() != 2 {
		t.Errorf("%d lives and %d attempts for a task that has two", len(lives), task.GetAttempt())
	}
	for i := 1; i < len(lives); i++ {
		if old, now := lives[i-1], lives[i]; old.Term == 0 || old.Gone == 0 || now.Start < old.Gone {
			t.Errorf("life %d began at %d; life %d was told to end at %d and was gone at %d",
				now.Incarnation, now.Start, old.Incarnation, old.Term, old.Gone)
		}
	}

	// The host cannot end it: nothing there may act.
	h := w.host(last.Host)
	residents, err := h.Residents()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(residents, func(r stand.Resident) bool { return r.PID == last.PID })
	if i < 0 || residents[i].Shim == 0 {
		t.Fatalf("%s has no shim: %v", last.File, residents)
	}
	if err := h.Signal(residents[i].Shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw := sync.OnceFunc(func() { _ = h.Signal(residents[i].Shim, syscall.SIGCONT) }) // it may be gone
	t.Cleanup(thaw)
	if _, err := w.fleet.RestartAgent(w.ctx(),
		&vigilv1.RestartAgentRequest{Agent: w.slot("work"), By: "test"}); err != nil {
		t.Fatal(err)
	}
	always(t, 3*time.Second, "no other life begins", func() error {
		if n := len(w.lives("work")); n != len(lives) {
			return fmt.Errorf("%d lives: %s", n, w.describe())
		}
		return nil
	})
	if a := w.agent("work"); a.GetWhyCode() != "stopping" && a.GetWhyCode() != "unkillable" {
		t.Errorf("why does it not run: %s, %s", a.GetWhyCode(), a.GetWhy())
	}
	thaw()
	if now := w.next("work", last.Incarnation); now.Start < w.gone(last).Gone {
		t.Errorf("life %d began before life %d was gone", now.Incarnation, last.Incarnation)
	}
}

// I56, duplicate after fail-over: a new leader reads from the log what the old one
// has ordered. Kill the leader at random moments of restarts: no two lives of one
// agent overlap (law L7, judged for every test), and every agent comes back.
func TestI56LeaderDiesDuringRestarts(t *testing.T) {
	slow(t, "a leader lost in the middle of many restarts")
	w := fleet(t)
	const agents, rounds = 10, 5 // 50 restarts
	w.room(role("single", agents, ""))
	before := w.runs(agents)
	for range rounds {
		for name := range before {
			_, err := w.fleet.RestartAgent(w.ctx(), &vigilv1.RestartAgentRequest{Agent: w.slot(name), By: "test"})
			if err != nil && !errors.Is(err, client.ErrConflict) {
				t.Fatal(err)
			}
		}
		lead := w.leader()
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		start := w.killServer(lead)
		w.eventually("every agent lives its next life", func() error {
			now := w.runs(agents)
			for name, l := range before {
				if now[name].Incarnation <= l.Incarnation {
					return fmt.Errorf("%s lives life %d", name, now[name].Incarnation)
				}
			}
			before = now
			return nil
		})
		start()
	}
	if n := len(w.lives("")); n < agents*(rounds+1) {
		t.Errorf("%d lives: not every restart took place", n)
	}
}

// I59, duplicate daemon: the data directory is locked by the kernel for as long as
// its holder lives, and by nobody afterwards. Who comes second ends with the number
// of the holder.
func TestI59TwentyDaemonsOneDirectory(t *testing.T) {
	w := fleet(t)
	h := w.extra("twins", 51, 4)
	const daemons = 20
	all := make([]*stand.Process, daemons)
	calls := make([]func() error, daemons)
	for i := range all {
		calls[i] = func() (err error) { all[i], err = h.StartBeside(fmt.Sprint("agentd-", i)); return err }
	}
	together(t, calls...)
	holder := w.oneOf(h, all)
	w.room(role("work", 1, "", on(h), lasting(10*time.Second)))
	before := w.runs(1)["work"]
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	together(t, calls...) // no lock of a dead process is in the way
	w.oneOf(h, all)
	if after := w.runs(1)["work"]; after.PID != before.PID {
		t.Errorf("agent's process %d became %d", before.PID, after.PID)
	}
}

// oneOf waits until one daemon is left, which serves, and looks what the others said.
func (w *world) oneOf(h *stand.Host, all []*stand.Process) *stand.Process {
	w.t.Helper()
	var left []*stand.Process
	w.eventually("one daemon is left", func() error {
		left = nil
		for _, p := range all {
			select {
			case <-p.Done():
			default:
				left = append(left, p)
			}
		}
		if len(left) != 1 {
			return fmt.Errorf("%d are", len(left))
		}
		return nil
	})
	for i, p := range all {
		text := w.log(h.Name, fmt.Sprint("agentd-", i))
		if p != left[0] && (p.Code() <= 0 || !strings.Contains(text, fmt.Sprintf("(pid %d)", left[0].PID))) {
			w.t.Errorf("daemon %d ended with %d, the holder is %d: %s", i, p.Code(), left[0].PID, text)
		}
	}
	w.eventually("it serves", func() error {
		host, err := w.fleet.GetHost(w.ctx(), &vigilv1.GetHostRequest{Host: h.Name})
		if err == nil && host.GetState() != "ready" {
			err = errors.New(host.GetState())
		}
		return err
	})
	return left[0]
}

// I61, local view taken as truth: an agentd that starts with an empty memory speaks
// for the agents of its own host alone, and finds those from their shims.
func TestI61RestartedDaemonSpeaksForItself(t *testing.T) {
	w := fleet(t)
	lease := lasting(10 * time.Second)
	w.room(role("mine", 2, "", on(w.Hosts[0]), lease), role("others", 2, "", on(w.Hosts[1]), lease))
	before := w.runs(4)
	const registered = "host registered"
	times := strings.Count(w.log("h1", "agentd"), registered)
	w.killHost(w.Hosts[0])()
	w.eventually("agentd is back", func() error {
		if strings.Count(w.log("h1", "agentd"), registered) == times {
			return errors.New("it has not registered")
		}
		return nil
	})
	always(t, 2*time.Second, "every agent goes on", func() error {
		for name, l := range before {
			if a := w.agent(name); a.GetIncarnationRaw() != l.Incarnation || int(a.GetPid()) != l.PID ||
				a.GetProcess() != "running" || a.GetParticipant() != "WAITING" {
				return fmt.Errorf("%s was life %d: %s", name, l.Incarnation, w.describe())
			}
		}
		return nil
	})
	if e := w.events("agent.exited", "agent.fence_ended", "agent.lease_ended"); len(e) > 0 {
		t.Errorf("ends were reported: %v", e)
	}
	w.runs(4)
}
