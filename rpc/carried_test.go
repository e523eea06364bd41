package rpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
)

// linked connects to a server as clients do, and returns when calls go over one stream.
func (w *world) linked(i int) *link.Conn {
	w.t.Helper()
	k, err := link.New(w.nodes[i].addr, time.Minute, func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var watch sync.WaitGroup
	watch.Go(func() { k.Watch(func(*link.Conn) {}) })
	w.t.Cleanup(func() { k.Close(); watch.Wait() })
	if err := k.Ready(within(w.t), time.Minute); err != nil {
		w.t.Fatal(err)
	}
	for !k.Carries() {
		if _, err := vigilv1.NewWorkClient(k).OpenSession(within(w.t), &vigilv1.OpenSessionRequest{}); err != nil {
			w.t.Fatal(err)
		}
	}
	return k
}

// Over one stream calls have the answers, errors and headers that they have by themselves, from a server that
// leads and from one that sends them on.
func TestCarriedCallsAreLikeOthers(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	for i := range w.nodes {
		k := w.linked(i)
		var head metadata.MD
		task, err := vigilv1.NewFleetClient(k).CreateTask(within(t),
			&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"}, grpc.Header(&head))
		if err != nil || task.GetTitle() != "x" {
			t.Fatalf("create at %d: %v, %v", i, task, err)
		}
		leader := []string{w.nodes[0].addr}
		if i == 0 {
			leader = nil
		}
		if got := head.Get(code.HeaderLeader); fmt.Sprint(got) != fmt.Sprint(leader) {
			t.Errorf("header %s at %d is %v, want %v", code.HeaderLeader, i, got, leader)
		}
		_, err = vigilv1.NewFleetClient(k).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "none", Role: "builder",
			Title: "x"})
		if codeOf(err) != "not_found" {
			t.Errorf("refusal at %d: %v, want not_found", i, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = vigilv1.NewFleetClient(k).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
			Title: "y"})
		if codeOf(err) != code.Canceled {
			t.Errorf("of a caller who has gone: %v", err)
		}
		if !k.Carries() {
			t.Errorf("the stream to %d has ended", i)
		}
	}
}

// Whoever gives a call up that waits over the stream leaves the room as by any other way, and the stream goes on;
// a deadline counts at the server.
func TestCarriedWaits(t *testing.T) { // law L5
	w := start(t, 1)
	w.room("demo", "builder", 2)
	k := w.linked(0)
	work := vigilv1.NewWorkClient(k)
	me := w.join("demo/builder")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := work.Wait(ctx, &vigilv1.WaitRequest{Speaker: me})
		ended <- err
	}()
	w.parkedAt(0, 1)
	cancel()
	if err := <-ended; codeOf(err) != code.Canceled {
		t.Fatalf("given up: %v", err)
	}
	w.parkedAt(0, 0)
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := work.Wait(short, &vigilv1.WaitRequest{Speaker: me}); codeOf(err) != code.Timeout {
		t.Fatalf("with a deadline: %v", err)
	}
	w.parkedAt(0, 0)
	task := w.task(0, "demo", "builder", "x")
	got, err := work.Wait(within(t), &vigilv1.WaitRequest{Speaker: me, MaxWait: durationpb.New(time.Minute)})
	if err != nil || got.GetTask().GetId() != task.GetId() {
		t.Fatalf("after both: %v, %v", got, err)
	}
}

// Many callers share a stream, and each gets the answer to its own call.
func TestCarriedCallsOfMany(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	k := w.linked(1)
	var all sync.WaitGroup
	for c := range 100 {
		all.Go(func() {
			for n := range 20 {
				title := fmt.Sprintf("%d.%d", c, n)
				task, err := vigilv1.NewFleetClient(k).CreateTask(within(t),
					&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: title})
				if err != nil || task.GetTitle() != title {
					t.Errorf("%s: %v, %v", title, task, err)
				}
			}
		})
	}
	all.Wait()
	if !k.Carries() {
		t.Error("the stream has ended")
	}
}

// What is long together, and short enough one by one, goes in several messages.
func TestCarriedCallsAreLongTogether(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	k := w.linked(0)
	text := strings.Repeat("x", 60<<10)
	var all sync.WaitGroup
	for range 400 { // 23 MiB, where a message has at most 16
		all.Go(func() {
			task, err := vigilv1.NewFleetClient(k).CreateTask(within(t),
				&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "long", Text: text})
			if err != nil || task.GetId() == 0 {
				t.Errorf("%v, %v", task.GetId(), err)
			}
		})
	}
	all.Wait()
	if !k.Carries() {
		t.Error("the stream has ended")
	}
}

// A server that stops answers what it has begun, and ends the stream; what comes then is not taken for done.
func TestCarriedCallsOfAServerThatStops(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	k := w.linked(0)
	me := w.join("demo/builder")
	ended := make(chan error, 1)
	go func() {
		_, err := vigilv1.NewWorkClient(k).Wait(t.Context(), &vigilv1.WaitRequest{Speaker: me})
		ended <- err
	}()
	w.parkedAt(0, 1)
	w.stop()
	if err := <-ended; codeOf(err) != code.Unavailable {
		t.Fatalf("of a call that waited: %v, want unavailable", err)
	}
	_, err := vigilv1.NewFleetClient(k).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
		Title: "x"})
	if codeOf(err) != code.Unavailable {
		t.Fatalf("after the end: %v, want unavailable", err)
	}
}
