package agentd

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// L6 at a terminal: no call with keys is typed twice, none of an earlier turn, none a minute after the last, and
// not more of them than anybody types.
func TestL6KeysOfATurn(t *testing.T) {
	type call struct {
		at         time.Duration
		grant, seq uint64
		want       error
	}
	for name, calls := range map[string][]call{
		"in order":     {{0, 5, 1, nil}, {time.Second, 5, 2, nil}},
		"repeated":     {{0, 5, 1, nil}, {0, 5, 1, errTyped}, {0, 5, 2, nil}, {0, 5, 1, errTyped}},
		"earlier turn": {{0, 5, 1, nil}, {0, 9, 1, nil}, {0, 5, 2, errTurnOver}, {0, 9, 2, nil}},
		"idle": {{0, 5, 1, nil}, {turnSpan, 5, 2, nil}, {2*turnSpan + 1, 5, 3, errTurnIdle},
			{2*turnSpan + 2, 6, 1, nil}},
	} {
		var turn turn
		for _, c := range calls {
			if err := turn.hear(c.at, c.grant, c.seq); !errors.Is(err, c.want) {
				t.Errorf("%s: call %d of turn %d: %v, want %v", name, c.seq, c.grant, err, c.want)
			}
		}
	}
	var turn turn
	typed := 0
	for seq := range uint64(1000) { // in ten seconds
		if turn.hear(time.Duration(seq)*10*time.Millisecond, 1, seq+1) == nil {
			typed++
		}
	}
	if typed < 500 || typed > 550 {
		t.Errorf("%d calls in ten seconds, at most %d a second are taken", typed, keyCalls)
	}
}

// Keys reach the shim of their life as they are, once.
func TestKeysReachTheirLife(t *testing.T) {
	r, p := newPuppetRig(t, false)
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	one.typed = make(chan shim.TerminalRequest, 2)
	keys := []byte("y\x1b[A\xff")
	ask := &vigilv1.TerminalRequest{Request: 5, Agent: 1, Incarnation: 2, Grant: 7, Seq: 1, Keys: keys}
	if d := r.stream.askTerminal(t, ask); !d.GetEnd() || d.GetError() != "" {
		t.Fatalf("%v", d)
	}
	if got, want := next(t, one.typed), (shim.TerminalRequest{Keys: hex.EncodeToString(keys)}); got != want {
		t.Errorf("asked %+v, want %+v", got, want)
	}
	ask.Request = 6
	if d := r.stream.askTerminal(t, ask); !d.GetEnd() || d.GetError() != "" {
		t.Errorf("a repeat: %v", d)
	}
	ask.Request, ask.Grant = 7, 6
	if d := r.stream.askTerminal(t, ask); d.GetError() != errTurnOver.Error() {
		t.Errorf("an earlier turn: %v", d)
	}
	none(t, one.typed, "keys were typed twice, or of another turn")
	if log := r.log.String(); strings.Contains(log, "y\x1b") || strings.Contains(log, hex.EncodeToString(keys)) {
		t.Errorf("keys are in the log: %s", log)
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// Who follows a screen gets it at once and when it has changed, and nothing while it stands still; the stream ends
// with the life.
func TestScreenIsFollowed(t *testing.T) {
	r, p := newPuppetRig(t, false)
	var mu sync.Mutex
	shown, looks := "", 0
	p.shows = func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		looks++
		return shown, nil
	}
	path := filepath.Join(r.dir, "logs", "demo", "r1.log")
	paint := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		shown = "80 24 3 1 1\n" + text
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(strings.Repeat("x", len(shown))), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	paint("one")
	r.stream.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_LogRequest{LogRequest: &vigilv1.LogRequest{
		Request: 3, Agent: 1, AgentName: "demo/r1", Incarnation: 2, Screen: true, Follow: true}}})
	for _, text := range []string{"one", "and two", "and then \x1b[31mthree\x1b[0m"} {
		paint(text)
		for got := new(vigilv1.Screen); got.GetText() != text; {
			d := r.stream.logData(t, 3)
			if err := proto.Unmarshal(d.GetData(), got); err != nil || d.GetEnd() || got.GetColumns() != 80 ||
				got.GetRows() != 24 || got.GetCursorX() != 3 || got.GetCursorY() != 1 || got.GetCursorHidden() {
				t.Fatalf("%v, %v: %v", err, d, got)
			}
		}
	}
	mu.Lock()
	if looks > 6 {
		t.Errorf("tmux was asked %d times for three screens", looks)
	}
	mu.Unlock()
	one.exit <- shim.Exit{}
	next(t, r.exits)
	if d := r.stream.logData(t, 3); !d.GetEnd() || !strings.Contains(d.GetError(), "does not run") {
		t.Errorf("after the end of the life: %v", d)
	}
}
