package rpc

import (
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// delegating has all servers send waits to the leader, as in production.
func (w *world) delegating() {
	for _, s := range w.servers {
		s.delegates.Most = maxDelegates
	}
}

// Creation and claim are one entry, wherever the waiter waits, and the longest waiting is first.
func TestACreatedTaskIsClaimedInItsEntry(t *testing.T) {
	const rounds = 12
	w := start(t, 3)
	w.delegating()
	w.room("demo", "builder", 6)
	got := make(chan waited, rounds)
	speakers := make([]*vigilv1.Speaker, 6)
	for i := range speakers {
		speakers[i] = w.join("demo/builder.*")
		w.wait(within(t), i%3, i, speakers[i], got)
		w.parkedAt(0, i+1)
	}
	for round := range rounds {
		w.mu.Lock()
		before := w.index
		w.mu.Unlock()
		task := w.task(round%3, "demo", "builder", "x")
		r := <-got
		if r.err != nil || r.resp.GetTask().GetId() != task.GetId() || r.who != round%6 {
			t.Fatalf("round %d: waiter %d got %v, %v", round, r.who, r.resp.GetTask(), r.err)
		}
		w.mu.Lock()
		entries := w.index - before
		w.mu.Unlock()
		if entries != 1 || r.resp.GetIndex() != before+1 {
			t.Fatalf("round %d took %d entries; the claim is in %d, the task in %d", round, entries, r.resp.GetIndex(), before+1)
		}
		me := speakers[r.who]
		if _, err := w.work(0).CompleteTask(within(t),
			&vigilv1.CompleteTaskRequest{Speaker: me, Task: task.GetId(), Attempt: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.work(0).Join(within(t), &vigilv1.JoinRequest{Speaker: me}); err != nil {
			t.Fatal(err)
		}
		w.wait(within(t), r.who%3, r.who, me, got)
		w.parkedAt(0, 6)
	}
	for i := range w.servers {
		if f := w.servers[i].park.TaskFigures(); f.Lost != 0 || f.Woken != 0 {
			t.Errorf("server %d woke %d waiters, %d of them for nothing", i, f.Woken, f.Lost)
		}
	}
}

// So does a task that is handed off.
func TestAHandedOffTaskIsClaimedInItsEntry(t *testing.T) {
	w := start(t, 3)
	w.delegating()
	w.room("demo", "builder", 2)
	from, to := w.join("demo/builder.*"), w.join("demo/builder.*")
	task := w.task(0, "demo", "builder", "x")
	if _, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: from}); err != nil {
		t.Fatal(err)
	}
	got := make(chan waited, 1)
	w.wait(within(t), 1, 1, to, got)
	w.parkedAt(0, 1)
	w.mu.Lock()
	before := w.index
	w.mu.Unlock()
	next, err := w.work(2).Handoff(within(t), &vigilv1.HandoffRequest{Speaker: from, Task: task.GetId(), Attempt: 1,
		Result: "done", ToRole: "builder", Title: "y"})
	if err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.err != nil || r.resp.GetTask().GetId() != next.GetNextTask() || r.resp.GetIndex() != before+1 {
		t.Errorf("the waiter got %v in entry %d, %v; want task %d in entry %d", r.resp.GetTask(), r.resp.GetIndex(), r.err,
			next.GetNextTask(), before+1)
	}
}

// A wait outlives the leader at which it waits: the server that it came to goes on, and no task is forgotten.
func TestAWaitAtTheLeaderOutlivesIt(t *testing.T) {
	w := start(t, 3)
	w.delegating()
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	got := make(chan waited, 1)
	w.wait(within(t), 1, 0, me, got)
	w.parkedAt(0, 1)
	w.elect(w.nodes[2])
	task := w.task(2, "demo", "builder", "of the next leader")
	if r := <-got; r.err != nil || r.resp.GetTask().GetId() != task.GetId() {
		t.Errorf("%v %v", r.resp, r.err)
	}
}

// A claim that the log refuses leaves its waiter at the front.
func TestARefusedMatchWaitsOn(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 2)
	got := make(chan waited, 2)
	for i := range 2 {
		w.wait(within(t), 0, i, w.join("demo/builder.*"), got)
		w.parkedAt(0, i+1)
	}
	out, err := w.nodes[0].Submit(within(t), fsm.Request{Cmd: fsm.CreateTask{Room: "demo", Role: "builder",
		Expect: time.Nanosecond}})
	if err != nil || out.Code == noun.OK {
		t.Fatalf("a task that is expected to take a nanosecond: %v %v", out, err)
	}
	eventually(t, "a claim that found nothing", func() bool { return w.servers[0].park.TaskFigures().Lost == 1 })
	w.parkedAt(0, 2)
	for i := range 2 {
		task := w.task(0, "demo", "builder", "x")
		if r := <-got; r.err != nil || r.who != i || r.resp.GetTask().GetId() != task.GetId() {
			t.Errorf("waiter %d got %v, %v", r.who, r.resp, r.err)
		}
	}
}

// A role has so many places at the leader; who finds none waits where it is, and gets what is left.
func TestWaitsBeyondThePlacesAtTheLeader(t *testing.T) {
	w := start(t, 2)
	w.delegating()
	w.servers[1].delegates.MostOfRole = 1
	w.room("demo", "builder", 2)
	got := make(chan waited, 2)
	w.wait(within(t), 1, 0, w.join("demo/builder.*"), got)
	w.parkedAt(0, 1)
	w.wait(within(t), 1, 1, w.join("demo/builder.*"), got)
	w.parkedAt(1, 1)
	w.task(0, "demo", "builder", "one")
	if r := <-got; r.err != nil || r.who != 0 {
		t.Errorf("waiter %d: %v", r.who, r.err)
	}
	w.task(0, "demo", "builder", "two")
	if r := <-got; r.err != nil || r.who != 1 {
		t.Errorf("waiter %d: %v", r.who, r.err)
	}
	eventually(t, "the place is given back", func() bool { return w.servers[1].delegates.Taken() == 0 })
}
