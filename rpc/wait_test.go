package rpc

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// parkedAt waits until so many waits are parked on server i.
func (w *world) parkedAt(i, n int) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%d parked waits on server %d", n, i), func() bool {
		return w.servers[i].park.TaskFigures().Parked == n
	})
}

type waited struct {
	resp *vigilv1.ClaimResponse
	err  error
	who  int
}

func (w *world) wait(ctx context.Context, i, who int, me *vigilv1.Speaker, to chan<- waited) {
	go func() {
		resp, err := w.work(i).Wait(ctx, &vigilv1.WaitRequest{Speaker: me, MaxWait: durationpb.New(20 * time.Second)})
		to <- waited{resp, err, who}
	}()
}

func TestWaitIsWokenByItsRole(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.room("other", "builder", 1)
	got := make(chan waited, 2)
	w.wait(within(t), 1, 0, w.join("demo/builder"), got)
	w.parkedAt(1, 1)
	w.task(0, "other", "builder", "not for it")
	if n := w.servers[1].park.TaskFigures().Woken; n != 0 {
		t.Fatalf("woken %d times by another role's task", n)
	}
	task := w.task(0, "demo", "builder", "for it")
	r := <-got
	if r.err != nil || r.resp.GetTask().GetId() != task.GetId() || r.resp.GetTask().GetText() != "secret work" {
		t.Fatalf("wait: %v, %v", r.resp, r.err)
	}
}

func TestWaitTakesWhatIsThere(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	task := w.task(0, "demo", "builder", "early")
	for i := range 2 {
		got := make(chan waited, 1)
		if i == 0 {
			w.wait(within(t), 1, 0, w.join("demo/builder"), got)
		} else { // the same incarnation again: the same task
			var me *vigilv1.Speaker
			w.nodes[0].Read(func(st *fsm.View) {
				me = &vigilv1.Speaker{Agent: "demo/builder", Incarnation: uint64(st.AgentByName("demo/builder").Inc)}
			})
			w.wait(within(t), 1, 0, me, got)
		}
		if r := <-got; r.err != nil || r.resp.GetTask().GetId() != task.GetId() || r.resp.GetAttempt() != 1 {
			t.Fatalf("wait %d: %v, %v", i, r.resp, r.err)
		}
	}
}

func TestWaitEndsWithNoTask(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	_, err := w.work(0).Wait(within(t), &vigilv1.WaitRequest{Speaker: w.join("demo/builder"),
		MaxWait: durationpb.New(20 * time.Millisecond)})
	if codeOf(err) != "no_task" {
		t.Fatalf("got %v, want no_task", err)
	}
	w.parkedAt(0, 0)
}

func TestWaitRefusesWhoMayNotClaim(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	_, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: me})
	if codeOf(err) != "rejoin" {
		t.Fatalf("after leaving: %v, want rejoin", err)
	}
	w.join("demo/builder")
	_, err = w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: me})
	if codeOf(err) != "superseded" {
		t.Fatalf("of an old incarnation: %v, want superseded", err)
	}
	_, err = w.work(1).Wait(within(t),
		&vigilv1.WaitRequest{Speaker: &vigilv1.Speaker{Agent: "demo/nobody", Incarnation: 1}})
	if codeOf(err) != "not_found" {
		t.Fatalf("of an unknown agent: %v, want not_found", err)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	const n = 5
	w := start(t, 1)
	w.room("demo", "builder", n)
	got := make(chan waited, n)
	for i := range n {
		w.wait(within(t), 0, i, w.join("demo/builder.*"), got)
		w.parkedAt(0, i+1)
	}
	for i := range n {
		w.task(0, "demo", "builder", "x")
		if r := <-got; r.err != nil || r.who != i {
			t.Fatalf("task %d went to waiter %d (%v)", i, r.who, r.err)
		}
	}
}

func TestVanishedWaiterClaimsNothing(t *testing.T) { // law L5
	w := start(t, 1)
	w.room("demo", "builder", 2)
	got := make(chan waited, 2)
	gone, leave := context.WithCancel(within(t))
	w.wait(gone, 0, 0, w.join("demo/builder.*"), got)
	w.parkedAt(0, 1)
	w.wait(within(t), 0, 1, w.join("demo/builder.*"), got)
	w.parkedAt(0, 2)
	leave()
	<-got
	w.parkedAt(0, 1)
	w.task(0, "demo", "builder", "x")
	if r := <-got; r.who != 1 || r.err != nil {
		t.Fatalf("the task went to %d (%v), want the one that still waits", r.who, r.err)
	}
}

func TestFollowerBehindDoesNotClaimInCircles(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 3)
	first, second := w.join("demo/builder.*"), w.join("demo/builder.*")
	got := make(chan waited, 2)
	w.wait(within(t), 1, 0, first, got)
	w.parkedAt(1, 1)
	w.nodes[1].hold()
	// The task is created and taken on the leader, all before the follower hears of it.
	task := w.task(0, "demo", "builder", "x")
	if r, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: second}); err != nil ||
		r.GetTask().GetId() != task.GetId() {
		t.Fatal(r, err)
	}
	w.nodes[1].mu.Lock()
	creation := w.nodes[1].behind[0]
	w.nodes[1].behind = w.nodes[1].behind[1:]
	w.nodes[1].mu.Unlock()
	w.mu.Lock()
	w.nodes[1].take(creation) // now it sees the task PENDING, and not that it is taken
	w.mu.Unlock()
	eventually(t, "a lost claim", func() bool { return w.servers[1].park.TaskFigures().Lost == 1 })
	eventually(t, "the waiter awaiting the index", func() bool { return w.servers[1].park.Gate.Count() == 2 })
	if n := w.servers[1].park.TaskFigures().Lost; n != 1 {
		t.Fatalf("%d claims for a task that is taken, want 1", n)
	}
	w.nodes[1].release()
	w.parkedAt(1, 1)
	w.task(0, "demo", "builder", "y")
	if r := <-got; r.err != nil {
		t.Fatalf("after catching up: %v", r.err)
	}
}

// TestNoWakeUpIsLost: law L3. Waiters on three servers, tasks from all sides,
// waiters that vanish: in the end every task is claimed by somebody who waits.
func TestNoWakeUpIsLost(t *testing.T) {
	const agents, rounds = 12, 15
	w := start(t, 3)
	w.room("demo", "builder", agents)
	ctx := within(t)
	var wg sync.WaitGroup
	for a := range agents {
		me := w.join("demo/builder.*")
		wg.Go(func() {
			for round := range rounds {
				// Every third wait is broken off soon and tried again.
				if err := w.turn(ctx, me, (a+round)%3, (a+round)%3 == 0); err != nil {
					t.Errorf("agent %d in round %d: %v", a, round, err)
					return
				}
			}
		})
	}
	for s := range 3 {
		wg.Go(func() {
			for range agents * rounds / 3 {
				if _, err := w.fleet(s).CreateTask(ctx,
					&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"}); err != nil {
					t.Errorf("create: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	w.nodes[0].Read(func(st *fsm.View) {
		if n := st.Counts().Tasks[noun.TaskCompleted]; n != agents*rounds {
			t.Errorf("%d tasks completed, want %d", n, agents*rounds)
		}
	})
	for i, s := range w.servers {
		if n := s.park.TaskFigures().Queues; n != 0 {
			t.Errorf("server %d keeps %d queues though nobody waits", i, n)
		}
	}
}

// turn waits for one task through server i, does it and waits for the next; with
// hasty the first wait is broken off after a moment.
func (w *world) turn(ctx context.Context, me *vigilv1.Speaker, i int, hasty bool) error {
	if hasty {
		soon, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
		_, err := w.work(i).Wait(soon, &vigilv1.WaitRequest{Speaker: me})
		cancel()
		if c := codeOf(err); c != "ok" && c != "timeout" {
			return err
		}
	}
	// Whatever became of the first wait: a task that it claimed comes again.
	r, err := w.work(i).Wait(ctx, &vigilv1.WaitRequest{Speaker: me})
	if err != nil {
		return err
	}
	word := &vigilv1.WorkRequest{Speaker: me, Task: r.GetTask().GetId(), Attempt: r.GetAttempt()}
	if _, err := w.work((i+1)%3).StartTask(ctx, word); err != nil {
		return err
	}
	if _, err := w.work((i+2)%3).CompleteTask(ctx, &vigilv1.CompleteTaskRequest{Speaker: me, Task: word.GetTask(),
		Attempt: word.GetAttempt(), Result: "ok"}); err != nil {
		return err
	}
	_, err = w.work(i).Join(ctx, &vigilv1.JoinRequest{Speaker: me})
	return err
}

func TestLosingClaimsStayOutOfTheLog(t *testing.T) {
	const rounds = 20
	w := start(t, 3)
	w.room("demo", "builder", 6)
	got := make(chan waited, 6*rounds)
	speakers := make([]*vigilv1.Speaker, 6)
	for i := range speakers {
		speakers[i] = w.join("demo/builder.*")
		w.wait(within(t), i%3, i, speakers[i], got)
	}
	for round := range rounds {
		for i := range 3 {
			w.parkedAt(i, 2)
		}
		task := w.task(round%3, "demo", "builder", "x")
		r := <-got
		if r.err != nil {
			t.Fatal(r.err)
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
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims != rounds {
		t.Fatalf("%d claims went into the log for %d tasks", w.claims, rounds)
	}
}
