//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The seed is a job queue whose executor runs agents in one process on one machine.
// It lists five failure modes with a mitigation for each, and four things to verify
// by hand. Here they are verified by a program.

// Verification 1, duplicate prevention: whatever started an agent is reloaded while
// the agent works; nothing is started a second time.
func TestReloadSpawnsNoDuplicate(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("researcher", 1, "", on(h), lasting(patience)))
	before := w.runs(1)
	task := w.task("researcher", "busy=4s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	w.replaceDaemon(h) // as after a change of its settings ...
	w.settled()
	w.killHost(h)() // ... and as after a crash
	w.settled()
	if got := w.taskIs(task, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 ||
		got.GetResult() != "done by "+w.slot("researcher") {
		t.Errorf("the task took %d attempts: %s", got.GetAttempt(), got.GetResult())
	}
	same(t, before, w.runs(1))
	if n, m := len(w.events("order.start")), len(w.lives("")); n != 1 || m != 1 {
		t.Errorf("%d starts were ordered, %d agents lived", n, m)
	}
}

// Verification 2, time-out: an agent that works on one task for longer than its role
// allows is ended, with everything that it started, and the reason is kept.
func TestTimeoutEndsTheTree(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	w.room(role("slow", 1, "fork,trap-term", on(h), func(r *vigilv1.RoleSpec) {
		r.TurnLimit, r.AttemptLimit = durationpb.New(1500*time.Millisecond), 1
	}))
	life := w.runs(1)["slow"]
	if n := len(w.treeOf(h, "slow")); n != 3 {
		t.Fatalf("%d processes, it and its two children were expected", n)
	}
	began := ledger.Now()
	task := w.task("slow", "hang")
	got := w.taskIs(task, vigilv1.TaskState_FAILED)
	if !strings.Contains(got.GetNote()+got.GetResult(), "turn limit") {
		t.Errorf("the task says %q, %q", got.GetNote(), got.GetResult())
	}
	end := w.gone(life)
	if end.Term == 0 || time.Duration(end.Last()-began) < 1500*time.Millisecond {
		t.Errorf("SIGTERM at %d; it ran for %s with the task", end.Term, time.Duration(end.Last()-began))
	}
	w.sees("agent.turn_limit", "slow", 0)
	next := w.next("slow", life.Incarnation)
	list := w.treeOf(h, "slow")
	if len(list) != 3 || slices.Contains(list, life.PID) || !slices.Contains(list, next.PID) {
		t.Errorf("processes %v are left, those of the next life are 3 with %d", list, next.PID)
	}
}

// treeOf lists the processes on a host that name an agent: itself and what it left.
func (w *world) treeOf(h *stand.Host, slot string) (pids []int) {
	w.t.Helper()
	list, err := h.Processes()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range list {
		if slices.Contains(p.Args, "child") && slices.Contains(p.Args, w.slot(slot)) {
			pids = append(pids, p.PID)
		}
	}
	residents, err := h.Residents()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range residents {
		if r.Agent == w.slot(slot) {
			pids = append(pids, r.PID)
		}
	}
	return pids
}

// Verification 3, orphan clean-up: everything that watched an agent is killed while
// the agent works; after the restart no process of that life is left, and its task
// is done by the next one.
func TestOrphansAreCleanedUp(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[2]
	w.room(role("worker", 1, "fork", on(h)))
	life := w.runs(1)["worker"]
	task := w.task("worker", "busy=2s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	residents, err := h.Residents()
	if err != nil {
		t.Fatal(err)
	}
	was := w.treeOf(h, "worker")
	start := w.killHost(h)
	for _, r := range residents {
		if r.Agent == w.slot("worker") {
			if err := h.Signal(r.Shim, sigKill); err != nil {
				t.Fatal(err)
			}
		}
	}
	start()
	w.gone(life)
	next := w.next("worker", life.Incarnation)
	if got := w.taskIs(task, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 2 {
		t.Errorf("the task took %d attempts", got.GetAttempt())
	}
	now := w.treeOf(h, "worker")
	for _, pid := range was {
		if slices.Contains(now, pid) {
			t.Errorf("process %d of the first life is left", pid)
		}
	}
	if len(now) != 3 || !slices.Contains(now, next.PID) {
		t.Errorf("these are left: %v", now)
	}
}

// Verification 4, heartbeat: while an agent works its proof of life is renewed again
// and again, and everybody can see it.
func TestHeartbeatIsRenewed(t *testing.T) {
	w := fleet(t)
	w.room(role("worker", 1, ""))
	w.runs(1)
	task := w.task("worker", "quiet=30s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	renewed, last := 0, time.Duration(0)
	w.eventually("the lease is renewed several times", func() error {
		a := w.agent("worker")
		left := a.GetLeaseLeft().AsDuration()
		if left <= 0 || left > ttl || a.GetTask() != task {
			t.Fatalf("the lease has %s left of %s, task %d", left, ttl, a.GetTask())
		}
		if left > last {
			renewed++
		}
		if last = left; renewed < 6 {
			return fmt.Errorf("%d times", renewed)
		}
		return nil
	})
	w.closeTask(task)
}

// Mitigation 1, state in two places: the host's journal and the cluster are brought
// together when they meet again. What runs by right is kept, what was ended
// meanwhile is not brought back.
func TestTwoStoresAgree(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[0]
	w.room(role("kept", 1, "", on(h), lasting(patience)), role("ended", 1, "", on(h), lasting(patience)))
	before := w.runs(2)
	start := w.killHost(h)
	w.desire(w.slot("ended"), "stopped")
	w.restartServers()
	start()
	w.ends("ended")
	w.gone(before["ended"])
	delete(before, "ended")
	same(t, before, w.runs(1))
	for name := range map[string]bool{"kept": true, "ended": true} {
		if n := len(w.lives(name)); n != 1 {
			t.Errorf("%s lived %d times", name, n)
		}
	}
}

// restartServers kills all servers at once and starts them again.
func (w *world) restartServers() {
	w.t.Helper()
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	for _, start := range starts {
		start()
	}
}

// Mitigation 2, time-outs are enforced by the host: a life that is longer than its
// role allows is ended, with SIGKILL where SIGTERM does not help, and what it held
// is free again.
func TestRunLimitIsEnforced(t *testing.T) {
	w := fleet(t)
	w.room(role("endless", 1, "trap-term", func(r *vigilv1.RoleSpec) { r.RunLimit = seconds(3) }))
	life := w.runs(1)["endless"]
	end := w.gone(life)
	if end.Term == 0 || time.Duration(end.Last()-end.Start) < 3*time.Second/2 {
		t.Errorf("SIGTERM at %d, it ran for %s", end.Term, time.Duration(end.Last()-end.Start))
	}
	w.next("endless", life.Incarnation)
	var exit *vigilv1.Exit
	w.eventually("the reason is told", func() error {
		if exit = w.agent("endless").GetLastExit(); !strings.Contains(exit.GetReason(), "run limit") {
			return fmt.Errorf("last exit: %v", exit)
		}
		return nil
	})
}

// Mitigation 3, clean-up at start-up: after a machine lost all its processes nothing
// is said to run there, and no task stays "running" for ever.
func TestNothingRunsForEver(t *testing.T) {
	w := fleet(t)
	h := w.Hosts[1]
	w.room(role("worker", 3, "", on(h)))
	before := w.runs(3)
	var tasks []uint64
	for range 3 {
		tasks = append(tasks, w.task("worker", "busy=1s"))
	}
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_IN_PROGRESS)
	}
	if err := h.KillAll(); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	for _, id := range tasks {
		if got := w.taskIs(id, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 2 {
			t.Errorf("task %d took %d attempts", id, got.GetAttempt())
		}
	}
	for name, l := range before {
		if exit := w.agent(name).GetLastExit(); exit.GetReason() == "" {
			t.Errorf("%s: nobody says how life %s ended: %v", name, l.File, exit)
		}
	}
}

// Mitigation 4, lost updates: of several writers that have read the same revision one
// wins; the others are told, with the revision that is valid now, and lose nothing.
func TestConcurrentUpdatesConflict(t *testing.T) {
	w := fleet(t)
	w.room(role("hand", 2, "", byHand))
	const writers = 10
	rev := w.agent("hand").GetRev()
	wins, conflicts := 0, 0
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range writers {
		all.Go(func() {
			by := fmt.Sprintf("writer %d", i)
			for try := uint64(0); ; try++ {
				ask := &vigilv1.SetAgentRequest{Agent: w.slot("hand"),
					Desired: []string{"running", "stopped"}[i%2], By: by, IfRev: rev}
				if try > 0 {
					got, err := w.fleet.GetAgent(w.ctx(), &vigilv1.GetAgentRequest{Agent: w.slot("hand")})
					if err != nil {
						t.Error(err)
						return
					}
					ask.IfRev = got.GetAgent().GetRev()
				}
				_, err := w.fleet.SetAgent(w.ctx(), ask)
				mu.Lock()
				switch {
				case err == nil && try == 0:
					wins++
				case try == 0:
					conflicts++
				}
				mu.Unlock()
				var no *client.Error
				switch {
				case err == nil:
					return
				case !errors.As(err, &no) || no.Code != "conflict" || no.Rev <= ask.IfRev:
					t.Errorf("%s: %v", by, err)
					return
				}
			}
		})
	}
	all.Wait()
	if wins != 1 || conflicts != writers-1 {
		t.Errorf("%d writers won with revision %d, %d were refused", wins, rev, conflicts)
	}
	by := map[string]bool{}
	for _, e := range w.events("agent.wanted", "agent.stopped") {
		by[e.GetText()] = true
	}
	if len(by) != writers {
		t.Errorf("%d of %d updates are in the history: %v", len(by), writers, by)
	}
}

// Mitigation 5, heartbeats instead of a guess by age: a task that takes three times
// the lease is left alone while its agent proves that it lives; one whose agent is
// silent is taken back, although its process runs.
func TestHungIsTheOneThatIsSilent(t *testing.T) {
	w := fleet(t)
	proves := func(r *vigilv1.RoleSpec) { r.Proof = "agent" }
	w.room(role("long", 1, "", proves), role("hung", 1, "silent", proves))
	lives := w.runs(2)
	long, hung := w.task("long", "quiet=6s"), w.task("hung", "")
	w.sees("agent.lease_ended", "hung", 0)
	w.eventually("the silent agent's task is taken back", func() error {
		for _, e := range w.events("task.recovered") {
			if e.GetTask() == hung {
				return nil
			}
		}
		return errors.New(w.describe())
	})
	if l := w.running()["hung"]; len(l) != 1 || l[0].File != lives["hung"].File {
		t.Errorf("its process was ended for it: %v", l)
	}
	if got := w.taskIs(long, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
		t.Errorf("the long task took %d attempts", got.GetAttempt())
	}
	for _, e := range w.events("agent.lease_ended", "task.recovered") {
		if e.GetAgent() == w.slot("long") || e.GetTask() == long {
			t.Errorf("%s: %s", e.GetKind(), e.GetText())
		}
	}
}
