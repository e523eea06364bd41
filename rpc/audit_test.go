package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// audited is a cluster whose audit works, of the admin user/root and the operator user/anna of the
// room demo.
func audited(t *testing.T) (*people, *world) {
	t.Helper()
	p := newPeople(t)
	w := p.start()
	if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	p.put("user/anna", vouch.Standing{Rights: []who.Right{{Role: code.Operator, Room: "demo"}}})
	return p, w
}

// dialFrom is dial, and tells from which address it connects.
func (p *people) dialFrom(w *world, i int, cfg *tls.Config) (*grpc.ClientConn, func() string) {
	p.t.Helper()
	var from atomic.Value
	conn, err := grpc.NewClient("passthrough:///"+w.nodes[i].addr, grpc.WithTransportCredentials(credentials.NewTLS(cfg)),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err == nil {
				from.Store(c.LocalAddr().String())
			}
			return c, err
		}))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn, func() string { addr, _ := from.Load().(string); return addr }
}

// audit gives what the audit has behind a number.
func (w *world) audit(after uint64) []*vigilv1.AuditEntry {
	w.t.Helper()
	list, err := w.trust(1).ListAudit(within(w.t), &vigilv1.ListAuditRequest{After: after, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.GetEntries()
}

// What a person changes is in the audit, by whatever server, door and batch it comes: who, from which
// address, which call about which room, and never what was said. Who is refused leaves nothing there.
func TestAuditSaysWhoHasChangedWhat(t *testing.T) {
	p, w := audited(t)
	w.room("demo", "builder", 2)
	conn, from := p.dialFrom(w, 1, p.holder(trust.User, "anna", trust.Stamp{}).Client(nil)) // a follower
	fleet, work := vigilv1.NewFleetClient(conn), vigilv1.NewWorkClient(conn)
	task := &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "the secret plan", By: "the boss"}
	last := w.audit(0)[len(w.audit(0))-1].GetSeq()
	made, err := fleet.CreateTask(within(t), task)
	if err != nil {
		t.Fatal(err)
	}
	session, err := work.OpenSession(within(t), &vigilv1.OpenSessionRequest{Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	again := &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "the secret plan", By: "another",
		Id: &vigilv1.WriteId{Session: session.GetSession(), Seq: 1}}
	for range 2 { // the second is a repeat
		if _, err := fleet.CreateTask(within(t), again); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := work.Batch(within(t), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "y"}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "nowhere", Role: "x", Title: "z"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.CancelTask(within(t), &vigilv1.CancelTaskRequest{Task: made.GetId(), IfRev: 99999}); err == nil {
		t.Fatal("a task is canceled at a revision that it never had")
	}
	if _, err := fleet.ListTasks(within(t), &vigilv1.ListTasksRequest{Room: "demo"}); err != nil {
		t.Fatal(err)
	}
	got := w.audit(last)
	if len(got) != 3 {
		t.Fatalf("%d entries, want 3: %v", len(got), got)
	}
	for _, e := range got {
		if e.GetWho() != "user/anna" || e.GetMethod() != "Fleet/CreateTask" || e.GetRoom() != "demo" ||
			e.GetSource() != from() || len(e.GetDigest()) != 32 || e.GetIndex() == 0 || e.GetAt() == nil ||
			strings.Contains(e.String(), "secret") {
			t.Errorf("the entry is %v; it came from %s", e, from())
		}
	}
	if got[0].GetDigest() != got[1].GetDigest() || got[0].GetDigest() == got[2].GetDigest() {
		t.Errorf("the digests are %q, %q and %q: they tell equal requests, and only these", got[0].GetDigest(),
			got[1].GetDigest(), got[2].GetDigest())
	}
	last = got[2].GetSeq()

	// A life speaks for itself, whoever's certificate its program has.
	me := &vigilv1.Speaker{Agent: "demo/builder", Token: "t"}
	join, err := work.Join(within(t), &vigilv1.JoinRequest{Speaker: me})
	if err == nil {
		me.Incarnation = join.GetIncarnation()
		_, err = work.Leave(within(t), &vigilv1.LeaveRequest{Speaker: me})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.audit(last) {
		if e.GetMethod() == "Work/Leave" {
			t.Errorf("the words of a life are in the audit: %v", e)
		}
	}
}

// Over HTTP it is the address of the browser, and a header says no other one.
func TestAuditOverHTTP(t *testing.T) {
	p, w := audited(t)
	w.room("demo", "builder", 2)
	cfg := p.holder(trust.User, "anna", trust.Stamp{}).Client(nil, "http/1.1")
	http1 := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}}
	for i := range w.nodes {
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, "https://"+w.nodes[i].addr+"/v1/pause",
			strings.NewReader(`{"scope":"demo","pause":true}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Forwarded-For", "192.0.2.1")
		req.Header.Set(code.HeaderSource, "192.0.2.1")
		resp, err := http1.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s (%v)", resp.Status, body, err)
		}
		list := w.audit(0)
		e := list[len(list)-1]
		if e.GetWho() != "user/anna" || e.GetMethod() != "Fleet/SetPause" || e.GetSource() != "127.0.0.1" {
			t.Errorf("server %d: the entry is %v", i, e)
		}
	}
}

// What is no command is noted before it is done, and outlasts what it does.
func TestAuditOfARestore(t *testing.T) {
	_, w := audited(t)
	noted := uint64(len(w.audit(0)))
	stream, err := w.cluster(0).RestoreSnapshot(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&vigilv1.RestoreSnapshotRequest{Data: []byte("no backup")}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndRecv(); err == nil {
		t.Error("what is no backup was restored")
	}
	list := w.audit(noted)
	if len(list) != 1 || list[0].GetWho() != "user/root" || list[0].GetMethod() != "Cluster/RestoreSnapshot" {
		t.Errorf("the audit says %v", list)
	}
}

// Readers choose, page and follow.
func TestAuditIsReadInPages(t *testing.T) {
	p, w := audited(t)
	w.room("demo", "builder", 2)
	anna := vigilv1.NewFleetClient(p.dial(w, 0, p.holder(trust.User, "anna", trust.Stamp{}).Client(nil)))
	for i := range 5 {
		if _, err := anna.SetPause(within(t), &vigilv1.SetPauseRequest{Scope: "demo",
			Pause: proto.Bool(i%2 == 0)}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []uint64
	req := &vigilv1.ListAuditRequest{Limit: 2, Who: "user/anna", Room: "demo", Method: "Fleet/SetPause"}
	for {
		page, err := w.trust(0).ListAudit(within(t), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.GetEntries() {
			seen = append(seen, e.GetSeq())
		}
		if req.After = page.GetNext(); !page.GetMore() {
			break
		}
	}
	end, err := w.trust(0).ListAudit(within(t), &vigilv1.ListAuditRequest{Tail: true})
	if err != nil || len(end.GetEntries()) != 0 || len(seen) != 5 ||
		end.GetNext() != seen[4] || req.GetAfter() != seen[4] {
		t.Errorf("seen are %v, the end is %v (%v)", seen, end, err)
	}
	if list, err := w.trust(0).ListAudit(within(t), &vigilv1.ListAuditRequest{Who: "user/eve"}); err != nil ||
		len(list.GetEntries()) != 0 || list.GetNext() != seen[4] {
		t.Errorf("of somebody else: %v (%v)", list, err)
	}
	for _, bad := range []*vigilv1.ListAuditRequest{{Tail: true, After: 1}, {Limit: 5000}, {Who: "a\nb"}} {
		if _, err := w.trust(0).ListAudit(within(t), bad); codeOf(err) != code.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
