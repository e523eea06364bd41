package rpc

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// A server is alone after five seconds without a leader, not during an election and
// not because it was paused itself.
func TestAloneAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newFakeCluster(1).nodes[0]
		node.state.Apply(&fsm.Entry{Index: 1, Term: 1, Stint: 1, Requests: []fsm.Request{{Cmd: fsm.LeaderEstablished{Server: "s1"}}}})
		node.cutOff(true)
		a := newAlone(node.Leader)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.run(ctx)
		left := make(chan error, 1)
		wait := func() {
			go func() {
				left <- a.guard(t.Context(), func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}()
			synctest.Wait()
		}
		hangs := func(want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-left:
				if want || codeOf(err) != code.NoLeader {
					t.Fatalf("the call ended: %v", err)
				}
			default:
				if !want {
					t.Fatal("the call still hangs")
				}
			}
		}
		wait()
		time.Sleep(4 * time.Second)
		node.cutOff(false)
		time.Sleep(time.Hour)
		hangs(true) // the election was shorter
		node.cutOff(true)
		time.Sleep(4 * time.Second)
		hangs(true)
		time.Sleep(1500 * time.Millisecond)
		hangs(false)
		wait()
		hangs(false) // nothing begins while it lasts
		node.cutOff(false)
		time.Sleep(time.Second)
		wait()
		hangs(true)
	})
}

// What a pause of this process takes is no time without a leader.
func TestAPausedServerIsNotAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newFakeCluster(1).nodes[0]
		node.cutOff(true)
		a := newAlone(node.Leader)
		for range 100 {
			a.look()
			time.Sleep(time.Minute)
		}
		if a.ctx.Err() != nil {
			t.Error("a server that looks once a minute took itself for alone")
		}
	})
}

// L3, L9: a server that is cut off from the leader sends hosts, waiters and watchers
// away, who would wait there in vain, and takes none before it knows a leader again.
func TestAServerAloneSendsEverybodyAway(t *testing.T) {
	w := start(t, 2)
	h, host := w.connect(t, 1)
	h.next()
	speaker := w.join("demo/builder")
	parked := make(chan error, 1)
	go func() {
		_, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: speaker})
		parked <- err
	}()
	eventually(t, "a parked wait", func() bool { return w.servers[1].waits.parked.Load() == 1 })
	watch, err := w.fleet(1).WatchEvents(within(t), &vigilv1.WatchEventsRequest{Tail: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Header(); err != nil { // it stands
		t.Fatal(err)
	}
	w.nodes[1].cutOff(true)
	a := w.servers[1].core.alone
	a.look()
	a.mu.Lock()
	a.since, a.looked = a.since.Add(-aloneAfter), time.Now() // so much later
	a.mu.Unlock()
	a.look()

	if err := <-parked; codeOf(err) != code.NoLeader {
		t.Errorf("a parked wait ended with %v", err)
	}
	if _, err := watch.Recv(); codeOf(err) != code.NoLeader {
		t.Errorf("a watch ended with %v", err)
	}
	for err = nil; err == nil; _, err = h.Recv() {
	}
	if codeOf(err) != code.NoLeader {
		t.Errorf("the stream of a host ended with %v", err)
	}
	if _, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: speaker}); codeOf(err) != code.NoLeader {
		t.Errorf("a new wait: %v", err)
	}
	if _, err := w.stream(t, within(t), 1, uint32(host)).Recv(); codeOf(err) != code.NoLeader {
		t.Errorf("a new stream: %v", err)
	}
	w.nodes[1].cutOff(false)
	a.look()
	if o := w.stream(t, within(t), 1, uint32(host)).next().GetOrders(); o == nil {
		t.Error("no orders although a leader is known again")
	}
}

// Who asks a server without a leader how things are is answered at once, and told so.
func TestStatusWithoutALeader(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	status := func() (*vigilv1.StatusResponse, bool) {
		t.Helper()
		st, err := w.cluster(1).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st, strings.Contains(strings.Join(st.GetWarnings(), " "), "knows no leader")
	}
	if _, warned := status(); warned {
		t.Error("warned although there is a leader")
	}
	w.nodes[1].cutOff(true)
	st, warned := status()
	if !warned || st.GetServer() != "s2" || st.GetLeader() != "" || st.GetRooms() != 1 {
		t.Errorf("warned %v: %v", warned, st)
	}
}
