package rpc

import (
	"bytes"
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// install gives a follower that is behind the leader's state as a snapshot, as raft does:
// what was written meanwhile never comes to it as an entry.
func (w *world) install(i int) {
	w.t.Helper()
	var b bytes.Buffer
	if err := w.nodes[0].Snapshot(&b); err != nil {
		w.t.Fatal(err)
	}
	st, err := fsm.Load(&b)
	if err != nil {
		w.t.Fatal(err)
	}
	n := w.nodes[i]
	n.mu.Lock()
	n.state, n.held, n.behind = st, false, nil
	last := st.LastEvent()
	n.mu.Unlock()
	for _, fn := range n.subs {
		fn(noun.Effects{Reset: true, LastEvent: last})
	}
}

// L3: whoever waits on a server that is sent a snapshot gets what came with it: a task, mail,
// events, also when its role was declared anew meanwhile.
func TestF09InstalledSnapshotWakesWhoeverWaits(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	w.room("other", "builder", 1)
	me, reader := w.join("demo/builder"), w.join("other/builder")
	got := make(chan waited, 1)
	w.wait(within(t), 1, 0, me, got)
	w.parkedAt(1, 1)
	mail := make(chan error, 1)
	go func() {
		resp, err := w.mail(1).WaitMail(within(t),
			&vigilv1.WaitMailRequest{Speaker: reader, MaxWait: durationpb.New(20 * time.Second)})
		if err == nil && resp.GetUnread() != 1 {
			t.Errorf("unread: %v", resp)
		}
		mail <- err
	}()
	eventually(t, "a wait for mail", func() bool { return w.servers[1].park.Mail.Count() == 1 })
	w.nodes[1].hold()
	task := w.task(0, "demo", "builder", "for it")
	if err := w.do(fsm.SendMail{From: "ann", To: "other/builder", Subject: "s"}); err != nil {
		t.Fatal(err)
	}
	w.install(1)
	if r := <-got; r.err != nil || r.resp.GetTask().GetId() != task.GetId() {
		t.Errorf("wait: %v, %v", r.resp, r.err)
	}
	if err := <-mail; err != nil {
		t.Errorf("wait for mail: %v", err)
	}
}

// A waiter whose role is gone with the state that was replaced does not wait on for it.
func TestF09WaitersOfARoleThatIsGoneLookAnew(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	got := make(chan waited, 1)
	w.wait(ctx, 1, 0, me, got)
	w.parkedAt(1, 1)
	w.nodes[1].hold()
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	if err := w.do(fsm.DeleteRoom{Room: "demo", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.room("demo", "builder", 1)
	w.install(1)
	if r := <-got; codeOf(r.err) != "superseded" {
		t.Errorf("wait: %v, %v, want superseded", r.resp, r.err)
	}
}
