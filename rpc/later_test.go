package rpc

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// What becomes claimable by its time, by a retry or by the end of a pause is not claimed in that entry, and still
// nobody is woken for nothing: whoever waits waits at the leader, which wakes as many as there are tasks.
func TestWhatIsClaimableLaterWakesNobodyForNothing(t *testing.T) {
	const waiters, tasks = 12, 4
	put := func(w *world, after time.Duration) (ids []uint64) {
		for range tasks {
			r := &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "later"}
			if after > 0 {
				r.After = durationpb.New(after)
			}
			task, err := w.fleet(1).CreateTask(within(t), r)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, task.GetId())
		}
		return ids
	}
	for name, offer := range map[string]func(w *world){
		"their time comes": func(w *world) {
			put(w, 10*time.Second)
			w.advance(10 * time.Second)
		},
		"a human retries them": func(w *world) {
			for _, id := range put(w, time.Hour) {
				if _, err := w.fleet(2).RetryTask(within(t), &vigilv1.RetryTaskRequest{Task: id, By: "ann"}); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a room goes on": func(w *world) {
			w.pause("demo", true)
			put(w, 0)
			w.pause("demo", false)
		},
	} {
		w := start(t, 3)
		w.delegating()
		if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
			t.Fatal(err)
		}
		w.room("demo", "builder", waiters)
		got := make(chan waited, waiters)
		for i := range waiters {
			w.wait(within(t), i%3, i, w.join("demo/builder.*"), got)
			w.parkedAt(0, i+1)
		}
		offer(w)
		for range tasks {
			if r := <-got; r.err != nil || r.who >= tasks {
				t.Errorf("%s: waiter %d got %v, %v", name, r.who, r.resp.GetTask(), r.err)
			}
		}
		w.parkedAt(0, waiters-tasks)
		for i := range w.servers {
			want := uint64(0)
			if i == 0 {
				want = tasks
			}
			if f := w.servers[i].park.TaskFigures(); f.Woken != want || f.Lost != 0 {
				t.Errorf("%s: server %d woke %d waiters, %d of them for nothing; want %d, 0", name, i, f.Woken, f.Lost, want)
			}
		}
	}
}
