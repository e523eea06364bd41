package rpc

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// running has the agent demo/builder run on a host whose stream server 1 holds.
func (w *world) running(t *testing.T) (*hostSide, *vigilv1.Agent) {
	t.Helper()
	h, host := w.connect(t, 1)
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
	return h, g
}

// A terminal is taken, typed into and given back through every server; meanwhile others read who has it, and
// nobody else types. No key is in an event.
func TestTerminalIsTakenThroughEveryServer(t *testing.T) {
	w := start(t, 3)
	h, g := w.running(t)
	for via := range 3 {
		fleet := w.fleet(via)
		turn, err := fleet.TakeTerminal(within(t), &vigilv1.TakeTerminalRequest{Agent: "demo/builder", By: "ann"})
		if err != nil || turn.GetGrant() == 0 || turn.GetSpan().AsDuration() != time.Minute {
			t.Fatalf("via server %d: %v, %v", via, turn, err)
		}
		got := h.terminal(t, &vigilv1.LogData{})
		keys := &vigilv1.TypeKeysRequest{Agent: "demo/builder", Grant: turn.GetGrant(), Seq: 1, Keys: []byte("\x1b[Asecret"),
			By: "ann"}
		if _, err := fleet.TypeKeys(within(t), keys); err != nil {
			t.Fatalf("via server %d: %v", via, err)
		}
		if r := <-got; string(r.GetKeys()) != "\x1b[Asecret" || r.GetGrant() != turn.GetGrant() || r.GetSeq() != 1 ||
			r.GetIncarnation() != g.GetIncarnationRaw() || r.GetText() != "" || r.GetLook() {
			t.Errorf("via server %d: the host was asked %v", via, r)
		}
		_, err = w.fleet((via+1)%3).TakeTerminal(within(t), &vigilv1.TakeTerminalRequest{Agent: "demo/builder", By: "bob"})
		if codeOf(err) != noun.Conflict.String() || !strings.Contains(err.Error(), "ann types") {
			t.Errorf("a second human: %v", err)
		}
		if _, err := fleet.NudgeAgent(within(t), &vigilv1.NudgeAgentRequest{Agent: "demo/builder"}); codeOf(err) !=
			noun.Conflict.String() || !strings.Contains(err.Error(), "ann types") {
			t.Errorf("a nudge: %v", err)
		}
		a, err := fleet.GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
		if err != nil || a.GetAgent().GetTypist().GetBy() != "ann" || a.GetAgent().GetTypist().GetGrant() != turn.GetGrant() {
			t.Errorf("%v, %v", a.GetAgent().GetTypist(), err)
		}
		if _, err := fleet.ReleaseTerminal(within(t), &vigilv1.ReleaseTerminalRequest{Agent: "demo/builder",
			Grant: turn.GetGrant(), By: "ann"}); err != nil {
			t.Fatal(err)
		}
		keys.Seq = 2
		if _, err := fleet.TypeKeys(within(t), keys); codeOf(err) != code.Superseded {
			t.Errorf("keys after the end: %v", err)
		}
	}
	answer, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range answer.GetEvents() {
		count[e.GetKind()]++
		if strings.Contains(e.String(), "secret") {
			t.Errorf("keys are in the event %v", e)
		}
	}
	if count["agent.terminal_taken"] != 3 || count["agent.terminal_released"] != 3 || count["agent.nudged"] != 0 {
		t.Errorf("%v", count)
	}
}

// Whoever has the terminal gives it a size, with keys and without; its host is told when the turn is over, whichever
// server hears of that, and of no other turn.
func TestSizeOfATerminalLastsAsATurn(t *testing.T) {
	w := start(t, 3)
	h, g := w.running(t)
	asked := make(chan *vigilv1.TerminalRequest, 4)
	go func() {
		for {
			m, err := h.Recv()
			if err != nil {
				return
			}
			if p := m.GetPing(); p != nil {
				_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Pong{Pong: &vigilv1.Pong{N: p.GetN()}}})
			}
			if r := m.GetTerminalRequest(); r != nil {
				asked <- r
				_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
					LogData: &vigilv1.LogData{Request: r.GetRequest(), End: true}}})
			}
		}
	}()
	next := func(what string) *vigilv1.TerminalRequest {
		t.Helper()
		select {
		case r := <-asked:
			return r
		case <-within(t).Done():
			t.Fatalf("%s: the host was asked nothing", what)
			return nil
		}
	}
	for via := range 3 {
		fleet := w.fleet(via)
		turn, err := fleet.TakeTerminal(within(t), &vigilv1.TakeTerminalRequest{Agent: "demo/builder", By: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		for seq, keys := range []string{"", "y"} {
			if _, err := fleet.TypeKeys(within(t), &vigilv1.TypeKeysRequest{Agent: "demo/builder", Grant: turn.GetGrant(),
				Seq: uint64(seq + 1), Keys: []byte(keys), Columns: 60, Rows: 20, By: "ann"}); err != nil {
				t.Fatal(err)
			}
			if r := next("a size"); r.GetColumns() != 60 || r.GetRows() != 20 || string(r.GetKeys()) != keys || r.GetOver() {
				t.Errorf("via server %d: the host was asked %v", via, r)
			}
		}
		for _, grant := range []uint64{turn.GetGrant() - 1, 0} { // 0: whoever has it
			if _, err := fleet.ReleaseTerminal(within(t), &vigilv1.ReleaseTerminalRequest{Agent: "demo/builder",
				Grant: grant, By: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		if r := next("the end"); !r.GetOver() || r.GetGrant() != turn.GetGrant() ||
			r.GetIncarnation() != g.GetIncarnationRaw() || len(r.GetKeys()) != 0 {
			t.Errorf("via server %d: the host was asked %v", via, r)
		}
	}
	select {
	case r := <-asked:
		t.Errorf("the host was asked once more: %v", r)
	default:
	}
}

// What is typed is bounded, and only by whoever has the terminal.
func TestTypeKeysRefuses(t *testing.T) {
	w := start(t, 2)
	h, _ := w.running(t)
	turn, err := w.fleet(0).TakeTerminal(within(t), &vigilv1.TakeTerminalRequest{Agent: "demo/builder", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	good := &vigilv1.TypeKeysRequest{Agent: "demo/builder", Grant: turn.GetGrant(), Seq: 1, Keys: []byte("x"), By: "ann"}
	for name, c := range map[string]struct {
		change func(*vigilv1.TypeKeysRequest)
		want   string
	}{
		"no keys":        {func(r *vigilv1.TypeKeysRequest) { r.Keys = nil }, code.Invalid},
		"too many keys":  {func(r *vigilv1.TypeKeysRequest) { r.Keys = make([]byte, 4097) }, code.Invalid},
		"too narrow":     {func(r *vigilv1.TypeKeysRequest) { r.Columns, r.Rows = 19, 20 }, code.Invalid},
		"too wide":       {func(r *vigilv1.TypeKeysRequest) { r.Columns, r.Rows = 501, 20 }, code.Invalid},
		"too low":        {func(r *vigilv1.TypeKeysRequest) { r.Columns, r.Rows = 80, 4 }, code.Invalid},
		"too high":       {func(r *vigilv1.TypeKeysRequest) { r.Columns, r.Rows, r.Keys = 80, 201, nil }, code.Invalid},
		"half a size":    {func(r *vigilv1.TypeKeysRequest) { r.Columns = 80 }, code.Invalid},
		"another's size": {func(r *vigilv1.TypeKeysRequest) { r.By, r.Columns, r.Rows = "bob", 80, 24 }, code.Superseded},
		"no grant":       {func(r *vigilv1.TypeKeysRequest) { r.Grant = 0 }, code.Invalid},
		"no number":      {func(r *vigilv1.TypeKeysRequest) { r.Seq = 0 }, code.Invalid},
		"another turn":   {func(r *vigilv1.TypeKeysRequest) { r.Grant++ }, code.Superseded},
		"another human":  {func(r *vigilv1.TypeKeysRequest) { r.By = "bob" }, code.Superseded},
		"no agent":       {func(r *vigilv1.TypeKeysRequest) { r.Agent = "demo/nobody" }, code.NotFound},
	} {
		r := proto.Clone(good).(*vigilv1.TypeKeysRequest)
		c.change(r)
		if _, err := w.fleet(0).TypeKeys(within(t), r); codeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	got := h.terminal(t, &vigilv1.LogData{Error: "keys come faster than anybody types; they were not typed"})
	if _, err := w.fleet(0).TypeKeys(within(t), good); codeOf(err) != noun.Conflict.String() ||
		!strings.Contains(err.Error(), "faster") {
		t.Errorf("what the host complains about became %v", err)
	}
	if r := <-got; string(r.GetKeys()) != "x" { // nothing that was refused has reached it
		t.Errorf("the host was asked %v", r)
	}
}

// The audit has who took a terminal and gave it back; of the keys it has nothing, not even a digest, from which a
// single key could be guessed.
func TestAuditHasTurnsAndNoKeys(t *testing.T) {
	p, w := audited(t)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}}}); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []fsm.Command{
		fsm.RegisterHost{Key: "k1", Name: "h1", Boot: "b1", Runners: []string{"sh"}},
		fsm.OrderStart{Agent: 1, Inc: 1, Host: 1}, fsm.AcceptOrder{Host: 1, Boot: "b1", Agent: 1, Inc: 1},
		fsm.ReportStarted{Host: 1, Agent: 1, Inc: 1, PID: 7},
	} {
		if err := w.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	conn, _ := p.dialFrom(w, 1, p.holder(trust.User, "anna", trust.Stamp{}).Client(nil))
	fleet := vigilv1.NewFleetClient(conn)
	before := uint64(0)
	if list := w.audit(0); len(list) > 0 {
		before = list[len(list)-1].GetSeq()
	}
	turn, err := fleet.TakeTerminal(within(t), &vigilv1.TakeTerminalRequest{Agent: "demo/builder", By: "the boss"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.TypeKeys(within(t), &vigilv1.TypeKeysRequest{Agent: "demo/builder", Grant: turn.GetGrant(), Seq: 1,
		Keys: []byte("k")}); codeOf(err) != code.Conflict { // the host holds no stream
		t.Fatal(err)
	}
	if _, err := fleet.ReleaseTerminal(within(t), &vigilv1.ReleaseTerminalRequest{Agent: "demo/builder",
		Grant: turn.GetGrant()}); err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, e := range w.audit(before) {
		methods = append(methods, e.GetMethod()+" by "+e.GetWho())
	}
	if s := strings.Join(methods, ", "); s != "Fleet/TakeTerminal by user/anna, Fleet/ReleaseTerminal by user/anna" {
		t.Errorf("the audit has %s", s)
	}
	p.put("user/eve", vouch.Standing{Rights: []who.Right{{Role: code.Reader, Room: "demo"}}})
	eve, _ := p.dialFrom(w, 1, p.holder(trust.User, "eve", trust.Stamp{}).Client(nil))
	if _, err := vigilv1.NewFleetClient(eve).TakeTerminal(within(t),
		&vigilv1.TakeTerminalRequest{Agent: "demo/builder"}); codeOf(err) != code.Denied {
		t.Errorf("a reader has taken a terminal: %v", err)
	}
}

// A screen is followed through every server, to its end.
func TestScreenIsFollowedThroughEveryServer(t *testing.T) {
	for via := range 3 {
		w := start(t, 3)
		h, g := w.running(t)
		go func() {
			var req *vigilv1.LogRequest
			for req = h.next().GetLogRequest(); req == nil; req = h.next().GetLogRequest() { // orders
			}
			if !req.GetScreen() || req.GetIncarnation() != g.GetIncarnationRaw() {
				t.Errorf("the host was asked %v", req)
			}
			for _, text := range []string{"one", "two"} {
				data, err := proto.Marshal(&vigilv1.Screen{Text: text, Columns: 80, Rows: 24, CursorX: 2, Host: "forged"})
				if err != nil {
					t.Error(err)
				}
				_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
					LogData: &vigilv1.LogData{Request: req.GetRequest(), Data: data}}})
			}
			_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
				LogData: &vigilv1.LogData{Request: req.GetRequest(), End: true}}})
		}()
		s, err := w.fleet(via).FollowScreen(within(t), &vigilv1.FollowScreenRequest{Agent: "demo/builder"})
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for {
			screen, err := s.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("via server %d: %v", via, err)
			}
			shown = append(shown, screen.GetText())
			if screen.GetHost() != "h1" || screen.GetIncarnation() != g.GetIncarnation() || screen.GetColumns() != 80 {
				t.Errorf("via server %d: %v", via, screen)
			}
		}
		if strings.Join(shown, " ") != "one two" {
			t.Errorf("via server %d: %q", via, shown)
		}
	}
}
