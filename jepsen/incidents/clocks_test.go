//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/disk"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// negative finds a span of time below zero in what people read.
var negative = regexp.MustCompile(`(^|[ (])-[0-9.]+ ?(ns|µs|ms|s|m|h|d)\b`)

// I23, ages out of wall clocks: while the clock of the leader, and then of a host, is an
// hour ahead or behind, no lease ends early, each one that is not renewed ends, and no
// negative age is shown anywhere (laws L1, L2).
func TestI23SteppedClocksChangeNoLease(t *testing.T) {
	slow(t, "a program that is compiled anew, and four steps of clocks")
	w := fleet(t)
	if w.Servers[0].Clock() == nil {
		t.Skip("the program that was given cannot be shown other clocks: -vigil")
	}
	const agents, ticking = 20, 3
	h := w.Hosts[0]
	w.room(role("work", agents, "", byHand, lasting(3*ttl)),
		role("ticks", ticking, "", on(h), lasting(3*ttl)), role("dead", 4, "", byHand))
	workers := w.workers(agents)
	before := w.runs(ticking)
	dead := 0
	for _, m := range []*stand.Machine{w.leader().Machine, h.Machine} {
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			t.Logf("the clock of %s is stepped by %s", m.Name, by)
			m.Clock().Set(by)
			t.Cleanup(func() { m.Clock().Set(0) })
			if dead++; dead == 1 {
				w.hand("dead").silent()
			} else {
				w.hand(fmt.Sprintf("dead.%d", dead)).silent()
			}
			always(t, 2*ttl, "no negative age is shown", w.positive)
			m.Clock().Set(0)
			always(t, ttl, "no negative age is shown", w.positive)
		}
	}
	same(t, before, w.runs(ticking))
	for _, e := range w.events("agent.lease_ended", "agent.left", "agent.exited") {
		if !strings.HasPrefix(e.GetAgent(), w.slot("dead")) {
			t.Errorf("%s %s: %s", e.GetKind(), e.GetAgent(), e.GetText())
		}
	}
	for _, one := range workers {
		if err := one.Context().Err(); err != nil {
			t.Errorf("%s has ended: %v", one.Agent(), err)
		}
	}
}

// positive says what is shown with a negative age.
func (w *world) positive() error {
	var errs []error
	check := func(what string, spans map[string]*durationpb.Duration) {
		for name, d := range spans {
			if d.AsDuration() < 0 {
				errs = append(errs, fmt.Errorf("%s: %s is %s", what, name, d.AsDuration()))
			}
		}
	}
	for _, a := range w.agents() {
		check(a.GetName(), map[string]*durationpb.Duration{"lease_left": a.GetLeaseLeft(),
			"fence_left": a.GetFenceLeft(), "order_open": a.GetOrderOpen(), "not_before": a.GetNotBefore(),
			"up": a.GetUp(), "why_left": a.GetWhyLeft(), "last_exit.ago": a.GetLastExit().GetAgo()})
	}
	for _, h := range w.Hosts {
		got := w.hostState(h)
		check(h.Name, map[string]*durationpb.Duration{"lease_left": got.GetLeaseLeft(),
			"drain_left": got.GetDrainLeft(), "steady_in": got.GetSteadyIn(), "heard": got.GetHeard()})
	}
	for _, args := range [][]string{{"status"}, {"host", "list"}, {"agent", "list"},
		{"agent", "show", w.slot("work")}, {"agent", "explain", w.slot("work")}} {
		out, code := w.vigil(args...)
		if found := negative.FindString(out); found != "" || code != 0 {
			errs = append(errs, fmt.Errorf("vigil %v ended with %d and shows %q:\n%s", args, code, found, out))
		}
	}
	return errors.Join(errs...)
}

// I133, a snapshot that blocks beats: with slow disks and fifty thousand tasks a snapshot
// is taken, and installed on a server that joins; nobody is elected for it, and beats
// are answered within a third of a lease (law L10). An overloaded machine has elections
// for other reasons, which do not come every time.
func TestI133SnapshotsBlockNoBeats(t *testing.T) {
	slow(t, "fifty thousand tasks")
	w := disks(t)
	const agents, tasks, lease = 20, 50_000, 3 * ttl
	w.room(role("work", agents, "", byHand, lasting(lease)), role("tasks", 1, "", byHand),
		role("probe", 1, "", byHand, lasting(lease)))
	w.manyTasks("tasks", tasks)
	workers := w.workers(agents)
	for _, sv := range w.Servers {
		w.spoil(sv, disk.Faults{Slow: 2 * time.Millisecond})
	}
	stop := w.probe("probe")
	for tries := 1; w.electsFor(w.snapshotAndInstall); tries++ {
		if tries == 3 {
			t.Error("each of three times there was an election")
			break
		}
	}
	took := stop()
	if p99 := took[len(took)*99/100]; p99 > lease/3 {
		t.Errorf("of %d beats 99 %% were answered within %s, a third of a lease is %s", len(took), p99, lease/3)
	} else {
		t.Logf("of %d beats 99 %% were answered within %s, all within %s", len(took), p99, took[len(took)-1])
	}
	w.noneEnded(workers)
}

// electsFor tells whether there was an election while something was done.
func (w *world) electsFor(do func()) bool {
	w.t.Helper()
	before := w.status().GetTerm()
	do()
	now := w.status().GetTerm()
	w.t.Logf("term %d, before %d", now, before)
	return now != before
}

// snapshotAndInstall waits for the next snapshot and has one installed on a follower.
func (w *world) snapshotAndInstall() {
	w.t.Helper()
	began, sv := time.Now(), w.follower()
	eventually(w.t, 3*time.Minute, "a snapshot is taken", func() error {
		w.task("tasks", "") // there must be something new
		if newest := w.snapshotOf(w.leader()); newest.Before(began) {
			return errNotYet(newest.String())
		}
		return nil
	})
	if sv == w.leader() { // after an election
		sv = w.follower()
	}
	w.reseed(sv)
	if w.snapshotOf(sv).Before(began) {
		w.t.Errorf("no snapshot was installed on %s", sv.Name)
	}
}

// manyTasks creates so many tasks, many at the same time.
func (w *world) manyTasks(role string, n int) {
	w.t.Helper()
	const callers = 64
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for range n / callers {
				ctx := w.ctx()
				if _, err := w.fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: w.name, Role: role,
					Title: "one of many", By: "test"}); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

// probe beats for an agent again and again until it is stopped; it gives how long the
// beats took, the shortest first.
func (w *world) probe(slot string) (stop func() []time.Duration) {
	h := w.hand(slot)
	quit, done := make(chan struct{}), make(chan struct{})
	var took []time.Duration
	go func() {
		defer close(done)
		for {
			began := time.Now()
			if _, err := w.work.Beat(w.short(), h.request()); err != nil {
				w.t.Logf("a beat: %v", err) // it counts with the time that it took
			}
			took = append(took, time.Since(began))
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	stop = sync.OnceValue(func() []time.Duration {
		close(quit)
		<-done
		slices.Sort(took)
		return took
	})
	w.t.Cleanup(func() { stop() })
	return stop
}

// snapshotOf is when the newest whole snapshot on a server's disk was written.
func (w *world) snapshotOf(sv *stand.Server) (newest time.Time) {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(sv.Disk().Store(), "snapshots", "*", "state.bin"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range found {
		if info, err := os.Stat(file); err == nil && filepath.Ext(filepath.Dir(file)) != ".tmp" &&
			info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}
