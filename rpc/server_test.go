package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

func TestOpenRefusesAnIncompleteConfig(t *testing.T) {
	_, err := Open(Config{StopGrace: -1})
	for _, want := range []string{"Listener", "ServerID", "Writer", "Reader", "StopGrace"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

// TestNothingIsAliveAfterRun stops a server that has every kind of call in flight.
func TestNothingIsAliveAfterRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	c := newFakeCluster(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	n := c.nodes[0]
	n.addr = l.Addr().String()
	s, err := Open(Config{Listener: l, ServerID: n.id, Writer: n, Reader: n, Registerer: reg,
		StopGrace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c.elect(n)
	conn, err := grpc.NewClient("passthrough:///"+n.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fakeCluster: c, t: t, servers: []*Server{s}, conns: []*grpc.ClientConn{conn}}
	w.room("demo", "builder", 1)
	got := make(chan waited, 1)
	w.wait(within(t), 0, 0, w.join("demo/builder"), got)
	watch := w.watch(within(t), 0, &vigilv1.WatchEventsRequest{Tail: true})
	host, _ := w.connect(t, 0)
	host.next()
	w.parkedAt(0, 1)
	eventually(t, "the watch", func() bool { return s.watches.Taken() == 1 })
	began := time.Now()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("stopping took %s; calls in flight were not let go", took)
	}
	if r := <-got; codeOf(r.err) != "unavailable" {
		t.Errorf("parked wait ended with %v, want unavailable", r.err)
	}
	for {
		if _, err := watch.Recv(); err != nil {
			if codeOf(err) != "unavailable" {
				t.Errorf("watch ended with %v, want unavailable", err)
			}
			break
		}
	}
	if mf, err := reg.Gather(); err != nil || len(mf) != 0 {
		t.Errorf("%d metrics are still registered (%v)", len(mf), err)
	}
	_ = conn.Close()
	goleak.VerifyNone(t, before)
}

func TestSnapshotsThroughAnyServer(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	task := w.task(0, "demo", "builder", "kept")
	from, err := w.cluster(1).SaveSnapshot(within(t), &vigilv1.SaveSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var dump bytes.Buffer
	for {
		c, err := from.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		dump.Write(c.GetData())
	}
	later := w.task(0, "demo", "builder", "lost by the restore")
	to, err := w.cluster(1).RestoreSnapshot(within(t)) // a follower hands it on
	if err != nil {
		t.Fatal(err)
	}
	for b := dump.Bytes(); len(b) > 0; {
		n := min(len(b), 1000)
		if err := to.Send(&vigilv1.RestoreSnapshotRequest{Data: b[:n]}); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if _, err := to.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.fleet(0).GetTask(within(t), &vigilv1.GetTaskRequest{Task: task.GetId(), Stale: true}); err != nil {
		t.Errorf("task of the backup: %v", err)
	}
	if _, err := w.fleet(0).GetTask(within(t),
		&vigilv1.GetTaskRequest{Task: later.GetId(), Stale: true}); codeOf(err) != "not_found" {
		t.Errorf("task behind the backup: %v, want not_found", err)
	}
}

func TestMembershipWithoutMembers(t *testing.T) {
	w := start(t, 1)
	_, err := w.cluster(0).AddServer(within(t), &vigilv1.AddServerRequest{Id: "s2", RaftAddr: "h:1"})
	if codeOf(err) != "unimplemented" {
		t.Fatalf("got %v, want unimplemented", err)
	}
	if _, err := w.cluster(0).AddServer(within(t), &vigilv1.AddServerRequest{Id: "s2"}); codeOf(err) != "invalid" {
		t.Fatalf("got %v, want invalid", err)
	}
}

func TestFiguresAreServed(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "x")
	w.join("demo/builder")
	_, _ = w.fleet(0).GetRoom(within(t), &vigilv1.GetRoomRequest{Room: "nowhere"})
	_, got, _ := w.call(0, "GET", "/metrics", "")
	text := got["text"].(string)
	for _, want := range []string{
		`vigil_build_info{goversion="` + runtime.Version() + `",version="v0"} 1`,
		`vigil_rpc_calls_total{code="ok",method="Fleet/CreateTask"} 1`,
		`vigil_rpc_calls_total{code="not_found",method="Fleet/GetRoom"} 1`,
		`vigil_tasks{state="PENDING"} 1`,
		"vigil_leases_active 1", "vigil_waiters 0", "vigil_superseded_words_total 0", "vigil_leader 1",
		"vigil_paused 0", "vigil_brake_set 0", "vigil_brakes_total 0",
		`vigil_hosts{state="draining"} 0`, `vigil_agent_exits_total{kind="usage_limit"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// TestLogHoldsNoTextAndNoToken reads the access lines of calls that carry both.
func TestLogHoldsNoTextAndNoToken(t *testing.T) {
	c := newFakeCluster(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n := c.nodes[0]
	n.addr = l.Addr().String()
	s, err := Open(Config{Listener: l, ServerID: n.id, Writer: n, Reader: n,
		Log: hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c.elect(n)
	conn, err := grpc.NewClient("passthrough:///"+n.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fakeCluster: c, t: t, servers: []*Server{s}, conns: []*grpc.ClientConn{conn}}
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "title-of-the-task")
	me := w.join("demo/builder")
	me.Token = "token-of-the-agent"
	_, _ = w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
	_, _ = w.work(0).Claim(within(t),
		&vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: "x", Token: "token-of-the-agent"}})
	for _, from := range []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-token-of-the-agent-01"} {
		_, _ = w.fleet(0).GetRoom(metadata.AppendToOutgoingContext(within(t), code.HeaderTrace, from),
			&vigilv1.GetRoomRequest{Room: "demo"})
	}
	_ = conn.Close()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "/vigil.v1.Work/Claim") {
		t.Fatalf("no access line in %q", out.String())
	}
	if n := strings.Count(out.String(), "trace=4bf92f3577b34da6a3ce929d0e0e4736"); n != 1 {
		t.Errorf("%d lines name the trace of a call", n)
	}
	for _, secret := range []string{"secret work", "title-of-the-task", "token-of-the-agent"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
