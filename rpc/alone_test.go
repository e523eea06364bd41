package rpc

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link/linktest"
)

// L3, L9: a server that is cut off from the leader sends hosts, waiters and watchers
// away, who would wait there in vain, and takes none before it knows a leader again.
func TestAServerAloneSendsEverybodyAway(t *testing.T) {
	synctest.Test(t, sendsEverybodyAway)
}

func sendsEverybodyAway(t *testing.T) {
	w := startOn(t, 2, &linktest.Network{})
	h, host := w.connect(t, 1)
	h.next()
	speaker := w.join("demo/builder")
	parked := make(chan error, 1)
	go func() {
		_, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: speaker})
		parked <- err
	}()
	eventually(t, "a parked wait", func() bool { return w.servers[1].park.TaskFigures().Parked == 1 })
	watch, err := w.fleet(1).WatchEvents(within(t), &vigilv1.WatchEventsRequest{Tail: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Header(); err != nil { // it stands
		t.Fatal(err)
	}
	w.nodes[1].cutOff(true)
	time.Sleep(6 * time.Second)

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
	began := time.Now()
	backup, err := w.cluster(1).SaveSnapshot(within(t), &vigilv1.SaveSnapshotRequest{})
	if err == nil {
		_, err = backup.Recv()
	}
	if codeOf(err) != code.NoLeader {
		t.Errorf("a backup: %v", err)
	}
	_, err = w.cluster(1).AddServer(within(t), &vigilv1.AddServerRequest{Id: "s9", RaftAddr: "127.0.0.1:9"})
	if codeOf(err) != code.NoLeader {
		t.Errorf("a server that asks to be taken in: %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("both took %s to be sent away", took)
	}
	if health, err := w.cluster(1).GetHealth(within(t), &vigilv1.GetHealthRequest{}); err != nil || health.GetLeader() {
		t.Errorf("a server that is alone does not say how it is: %v %v", health, err)
	}
	w.nodes[1].cutOff(false)
	time.Sleep(time.Second)
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
