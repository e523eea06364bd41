package rpc

import (
	"testing"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Who shows no identity, and a token that is not that of the life that it names, writes nothing: no word and no
// batch of it comes into the log, at whichever server it arrives. A life that is over is told so by the state.
func TestInventedTokensComeNotIntoTheLog(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	w.room("demo", "builder", 1)
	join := func(token string) *vigilv1.Speaker {
		t.Helper()
		life, err := w.work(0).Join(within(t), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder",
			Token: token}})
		if err != nil {
			t.Fatal(err)
		}
		return &vigilv1.Speaker{Agent: "demo/builder", Incarnation: life.GetIncarnation(), Token: token}
	}
	old := join("first")
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: old}); err != nil {
		t.Fatal(err)
	}
	me := join("second")
	guess := &vigilv1.Speaker{Agent: me.GetAgent(), Incarnation: me.GetIncarnation(), Token: "guess"}
	index := func() (last uint64) {
		w.nodes[0].Read(func(st *fsm.View) { last = st.LastIndex() })
		return last
	}
	leave := func(sp *vigilv1.Speaker) *vigilv1.BatchRequest {
		return &vigilv1.BatchRequest{Writes: []*vigilv1.Write{{Op: &vigilv1.Write_Leave{
			Leave: &vigilv1.LeaveRequest{Speaker: sp}}}}}
	}
	for i := range w.nodes {
		conn := p.dial(w, i, trust.NewHolder(p.roots).Client(nil))
		work, before := vigilv1.NewWorkClient(conn), index()
		resp, err := work.Batch(within(t), leave(guess))
		if err != nil || resp.GetResults()[0].GetError().GetCode() != code.Denied {
			t.Errorf("a batch with a guess at s%d: %v (%v)", i+1, resp, err)
		}
		if _, err := work.Leave(within(t), &vigilv1.LeaveRequest{Speaker: guess}); codeOf(err) != code.Denied {
			t.Errorf("a word with a guess at s%d: %v", i+1, err)
		}
		_, err = vigilv1.NewMailboxClient(conn).SendMail(within(t), &vigilv1.SendMailRequest{Speaker: guess,
			To: "demo/builder", Subject: "x"})
		if codeOf(err) != code.Denied {
			t.Errorf("a mail with a guess at s%d: %v", i+1, err)
		}
		if after := index(); after != before {
			t.Errorf("%d entries were written at s%d", after-before, i+1)
		}
		resp, err = work.Batch(within(t), leave(old))
		if err != nil || resp.GetResults()[0].GetError().GetCode() != code.Superseded {
			t.Errorf("a life that is over hears at s%d: %v (%v)", i+1, resp, err)
		}
	}
	resp, err := vigilv1.NewWorkClient(p.dial(w, 1, trust.NewHolder(p.roots).Client(nil))).Batch(within(t), leave(me))
	if err != nil || resp.GetResults()[0].GetError() != nil {
		t.Errorf("with its own token a life hears %v (%v)", resp, err)
	}
}
