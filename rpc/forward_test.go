package rpc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func TestFollowerForwardsWrites(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	var head metadata.MD
	task, err := w.fleet(1).CreateTask(within(t),
		&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"}, grpc.Header(&head))
	if err != nil || task.GetId() == 0 {
		t.Fatalf("create through the follower: %v, %v", task, err)
	}
	if got := head.Get(code.HeaderLeader); len(got) != 1 || got[0] != w.nodes[0].addr {
		t.Fatalf("header %s is %v, want the leader's address %s", code.HeaderLeader, got, w.nodes[0].addr)
	}
	_, err = w.fleet(1).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "none", Role: "builder", Title: "x"})
	if codeOf(err) != "not_found" {
		t.Fatalf("refusal through the follower: %v, want not_found", err)
	}
}

func TestReadsGoToTheLeaderWhenTheFollowerIsBehind(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.nodes[1].hold()
	task := w.task(0, "demo", "builder", "new")
	if _, err := w.fleet(1).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId()}); err != nil {
		t.Fatalf("read through a follower that is behind: %v", err)
	}
	_, err := w.fleet(1).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId(), Stale: true})
	if codeOf(err) != "not_found" {
		t.Fatalf("stale read of a follower that is behind: %v, want not_found", err)
	}
	w.nodes[1].release()
}

// A follower answers reads by itself once it has what was committed before the call. It asks the leader how far
// that is, never for the answer, and not by an old identity: see the tests of the door.
func TestFollowersAnswerReadsThatAreNotStale(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	for i := range 20 {
		task := w.task(0, "demo", "builder", fmt.Sprint(i))
		got, err := w.fleet(1).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId()})
		if err != nil || got.GetTitle() != fmt.Sprint(i) {
			t.Fatalf("read %d through a follower: %v, %v", i, got, err)
		}
	}
	if n := w.answered(0, "Fleet/GetTask"); n != 0 {
		t.Errorf("the leader answered %v of the reads", n)
	}
	if n := w.answered(1, "Fleet/GetTask"); n != 20 {
		t.Errorf("the follower answered %v of the reads", n)
	}
}

func TestForwardedCallsAreNotForwardedAgain(t *testing.T) {
	w := start(t, 2)
	ctx := metadata.AppendToOutgoingContext(within(t), code.HeaderForwarded, "s9")
	_, err := w.work(1).OpenSession(ctx, &vigilv1.OpenSessionRequest{})
	if p := fault.Of(err); p.Code != "not_leader" || p.Leader != w.nodes[0].addr {
		t.Fatalf("forwarded call at a follower: %v (leader %q), want not_leader with its address", err, p.Leader)
	}
}

func TestCallsWaitForALeader(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	// The old leader has stepped down; the follower still believes in it.
	w.elect(nil)
	done := make(chan error, 1)
	go func() {
		_, err := w.fleet(1).CreateTask(within(t),
			&vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"})
		done <- err
	}()
	eventually(t, "a second try", func() bool { return w.forwarded(1) >= 2 })
	select {
	case err := <-done:
		t.Fatalf("answered without a leader: %v", err)
	default:
	}
	w.elect(w.nodes[1])
	if err := <-done; err != nil {
		t.Fatalf("after the election: %v", err)
	}
}

func TestNoLeaderUntilTheDeadline(t *testing.T) {
	w := start(t, 1)
	w.elect(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 80*time.Millisecond)
	defer cancel()
	_, err := w.work(0).OpenSession(ctx, &vigilv1.OpenSessionRequest{})
	if c := codeOf(err); c != "no_leader" && c != "timeout" { // the client's own clock may be first
		t.Fatalf("without a leader: %v, want no_leader", err)
	}
}

func TestUnknownOutcome(t *testing.T) { // law L8: nothing is done twice
	tests := []struct {
		name   string
		server int
		id     bool
		want   string
		tasks  uint64
	}{
		{"without a write id it is not repeated", 0, false, "unknown_outcome", 1},
		{"through a follower neither", 1, false, "unknown_outcome", 1},
		{"with one it is, and done once", 0, true, "ok", 1},
		{"through a follower too", 1, true, "ok", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, 2)
			w.room("demo", "builder", 1)
			req := &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x"}
			if tt.id {
				s, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{})
				if err != nil {
					t.Fatal(err)
				}
				req.Id = &vigilv1.WriteId{Session: s.GetSession(), Seq: 1}
			}
			w.mu.Lock()
			w.lose = 1
			w.mu.Unlock()
			_, err := w.fleet(tt.server).CreateTask(within(t), req)
			if codeOf(err) != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			w.nodes[0].Read(func(st *fsm.View) {
				n := st.Counts().Tasks
				if got := n[noun.TaskPending] + n[noun.TaskQueued]; got != tt.tasks {
					t.Fatalf("%d tasks exist, want %d", got, tt.tasks)
				}
			})
		})
	}
}

func TestCutOffLeaderIsLeft(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	s, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// The leader hangs with the call in its hands: its submit never returns.
	w.mu.Lock()
	done := make(chan error, 1)
	go func() {
		_, err := w.fleet(1).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x",
			Id: &vigilv1.WriteId{Session: s.GetSession(), Seq: 1}})
		done <- err
	}()
	// Meanwhile the follower is elected.
	w.leader = w.nodes[1]
	w.term++
	w.apply(&fsm.Entry{Requests: []fsm.Request{{Cmd: fsm.LeaderEstablished{Server: "s2", APIAddr: w.nodes[1].addr}}}})
	w.mu.Unlock()
	if err := <-done; err != nil {
		t.Fatalf("call in flight over a change of leader: %v", err)
	}
}

// forwarded counts the calls that server i has sent on.
func (w *world) forwarded(i int) float64 {
	w.t.Helper()
	all, err := w.regs[i].Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() == "vigil_rpc_forwarded_total" {
			return m.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// answered counts the calls of a method that server i has answered.
func (w *world) answered(i int, method string) (n float64) {
	w.t.Helper()
	all, err := w.regs[i].Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() != "vigil_rpc_calls_total" {
			continue
		}
		for _, c := range m.GetMetric() {
			for _, l := range c.GetLabel() {
				if l.GetName() == "method" && l.GetValue() == method {
					n += c.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
