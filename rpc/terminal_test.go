package rpc

import (
	"strings"
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// terminal answers the next request about a terminal and gives it.
func (h *hostSide) terminal(t *testing.T, answer *vigilv1.LogData) <-chan *vigilv1.TerminalRequest {
	got := make(chan *vigilv1.TerminalRequest, 1)
	go func() {
		for {
			r := h.next().GetTerminalRequest()
			if r == nil || r.GetOver() {
				continue // orders, and the end of a turn
			}
			answer.Request, answer.End = r.GetRequest(), true
			if err := h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{LogData: answer}}); err != nil {
				t.Error(err)
			}
			got <- r
			return
		}
	}()
	return got
}

// Whichever server is asked, the terminal is reached through the one that holds the
// host's stream; what is typed is typed once, and its text is in no event.
func TestTerminalIsReachedThroughEveryServer(t *testing.T) {
	w := start(t, 3)
	h, host := w.connect(t, 1)
	g := w.order(t, "demo/builder", host)
	h.next() // the order came through the stream, so the server has it
	if _, err := w.fleet(0).NudgeAgent(within(t),
		&vigilv1.NudgeAgentRequest{Agent: "demo/builder"}); codeOf(err) != noun.Conflict.String() {
		t.Fatalf("an agent that does not run was nudged: %v", err)
	}
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host),
		Boot: "b1", Agent: g.GetId(), Incarnation: g.GetIncarnationRaw()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: uint32(host),
		Agent: g.GetId(), Incarnation: g.GetIncarnationRaw(), Pid: 7}); err != nil {
		t.Fatal(err)
	}
	for via := range 3 {
		got := h.terminal(t, &vigilv1.LogData{Data: []byte("$ "), Dialog: "ab12"})
		screen, err := w.fleet(via).LookAtAgent(within(t), &vigilv1.LookAtAgentRequest{Agent: "demo/builder", Lines: 9})
		if err != nil || screen.GetText() != "$ " || screen.GetHost() != "h1" || screen.GetDialog() != "ab12" ||
			screen.GetIncarnation() != g.GetIncarnation() {
			t.Fatalf("via server %d: %v, %v", via, screen, err)
		}
		if r := <-got; !r.GetLook() || r.GetLines() != 9 || r.GetText() != "" ||
			r.GetIncarnation() != g.GetIncarnationRaw() {
			t.Errorf("via server %d: asked %v", via, r)
		}

		got = h.terminal(t, &vigilv1.LogData{})
		nudge := &vigilv1.NudgeAgentRequest{Agent: "demo/builder", Text: "secret plan", By: "ann", Reason: "idle"}
		if via == 2 {
			nudge.Answer, nudge.IfDialog = true, "ab12"
		}
		if _, err := w.fleet(via).NudgeAgent(within(t), nudge); err != nil {
			t.Fatalf("via server %d: %v", via, err)
		}
		if r := <-got; r.GetText() != "secret plan" || r.GetLook() || r.GetIfDialog() != nudge.GetIfDialog() ||
			r.GetSparePrompt() == (via == 2) { // an answer only is typed at a permission prompt
			t.Errorf("via server %d: asked %v", via, r)
		}
	}
	got := h.terminal(t, &vigilv1.LogData{Error: "the agent is frozen"})
	if _, err := w.fleet(0).NudgeAgent(within(t),
		&vigilv1.NudgeAgentRequest{Agent: "demo/builder"}); codeOf(err) != noun.Conflict.String() ||
		!strings.Contains(err.Error(), "frozen") {
		t.Errorf("a complaint of the host became %v", err)
	}
	if r := <-got; r.GetText() != nudgeWords || !r.GetSparePrompt() {
		t.Errorf("asked %v", r)
	}
	h.terminal(t, &vigilv1.LogData{Data: []byte("1. Yes"), Error: "the prompt has gone"})
	if _, err := w.fleet(0).NudgeAgent(within(t), &vigilv1.NudgeAgentRequest{Agent: "demo/builder", Text: "no",
		Answer: true}); codeOf(err) != noun.Conflict.String() || strings.Contains(err.Error(), "Nothing was typed") ||
		!strings.Contains(err.Error(), "Not all of it was typed: the prompt has gone.") {
		t.Errorf("an answer of which a part was typed became %v", err)
	}
	answer, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	nudges := 0
	for _, e := range answer.GetEvents() {
		if strings.Contains(e.String(), "secret plan") {
			t.Errorf("the text is in the event %v", e)
		}
		if e.GetKind() == "agent.nudged" {
			nudges++
		}
	}
	if nudges != 5 {
		t.Errorf("%d nudges, want 5", nudges)
	}
	if _, err := w.fleet(0).AtTerminal(within(t),
		&vigilv1.AtTerminalRequest{Host: uint32(host), Text: "x"}); codeOf(err) != noun.Invalid.String() {
		t.Errorf("somebody who is no server typed without an event: %v", err)
	}
}

// nudgeWords is what is typed when nobody says what.
const nudgeWords = "How are you getting on? Go on with your task; if you wait for something, say so with " +
	"`vigil declare`, and if you cannot go on, with `vigil task fail`."
