//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// I11, mass expiry after an outage: agents in the middle of their tasks go on in their
// first life when all servers were away for three leases, and when the leader is
// killed (law L10).
func TestI11OutageExpiresNobody(t *testing.T) {
	slow(t, "an outage of three leases")
	w := fleet(t)
	const agents = 24
	w.room(role("work", agents, ""))
	before := w.runs(agents)
	var tasks []uint64
	for range agents {
		tasks = append(tasks, w.task("work", "busy=16s"))
	}
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_IN_PROGRESS)
	}
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	time.Sleep(3 * ttl)
	for _, start := range starts {
		start()
	}
	w.settled()
	start := w.killServer(w.leader())
	time.Sleep(ttl)
	start()
	for _, id := range tasks {
		if got := w.taskIs(id, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
			t.Errorf("task %d took %d attempts", id, got.GetAttempt())
		}
	}
	same(t, before, w.runs(agents))
	if n := len(w.lives("")); n != agents {
		t.Errorf("%d lives of %d agents", n, agents)
	}
}

// workers joins agents of the role "work", each with a client and beats of its own.
func (w *world) workers(n int) []*client.Worker {
	w.t.Helper()
	list := make([]*client.Worker, n)
	var all sync.WaitGroup
	var failed atomic.Value
	for i := range list {
		c, err := client.Open(client.Config{Addrs: w.Addrs(), Name: fmt.Sprint("worker ", i)})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { c.Close() })
		all.Go(func() {
			if list[i], err = client.Join(w.ctx(), c, client.WorkerConfig{Agent: w.slot("work.*")}); err != nil {
				failed.Store(err)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		w.t.Fatalf("join: %v", err)
	}
	return list
}

// noneEnded checks that no worker was told that its life is over, and that the history
// tells of no lease that ended.
func (w *world) noneEnded(workers []*client.Worker) {
	w.t.Helper()
	w.noneDied()
	for _, one := range workers {
		if err := one.Context().Err(); err != nil {
			w.t.Errorf("%s has ended: %v", one.Agent(), err)
		}
	}
}

// I15, leadership that flaps: while the leader is killed, stopped and cut off twenty
// times, nobody who beats loses its lease, and each stint has a later term than the
// one before.
func TestI15LeadershipFlaps(t *testing.T) {
	slow(t, "twenty changes of the leader")
	w := fleet(t)
	const agents, moves = 50, 20
	w.room(role("work", agents, "", byHand, lasting(3*ttl)))
	workers := w.workers(agents)
	ways := []func(*stand.Server) (undo func()){
		w.killServer,
		func(sv *stand.Server) func() { return w.freeze(sv.Machine, sv.Process.PID) },
		func(sv *stand.Server) func() {
			w.cut(sv.Machine, stand.Both)
			return func() { w.heal(sv.Machine) }
		},
	}
	term := w.status().GetTerm()
	for n := range moves {
		lead := w.leader()
		undo := ways[n%len(ways)](lead)
		w.eventually("somebody else leads", func() error {
			st, err := w.cluster.Status(w.ctx(), &vigilv1.StatusRequest{})
			switch {
			case err != nil:
				return err
			case st.GetLeader() == lead.Name || st.GetLeader() == "":
				return errNotYet("leader " + st.GetLeader())
			case st.GetTerm() <= term:
				return fmt.Errorf("term %d after %d", st.GetTerm(), term)
			}
			term = st.GetTerm()
			return nil
		})
		undo()
	}
	w.settled()
	w.noneEnded(workers)
}

// I21, leases that every election renews: while leadership moves more often than a
// lease lasts, the dead are declared dead all the same, and the living never (laws L1,
// L10).
func TestI21ElectionsKeepNobodyAlive(t *testing.T) {
	w := fleet(t)
	const each = 5
	// Of each leader's time the first seconds do not count, so that the living are heard; and one change may be slow.
	const lease, pace = 9 * time.Second, 4 * time.Second
	w.room(role("work", 2*each, "", byHand, lasting(lease)))
	live := w.workers(each)
	var dead []*hand
	for range each {
		got, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: w.slot("work.*")}})
		if err != nil {
			t.Fatal(err)
		}
		dead = append(dead, &hand{w: w, id: got.GetAgentId(),
			speaker: &vigilv1.Speaker{Agent: got.GetAgent(), Incarnation: got.GetIncarnation()}})
	}
	moves := 0
	for ended := 0; ended < each; moves++ {
		if moves > 20 {
			t.Fatalf("after %d changes of the leader, one each %s, %d of %d are dead", moves, pace, ended, each)
		}
		time.Sleep(pace)
		if _, err := w.cluster.TransferLeadership(w.ctx(), &vigilv1.TransferLeadershipRequest{}); err != nil {
			t.Logf("transfer: %v", err) // an election was on its way
		}
		ended = len(w.events("agent.lease_ended"))
	}
	t.Logf("all %d were dead after %d changes of the leader, one each %s", each, moves, pace)
	if moves < 2 {
		t.Errorf("they died after %d changes: nothing was tried", moves)
	}
	gone := map[string]bool{}
	for _, e := range w.events("agent.lease_ended") {
		gone[e.GetAgent()] = true
	}
	for _, h := range dead {
		if !gone[h.speaker.GetAgent()] {
			t.Errorf("%s was not declared dead", h.speaker.GetAgent())
		}
	}
	for _, one := range live {
		if err := one.Context().Err(); err != nil || gone[one.Agent()] {
			t.Errorf("%s lives, and was declared dead: %v", one.Agent(), err)
		}
	}
}

// I28, a grace that had run out before it was needed: servers that have followed for
// five leases take the lead, and nobody is declared dead then or in the five leases
// after.
func TestI28OldFollowerTakesTheLead(t *testing.T) {
	slow(t, "ten leases")
	w := fleet(t)
	const agents = 6
	w.room(role("work", agents, ""))
	before := w.runs(agents)
	always(t, 5*ttl, "nobody is declared dead before", w.dead)
	start := w.killServer(w.leader())
	always(t, 5*ttl, "nobody is declared dead after", w.dead)
	start()
	same(t, before, w.runs(agents))
}

// dead says whether the history tells of an end; it says nothing while nobody leads.
func (w *world) dead() error {
	list, err := w.read(&vigilv1.WatchEventsRequest{Room: w.name, After: w.seen, NoFollow: true},
		[]string{"agent.lease_ended", "agent.fence_ended", "agent.left", "agent.exited"})
	if err == nil && len(list) > 0 {
		return errors.New(list[0].GetAgent() + " " + list[0].GetText())
	}
	return nil
}

// I73, deaths that nobody saw: agents that die while the leader stands still are
// replaced by whoever leads next, without an operator.
func TestI73DeathsDuringAStall(t *testing.T) {
	w := fleet(t)
	const agents = 5
	w.room(role("work", agents, ""))
	before := w.runs(agents)
	var tasks []uint64
	for range agents {
		tasks = append(tasks, w.task("work", "busy=2s"))
	}
	lead := w.leader()
	thaw := w.freeze(lead.Machine, lead.Process.PID)
	for _, l := range before {
		w.kill(w.host(l.Host).Machine, l.PID)
	}
	for slot, l := range before {
		w.next(slot, l.Incarnation)
	}
	thaw()
	for _, id := range tasks {
		w.taskIs(id, vigilv1.TaskState_COMPLETED)
	}
}
