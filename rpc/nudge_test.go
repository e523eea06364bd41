package rpc

import (
	"context"
	"strings"
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// nudged is a world whose agent runs on a host that is connected to server 1, with a
// session.
func nudged(t *testing.T) (w *world, h *hostSide, host noun.HostID, session uint64) {
	w = start(t, 3)
	h, host = w.connect(t, 1)
	g := w.order(t, "demo/builder", host)
	h.next() // the order came through the stream, so the server has it
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host),
		Boot: "b1", Agent: g.GetId(), Incarnation: g.GetIncarnationRaw()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: uint32(host),
		Agent: g.GetId(), Incarnation: g.GetIncarnationRaw(), Pid: 7}); err != nil {
		t.Fatal(err)
	}
	s, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return w, h, host, s.GetSession()
}

// typed gives each line that the host is asked to type, and answers it when answer is called.
func (h *hostSide) typed() <-chan *vigilv1.TerminalRequest {
	got := make(chan *vigilv1.TerminalRequest, 16)
	go func() {
		for {
			m, err := h.Recv()
			if err != nil {
				close(got)
				return
			}
			if r := m.GetTerminalRequest(); r != nil {
				got <- r
			}
		}
	}()
	return got
}

func (h *hostSide) answer(t *testing.T, r *vigilv1.TerminalRequest, complaint string) {
	t.Helper()
	d := &vigilv1.LogData{Request: r.GetRequest(), End: true, Error: complaint}
	if err := h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{LogData: d}}); err != nil {
		t.Fatal(err)
	}
}

func nudgeNo(session, seq uint64) *vigilv1.NudgeAgentRequest {
	return &vigilv1.NudgeAgentRequest{Agent: "demo/builder", Text: "go on",
		Id: &vigilv1.WriteId{Session: session, Seq: seq}}
}

// A nudge that is repeated under its write id, through whichever server, is typed once, and
// every caller gets what the first one got: also who asks while the host still types for a
// caller that has gone.
func TestF06ARepeatedNudgeIsTypedOnce(t *testing.T) {
	w, h, _, session := nudged(t)
	typed := h.typed()
	gone, leave := context.WithCancel(within(t))
	first := make(chan error, 1)
	go func() {
		_, err := w.fleet(0).NudgeAgent(gone, nudgeNo(session, 1))
		first <- err
	}()
	r := <-typed
	leave()
	if err := <-first; codeOf(err) != code.Canceled {
		t.Fatalf("who went away got %v", err)
	}
	repeat := make(chan error, 1)
	go func() {
		_, err := w.fleet(1).NudgeAgent(within(t), nudgeNo(session, 1))
		repeat <- err
	}()
	h.answer(t, r, "")
	if err := <-repeat; err != nil {
		t.Fatalf("the repeat got %v, the first was typed", err)
	}
	for via := range 3 {
		if _, err := w.fleet(via).NudgeAgent(within(t), nudgeNo(session, 1)); err != nil {
			t.Errorf("repeat through server %d: %v", via, err)
		}
	}

	complaint := make(chan error, 1)
	go func() {
		_, err := w.fleet(0).NudgeAgent(within(t), nudgeNo(session, 2))
		complaint <- err
	}()
	h.answer(t, <-typed, "the agent is frozen")
	if err := <-complaint; codeOf(err) != noun.Conflict.String() || !strings.Contains(err.Error(), "frozen") {
		t.Fatalf("a complaint became %v", err)
	}
	if _, err := w.fleet(2).NudgeAgent(within(t), nudgeNo(session,
		2)); codeOf(err) != noun.Conflict.String() || !strings.Contains(err.Error(), "frozen") {
		t.Errorf("its repeat became %v", err)
	}
	if n := len(typed); n > 0 {
		t.Errorf("repeats were typed %d times", n)
	}
	if n := w.events(t, "agent.nudged"); n != 2 {
		t.Errorf("%d events, want one for each of two nudges", n)
	}
}

// The server that began a nudge is lost: nobody knows whether it was typed, so nobody types
// it again, and that is said.
func TestF06ANudgeIsNotTypedAgainByTheNextLeader(t *testing.T) {
	w, h, _, session := nudged(t)
	typed := h.typed()
	first := make(chan error, 1)
	go func() {
		_, err := w.fleet(0).NudgeAgent(within(t), nudgeNo(session, 1))
		first <- err
	}()
	h.answer(t, <-typed, "")
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	w.elect(w.nodes[2])
	if _, err := w.fleet(1).NudgeAgent(within(t), nudgeNo(session, 1)); codeOf(err) !=
		noun.Conflict.String() || !strings.Contains(err.Error(), "may have been typed") {
		t.Errorf("the next leader answered %v", err)
	}
	if n := len(typed); n > 0 {
		t.Errorf("the next leader typed %d times", n)
	}
}

// A host that leaves before it answers may have typed: it is not asked again when it is
// back, at whichever server. One that was not there typed nothing: the repeat does.
func TestF06ANudgeIsTypedWhenItsHostComesLate(t *testing.T) {
	w, h, host, session := nudged(t)
	typed := h.typed()
	first := make(chan error, 1)
	go func() {
		_, err := w.fleet(0).NudgeAgent(within(t), nudgeNo(session, 1))
		first <- err
	}()
	<-typed
	if err := h.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := <-first; codeOf(err) != noun.Conflict.String() || !strings.Contains(err.Error(), "may have been typed") {
		t.Fatalf("a host that left before it answered became %v", err)
	}

	absent, leave := context.WithCancel(within(t))
	go func() {
		_, err := w.fleet(0).NudgeAgent(absent, nudgeNo(session, 2))
		first <- err
	}()
	eventually(t, "the note", func() bool { return w.events(t, "agent.nudged") == 2 })
	leave()
	<-first
	h = w.stream(t, within(t), 2, uint32(host))
	typed = h.typed()
	eventually(t, "the stream", func() bool { _, ok := w.servers[2].StreamSilence(host); return ok })
	if _, err := w.fleet(1).NudgeAgent(within(t), nudgeNo(session, 1)); codeOf(err) != noun.Conflict.String() {
		t.Errorf("the repeat got %v", err)
	}
	go func() {
		_, err := w.fleet(0).NudgeAgent(within(t), nudgeNo(session, 2))
		first <- err
	}()
	h.answer(t, <-typed, "")
	if err := <-first; err != nil {
		t.Errorf("the host is there, and the repeat got %v", err)
	}
	if n := len(typed); n > 0 {
		t.Errorf("typed %d times too often", n)
	}
}

// events counts the events of a kind.
func (w *world) events(t *testing.T, kind string) (n int) {
	t.Helper()
	g, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range g.GetEvents() {
		if e.GetKind() == kind {
			n++
		}
	}
	return n
}
