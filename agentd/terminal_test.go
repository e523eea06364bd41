package agentd

import (
	"strings"
	"testing"

	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

func (s *fakeStream) askTerminal(t *testing.T, r *vigilv1.TerminalRequest) *vigilv1.LogData {
	t.Helper()
	s.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_TerminalRequest{TerminalRequest: r}})
	return s.logData(t, r.GetRequest())
}

// What is asked of a terminal reaches the shim of that very life, and no other; every
// request gets one answer, which may be a complaint.
func TestTerminalRequestsReachTheirLife(t *testing.T) {
	r, p := newPuppetRig(t, false)
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)

	if d := r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: 5, Agent: 1, Incarnation: 2,
		Look: true}); !d.GetEnd() || d.GetError() != shim.ErrNoTerminal.Error() {
		t.Errorf("a life without a terminal: %v", d)
	}
	one.typed = make(chan shim.TerminalRequest, 2)
	if d := r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: 6, Agent: 1, Incarnation: 2,
		Text: "hello", Look: true, Lines: 9, SparePrompt: true}); !d.GetEnd() || d.GetError() != "" ||
		string(d.GetData()) != "$ hello" {
		t.Errorf("%v", d)
	}
	if got := next(t, one.typed); got != (shim.TerminalRequest{Look: true}) {
		t.Errorf("asked %+v before anything was typed", got)
	}
	if got, want := next(t, one.typed),
		(shim.TerminalRequest{Text: "hello", Enter: true, Look: true, Lines: 9}); got != want {
		t.Errorf("asked %+v, want %+v", got, want)
	}
	for key, want := range map[string]shim.TerminalRequest{"enter": {Enter: true},
		"interrupt": {Interrupt: true}, "": {}} {
		r.stream.askTerminal(t, &vigilv1.TerminalRequest{Request: 9, Agent: 1, Incarnation: 2, Key: key,
			SparePrompt: key != ""})
		if key != "" { // whether a prompt stands
			next(t, one.typed)
		}
		if got := next(t, one.typed); got != want {
			t.Errorf("key %q: asked %+v, want %+v", key, got, want)
		}
	}
	for _, other := range []*vigilv1.TerminalRequest{{Request: 7, Agent: 1, Incarnation: 1, Text: "x"},
		{Request: 8, Agent: 2, Incarnation: 2, Text: "x"}} {
		if d := r.stream.askTerminal(t, other); !d.GetEnd() ||
			!strings.Contains(d.GetError(), "does not run on the host") {
			t.Errorf("%v: %v", other, d)
		}
	}
	none(t, one.typed, "somebody else's words were typed")
	one.exit <- shim.Exit{}
	next(t, r.exits)
}
