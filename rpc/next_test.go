package rpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// held makes a room with one builder, who holds a task and has a session for numbered writes.
func (w *world) held() (*vigilv1.NextRequest, *vigilv1.Task) {
	w.t.Helper()
	w.room("demo", "builder", 1)
	task, me := w.task(0, "demo", "builder", "first"), w.join("demo/builder")
	if _, err := w.work(0).Claim(within(w.t), &vigilv1.ClaimRequest{Speaker: me, Start: true}); err != nil {
		w.t.Fatal(err)
	}
	s, err := w.work(0).OpenSession(within(w.t), &vigilv1.OpenSessionRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return &vigilv1.NextRequest{Speaker: me, Task: task.GetId(), Attempt: 1, Start: true,
		Id:  &vigilv1.WriteId{Session: s.GetSession(), Seq: 1},
		End: &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{Result: "done"}}}, task
}

// entries counts the entries that fn takes.
func (w *world) entries(fn func()) uint64 {
	w.mu.Lock()
	before := w.index
	w.mu.Unlock()
	fn()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index - before
}

// state reads a task on server 0.
func (w *world) state(id uint64) (t noun.Task) {
	w.nodes[0].Read(func(st *fsm.View) { t = *st.Task(noun.TaskID(id)) })
	return t
}

// One entry ends a task, takes the next one and starts it, through any server.
func TestNextIsOneEntry(t *testing.T) {
	for server := range 2 {
		w := start(t, 2)
		r, first := w.held()
		second := w.task(0, "demo", "builder", "second")
		var got *vigilv1.NextResponse
		n := w.entries(func() {
			var err error
			if got, err = w.work(server).Next(within(t), r); err != nil {
				t.Fatal(err)
			}
		})
		if n != 1 || got.GetIndex() == 0 || got.GetClaim().GetIndex() != got.GetIndex() ||
			got.GetState() != vigilv1.TaskState_COMPLETED || got.GetNone() != nil ||
			got.GetClaim().GetTask().GetId() != second.GetId() || got.GetClaim().GetAttempt() != 1 ||
			got.GetClaim().GetTask().GetText() != "secret work" || got.GetClaim().GetTtl().AsDuration() == 0 {
			t.Errorf("server %d: %v in %d entries", server, got, n)
		}
		if a, b := w.state(first.GetId()), w.state(second.GetId()); a.State != noun.TaskCompleted ||
			a.Result != "done" || b.State != noun.TaskInProgress {
			t.Errorf("server %d: the tasks are %s and %s", server, a.State, b.State)
		}
	}
}

// Every end takes the next task, and says how the last one ended.
func TestNextAfterEveryEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*vigilv1.NextRequest)
		ends vigilv1.TaskState
	}{
		"complete": {func(*vigilv1.NextRequest) {}, vigilv1.TaskState_COMPLETED},
		"fail": {func(r *vigilv1.NextRequest) {
			r.End = &vigilv1.NextRequest_Fail{Fail: &vigilv1.Failure{Reason: "broken"}}
		}, vigilv1.TaskState_FAILED},
		"hand off": {func(r *vigilv1.NextRequest) {
			r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{ToRole: "builder", Title: "third"}}
		}, vigilv1.TaskState_COMPLETED},
	} {
		w := start(t, 1)
		r, _ := w.held()
		second := w.task(0, "demo", "builder", "second")
		tt.end(r)
		got, err := w.work(0).Next(within(t), r)
		if err != nil || got.GetState() != tt.ends || got.GetClaim().GetTask().GetId() != second.GetId() ||
			(got.GetNextTask() != 0) != (name == "hand off") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if name == "hand off" && w.state(got.GetNextTask()).Title != "third" {
			t.Errorf("handed off to task %d", got.GetNextTask())
		}
	}
}

// L8: an answer that was lost is given again, and nothing is taken a second time.
func TestL8NextIsRepeatedAfterALostAnswer(t *testing.T) {
	for server := range 2 {
		w := start(t, 2)
		r, _ := w.held()
		r.End = &vigilv1.NextRequest_Fail{Fail: &vigilv1.Failure{Reason: "later", Retryable: true}}
		for range 3 {
			w.task(0, "demo", "builder", "more")
		}
		w.mu.Lock()
		w.lose = 1
		w.mu.Unlock()
		got, err := w.work(server).Next(within(t), r)
		if err != nil || got.GetClaim() == nil {
			t.Fatalf("server %d: %v, %v", server, got, err)
		}
		again, err := w.work(1-server).Next(within(t), r)
		if err != nil || again.GetIndex() != got.GetIndex() || again.GetRev() != got.GetRev() ||
			again.GetState() != got.GetState() || again.GetClaim().GetAttempt() != got.GetClaim().GetAttempt() ||
			again.GetClaim().GetTask().GetId() != got.GetClaim().GetTask().GetId() {
			t.Errorf("server %d: repeated: %v, %v; first %v", server, again, err, got)
		}
		w.nodes[0].Read(func(st *fsm.View) {
			if n := st.Counts().Tasks[noun.TaskInProgress]; n != 1 {
				t.Errorf("server %d: %d tasks were taken", server, n)
			}
		})
	}
}

// A refused end takes nothing: it is an error, as it is without a next task.
func TestNextTakesNothingWhereTheEndIsRefused(t *testing.T) {
	w := start(t, 1)
	r, _ := w.held()
	second := w.task(0, "demo", "builder", "second")
	r.Attempt = 7
	if _, err := w.work(0).Next(within(t), r); codeOf(err) != "superseded" {
		t.Errorf("of another attempt: %v, want superseded", err)
	}
	if got := w.state(second.GetId()); got.State != noun.TaskPending {
		t.Errorf("the next task is %s", got.State)
	}
	r.End = nil
	if _, err := w.work(0).Next(within(t), r); codeOf(err) != "invalid" || !strings.Contains(err.Error(), "complete") {
		t.Errorf("without an end: %v, want invalid", err)
	}
}

// L9: what is paused takes nothing; the end counts, and the answer says why there is no task.
func TestL9NextOfAPausedAgent(t *testing.T) {
	w := start(t, 1)
	r, first := w.held()
	w.task(0, "demo", "builder", "second")
	w.pause("demo/builder", true)
	got, err := w.work(0).Next(within(t), r)
	if err != nil || got.GetClaim() != nil || got.GetNone().GetCode() != "no_task" ||
		!strings.Contains(got.GetNone().GetMessage(), "paused") {
		t.Errorf("%v, %v", got, err)
	}
	if s := w.state(first.GetId()); s.State != noun.TaskCompleted {
		t.Errorf("the task is %s", s.State)
	}
}

type taken struct {
	resp *vigilv1.NextResponse
	err  error
}

// parkNext makes a Next that parks on server i.
func (w *world) parkNext(ctx context.Context, i int, r *vigilv1.NextRequest) <-chan taken {
	to := make(chan taken, 1)
	r.MaxWait = durationpb.New(20 * time.Second)
	go func() {
		resp, err := w.work(i).Next(ctx, r)
		to <- taken{resp, err}
	}()
	return to
}

// With max_wait it parks where no task is there, at the server that it came to or at the leader, and the
// task that comes is taken and started in the entry that makes it.
func TestNextParks(t *testing.T) {
	for name, at := range map[string]struct{ server, parked int }{"at the leader": {0, 0}, "for a follower": {1, 0}} {
		w := start(t, 2)
		w.delegating()
		r, first := w.held()
		got := w.parkNext(within(t), at.server, r)
		w.parkedAt(at.parked, 1)
		if s := w.state(first.GetId()); s.State != noun.TaskCompleted {
			t.Errorf("%s: while it waits the task is %s", name, s.State)
		}
		var second *vigilv1.Task
		n := w.entries(func() {
			second = w.task(0, "demo", "builder", "second")
			x := <-got
			if x.err != nil || x.resp.GetState() != vigilv1.TaskState_COMPLETED || x.resp.GetNone() != nil ||
				x.resp.GetClaim().GetTask().GetId() != second.GetId() {
				t.Errorf("%s: %v, %v", name, x.resp, x.err)
			}
		})
		if s := w.state(second.GetId()); n != 1 || s.State != noun.TaskInProgress {
			t.Errorf("%s: %d entries, and the task is %s", name, n, s.State)
		}
	}
}

// Where no task comes the answer still says how the last one ended.
func TestNextThatWaitsInVain(t *testing.T) {
	w := start(t, 1)
	r, _ := w.held()
	r.MaxWait = durationpb.New(20 * time.Millisecond)
	got, err := w.work(0).Next(within(t), r)
	if err != nil || got.GetState() != vigilv1.TaskState_COMPLETED || got.GetClaim() != nil ||
		got.GetNone().GetCode() != "no_task" {
		t.Errorf("%v, %v", got, err)
	}
	w.parkedAt(0, 0)
}

// L8: who was cut off while it waited repeats the call, at another server too, and waits on.
func TestL8NextIsRepeatedWhileItWaits(t *testing.T) {
	w := start(t, 2)
	w.delegating()
	r, _ := w.held()
	ctx, cut := context.WithCancel(within(t))
	gone := w.parkNext(ctx, 1, r)
	w.parkedAt(0, 1)
	cut()
	if x := <-gone; codeOf(x.err) != "canceled" {
		t.Errorf("cut off: %v, %v", x.resp, x.err)
	}
	w.parkedAt(0, 0)
	got := w.parkNext(within(t), 0, r)
	w.parkedAt(0, 1)
	second := w.task(0, "demo", "builder", "second")
	if x := <-got; x.err != nil || x.resp.GetState() != vigilv1.TaskState_COMPLETED ||
		x.resp.GetClaim().GetTask().GetId() != second.GetId() {
		t.Errorf("%v, %v", x.resp, x.err)
	}
}

// L3: a Next that waits at a leader outlives it.
func TestL3NextOutlivesTheLeaderWhereItWaits(t *testing.T) {
	w := start(t, 3)
	w.delegating()
	r, _ := w.held()
	got := w.parkNext(within(t), 1, r)
	w.parkedAt(0, 1)
	w.elect(w.nodes[2])
	second := w.task(2, "demo", "builder", "second")
	if x := <-got; x.err != nil || x.resp.GetClaim().GetTask().GetId() != second.GetId() {
		t.Errorf("%v, %v", x.resp, x.err)
	}
}

// What a worker does after its hand-off was refused: the attempt fails, and what it has made is found with the task,
// whichever call says so. A hand-off that works names the task that follows.
func TestResultOfARefusedHandOffIsKept(t *testing.T) {
	for _, next := range []bool{true, false} {
		w := start(t, 1)
		r, task := w.held()
		r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{Result: "two hours", ToRole: "tester", Title: "x"}}
		if _, err := w.work(0).Next(within(t), r); codeOf(err) != code.NotFound {
			t.Fatalf("a hand-off to no role: %v", err)
		}
		var err error
		if next {
			r.Id.Seq++
			r.End = &vigilv1.NextRequest_Fail{Fail: &vigilv1.Failure{Reason: "refused", Result: "two hours"}}
			_, err = w.work(0).Next(within(t), r)
		} else {
			_, err = w.work(0).FailTask(within(t), &vigilv1.WorkRequest{Speaker: r.GetSpeaker(), Task: r.GetTask(),
				Attempt: r.GetAttempt(), Text: "refused", Result: "two hours"})
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId()})
		if err != nil || got.GetState() != vigilv1.TaskState_FAILED || got.GetResult() != "refused" ||
			len(got.GetLateResults()) != 1 || got.GetLateResults()[0].GetResult() != "two hours" {
			t.Errorf("%v, %v", got, err)
		}
	}
	w := start(t, 1)
	if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	r, task := w.held()
	r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{Result: "built", ToRole: "builder", Title: "x"}}
	made, err := w.work(0).Next(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId()})
	if err != nil || got.GetNext() != made.GetNextTask() || got.GetNext() == 0 {
		t.Errorf("%d follows, %v; the hand-off made %d", got.GetNext(), err, made.GetNextTask())
	}
	if got, err = w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: made.GetNextTask()}); got.GetHops() != 1 {
		t.Errorf("%d hops, %v", got.GetHops(), err)
	}
}
