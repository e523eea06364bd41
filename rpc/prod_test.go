package rpc

import (
	"strings"
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// A rung of the ladder reaches the terminal of its life through whichever server holds the
// host's stream, and no other life (law L6).
func TestProdReachesTheTerminalOfOneLife(t *testing.T) {
	w := start(t, 3)
	h, host := w.connect(t, 1)
	g := w.order(t, "demo/builder", host)
	h.next() // the order came through the stream, so the server has it
	inc := noun.Incarnation(g.GetIncarnationRaw())
	if err := w.servers[0].Prod(within(t), "demo/builder", inc, noun.RungNudge); err == nil {
		t.Error("an agent that does not run was nudged")
	}
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host),
		Boot: "b1", Agent: g.GetId(), Incarnation: g.GetIncarnationRaw()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: uint32(host),
		Agent: g.GetId(), Incarnation: g.GetIncarnationRaw(), Pid: 7}); err != nil {
		t.Fatal(err)
	}
	for rung, want := range map[noun.Rung]struct{ text, key string }{
		noun.RungNudge: {nudgeWords, ""}, noun.RungWake: {"", "enter"}, noun.RungInterrupt: {"", "interrupt"},
	} {
		got := h.terminal(t, &vigilv1.LogData{})
		if err := w.servers[0].Prod(within(t), "demo/builder", inc, rung); err != nil {
			t.Fatalf("%s: %v", rung, err)
		}
		if r := <-got; r.GetText() != want.text || r.GetKey() != want.key ||
			r.GetIncarnation() != uint64(inc) || r.GetLook() {
			t.Errorf("%s: asked %v", rung, r)
		}
	}
	if err := w.servers[0].Prod(within(t), "demo/builder", inc+1, noun.RungNudge); err == nil ||
		!strings.Contains(err.Error(), "has ended") {
		t.Errorf("L6: another life was nudged: %v", err)
	}
	if err := w.servers[0].Prod(within(t), "demo/builder", inc, noun.RungRestart); err == nil {
		t.Error("a restart was typed")
	}
	got := h.terminal(t, &vigilv1.LogData{Error: "the agent has no tmux session"})
	if err := w.servers[0].Prod(within(t), "demo/builder", inc, noun.RungWake); err == nil ||
		!strings.Contains(err.Error(), "no tmux session") {
		t.Errorf("a host's complaint became %v", err)
	}
	<-got
}
