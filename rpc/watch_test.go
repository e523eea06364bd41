package rpc

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func (w *world) watch(
	ctx context.Context, i int, r *vigilv1.WatchEventsRequest,
) grpc.ServerStreamingClient[vigilv1.Event] {
	w.t.Helper()
	s, err := w.fleet(i).WatchEvents(ctx, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func all(t *testing.T, s grpc.ServerStreamingClient[vigilv1.Event]) (out []*vigilv1.Event) {
	t.Helper()
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

func TestWatchResumesWithoutGapOrRepeat(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	for range 1500 { // more than one chunk
		w.task(0, "demo", "builder", "x")
	}
	whole := all(t, w.watch(within(t), 1, &vigilv1.WatchEventsRequest{NoFollow: true}))
	if len(whole) < 1500 {
		t.Fatalf("%d events, want at least 1500", len(whole))
	}
	for i, e := range whole {
		if e.GetSeq() != uint64(i+1) {
			t.Fatalf("event %d has seq %d", i, e.GetSeq())
		}
	}
	rest := all(t, w.watch(within(t), 0, &vigilv1.WatchEventsRequest{After: 1000, NoFollow: true}))
	if len(rest) != len(whole)-1000 || rest[0].GetSeq() != 1001 {
		t.Fatalf("resumed with %d events from %d", len(rest), rest[0].GetSeq())
	}
}

func TestWatchFollows(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.room("other", "builder", 1)
	s := w.watch(within(t), 1, &vigilv1.WatchEventsRequest{Tail: true, Room: "demo"})
	if _, err := s.Header(); err != nil { // the watch stands
		t.Fatal(err)
	}
	eventually(t, "the watch", func() bool { return w.servers[1].watches.Taken() == 1 })
	w.task(0, "other", "builder", "not wanted")
	task := w.task(0, "demo", "builder", "wanted")
	e, err := s.Recv()
	if err != nil || e.GetRoom() != "demo" || e.GetTask() != task.GetId() {
		t.Fatalf("got %v, %v; want the creation of task %d", e, err, task.GetId())
	}
}

// What a server that has just come back learns late happened before a tail began.
func TestTailOfAServerThatIsBehind(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.nodes[1].hold()
	w.task(0, "demo", "builder", "before")
	got := make(chan *vigilv1.Event, 1)
	s := w.watch(within(t), 1, &vigilv1.WatchEventsRequest{Tail: true, Room: "demo"})
	go func() {
		e, _ := s.Recv() // nil: the test looks at it
		got <- e
	}()
	eventually(t, "the watch", func() bool { return w.servers[1].watches.Taken() == 1 })
	w.nodes[1].release()
	if _, err := s.Header(); err != nil { // the watch stands
		t.Fatal(err)
	}
	after := w.task(0, "demo", "builder", "after")
	if e := <-got; e.GetTask() != after.GetId() {
		t.Fatalf("got %v, want the creation of task %d", e, after.GetId())
	}
}

func TestWatchOfCompactedHistory(t *testing.T) {
	w := start(t, 1)
	if err := w.do(fsm.PutSettings{Values: []noun.KV{{Key: "events_kept", Value: "1000"}}}); err != nil {
		t.Fatal(err)
	}
	w.room("demo", "builder", 1)
	for range 1200 {
		w.task(0, "demo", "builder", "x")
	}
	w.advance(time.Minute)
	_, err := w.watch(within(t), 0, &vigilv1.WatchEventsRequest{After: 1}).Recv()
	p := fault.Of(err)
	if p.Code != "compacted" || p.Oldest == 0 {
		t.Fatalf("got %v with oldest %d, want compacted", err, p.Oldest)
	}
	again := all(t, w.watch(within(t), 0, &vigilv1.WatchEventsRequest{After: p.Oldest, NoFollow: true}))
	if len(again) == 0 || again[0].GetSeq() != p.Oldest+1 {
		t.Fatalf("resuming from the index of the error gave %v", again)
	}
}

func TestBeatsWakeNoWatcher(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	grown := w.servers[0].park.History.Beyond()
	if _, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: []uint32{1},
		Incarnations: []uint64{me.GetIncarnation()}, Kinds: []uint32{1}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-grown:
		t.Fatal("a beat woke the watchers")
	default:
	}
}

func TestWatchAheadOfTheHistory(t *testing.T) {
	w := start(t, 1)
	_, err := w.watch(within(t), 0, &vigilv1.WatchEventsRequest{After: 1 << 40}).Recv()
	if codeOf(err) != "invalid" {
		t.Fatalf("got %v, want invalid", err)
	}
}
