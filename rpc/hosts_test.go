package rpc

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

type hostSide struct {
	grpc.BidiStreamingClient[vigilv1.HostMessage, vigilv1.ServerMessage]
	t *testing.T
}

// connect registers host h1 and opens its stream to server i.
func (w *world) connect(t *testing.T, i int) (*hostSide, noun.HostID) {
	t.Helper()
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", Params: map[string]string{"file": "a"}}}}); err != nil {
		t.Fatal(err)
	}
	reg, err := w.host(i).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1",
		Runners: []string{"sh"}})
	if err != nil {
		t.Fatal(err)
	}
	return w.stream(t, within(t), i, reg.GetHost()), noun.HostID(reg.GetHost())
}

func (w *world) stream(t *testing.T, ctx context.Context, i int, host uint32) *hostSide {
	t.Helper()
	s, err := w.host(i).Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// ended already: Recv tells why
	if err := s.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: host,
		Boot: "b1"}}}); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return &hostSide{s, t}
}

// next gives the next message that is no ping; pings are answered.
func (h *hostSide) next() *vigilv1.ServerMessage {
	h.t.Helper()
	for {
		m, err := h.Recv()
		if err != nil {
			h.t.Fatal(err)
		}
		p := m.GetPing()
		if p == nil {
			return m
		}
		if err := h.Send(&vigilv1.HostMessage{
			Kind: &vigilv1.HostMessage_Pong{Pong: &vigilv1.Pong{N: p.GetN()}}}); err != nil {
			h.t.Fatal(err)
		}
	}
}

func TestStreamBringsOrders(t *testing.T) {
	w := start(t, 2)
	h, host := w.connect(t, 1)
	if o := h.next().GetOrders(); o == nil || len(o.GetOrders()) != 0 || o.GetIndex() == 0 {
		t.Fatalf("first message is %v, want the empty list of orders", o)
	}
	agent := w.order(t, "demo/builder", host)
	o := h.next().GetOrders()
	if len(o.GetOrders()) != 1 {
		t.Fatalf("orders: %v", o)
	}
	got := o.GetOrders()[0]
	if got.GetKind() != "start" || got.GetIncarnation() != agent.GetIncarnationRaw() || got.GetRunner() != "sh" ||
		got.GetParams()["file"] != "a" || got.GetTtl().AsDuration() <= 0 || got.GetProof() != "process" {
		t.Fatalf("order: %v", got)
	}
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host), Boot: "b1",
		Agent: got.GetAgent(), Incarnation: got.GetIncarnation()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportStarted(within(t), &vigilv1.ReportStartedRequest{Host: uint32(host),
		Agent: got.GetAgent(), Incarnation: got.GetIncarnation(), Pid: 7}); err != nil {
		t.Fatal(err)
	}
	if o := h.next().GetOrders(); o == nil || len(o.GetOrders()) != 0 {
		t.Fatalf("after the start: %v, want no open order", o)
	}
	if _, ok := w.servers[1].StreamSilence(host); !ok {
		t.Fatal("the server does not know of the stream")
	}
	if _, ok := w.servers[0].StreamSilence(host); ok {
		t.Fatal("the other server claims to hold the stream")
	}
}

// L10: an order tells how the life that it starts is proved. A role that is declared in another way meanwhile changes
// neither that nor its lease: nobody would beat for the life.
func TestL10OrdersTellTheProofOfTheLife(t *testing.T) {
	w := start(t, 1)
	if err := w.do(fsm.RaiseLevel{Level: fsm.NewestLevel}); err != nil {
		t.Fatal(err)
	}
	_, host := w.connect(t, 0)
	w.order(t, "demo/builder", host)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", Proof: "agent"}}}); err != nil {
		t.Fatal(err)
	}
	o := w.stream(t, within(t), 0, uint32(host)).next().GetOrders()
	if len(o.GetOrders()) != 1 || o.GetOrders()[0].GetProof() != "process" {
		t.Errorf("orders of a life that began with proof: process: %v", o)
	}
}

// The order of a start for which a task waits says beneath what its spans are: that task's span where servers make
// spans, else what its creator said.
func TestOrdersTellTheTraceOfTheTaskThatWaits(t *testing.T) {
	const from = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, traced := range []bool{true, false} {
		w := startAs(t, 1, nil, func(c *Config) { c.Traced = traced }, insecure.NewCredentials())
		h, host := w.connect(t, 0)
		h.next()
		w.order(t, "demo/builder", host)
		if o := h.next().GetOrders().GetOrders(); len(o) != 1 || o[0].GetTraceparent() != "" {
			t.Fatalf("with no task: %v", o)
		}
		if _, err := w.fleet(0).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x",
			Traceparent: from}); err != nil {
			t.Fatal(err)
		}
		o := h.next().GetOrders().GetOrders()
		if len(o) != 1 || len(o[0].GetTraceparent()) != len(from) || o[0].GetTraceparent()[:36] != from[:36] ||
			(o[0].GetTraceparent() == from) == traced {
			t.Errorf("servers make spans: %v, and the order is %v", traced, o)
		}
	}
}

func TestStreamRefusesWrongHosts(t *testing.T) {
	w := start(t, 1)
	w.connect(t, 0)
	tests := []struct {
		name  string
		hello *vigilv1.HostMessage
		want  string
	}{
		{"unknown host",
			&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: 99, Boot: "b1"}}},
			"not_found"},
		{"other boot", &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: 1,
			Boot: "b2"}}}, "host_in_use"},
		{"no hello", &vigilv1.HostMessage{}, "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := w.host(0).Stream(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(tt.hello); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); codeOf(err) != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestNewerStreamReplacesTheOlder(t *testing.T) {
	w := start(t, 1)
	h, host := w.connect(t, 0)
	h.next()
	newer := w.stream(t, within(t), 0, uint32(host))
	newer.next()
	for {
		_, err := h.Recv()
		if err == nil {
			continue
		}
		if codeOf(err) != "conflict" {
			t.Fatalf("older stream ended with %v, want conflict", err)
		}
		break
	}
	if _, ok := w.servers[0].StreamSilence(host); !ok {
		t.Fatal("the newer stream is not known")
	}
}

func TestLogsThroughAnyServer(t *testing.T) {
	for _, via := range []int{0, 1, 2} {
		w := start(t, 3)
		h, host := w.connect(t, 1)
		h.next()
		w.order(t, "demo/builder", host)
		h.next()
		go func() {
			req := h.next().GetLogRequest()
			for _, line := range []string{"one\n", "two\n"} {
				_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
					LogData: &vigilv1.LogData{Request: req.GetRequest(), Data: []byte(line)}}})
			}
			_ = h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
				LogData: &vigilv1.LogData{Request: req.GetRequest(), End: true}}})
		}()
		s, err := w.fleet(via).AgentLogs(within(t), &vigilv1.AgentLogsRequest{Agent: "demo/builder", Lines: 10})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for {
			c, err := s.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("via server %d: %v", via, err)
			}
			text += string(c.GetData())
		}
		if text != "one\ntwo\n" {
			t.Fatalf("via server %d: %q", via, text)
		}
	}
}

func TestCancelOfLogsReachesTheHost(t *testing.T) {
	w := start(t, 2)
	h, host := w.connect(t, 1)
	h.next()
	w.order(t, "demo/builder", host)
	h.next()
	ctx, cancel := context.WithCancel(within(t))
	if _, err := w.fleet(0).AgentLogs(ctx, &vigilv1.AgentLogsRequest{Agent: "demo/builder", Follow: true}); err != nil {
		t.Fatal(err)
	}
	req := h.next().GetLogRequest()
	if req == nil || !req.GetFollow() || req.GetLines() != 100 {
		t.Fatalf("log request: %v", req)
	}
	cancel()
	if c := h.next().GetLogCancel(); c.GetRequest() != req.GetRequest() {
		t.Fatalf("got %v, want the cancel of %d", c, req.GetRequest())
	}
}

// asked waits until the host is asked for output.
func (h *hostSide) asked() *vigilv1.LogRequest {
	h.t.Helper()
	for {
		if r := h.next().GetLogRequest(); r != nil {
			return r
		}
	}
}

// prints answers such a request with text.
func (h *hostSide) prints(r *vigilv1.LogRequest, text string) {
	h.t.Helper()
	must(h.t, h.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
		LogData: &vigilv1.LogData{Request: r.GetRequest(), Data: []byte(text)}}}))
}

// Output that is followed goes on at the host to which its agent moves, through any server; it fell silent for ever.
func TestFollowedOutputMovesWithItsAgent(t *testing.T) {
	const name = "demo/builder"
	for _, via := range []int{0, 1, 2} {
		w := start(t, 3)
		old, host := w.connect(t, 1)
		old.next()
		reg, err := w.host(2).Register(within(t), &vigilv1.RegisterRequest{Key: "k2", Name: "h2", Boot: "b1",
			Runners: []string{"sh"}})
		must(t, err)
		other := w.stream(t, within(t), 2, reg.GetHost())
		other.next()
		a := w.order(t, name, host)
		w.live(t, host, a.GetId(), a.GetIncarnationRaw())
		s, err := w.fleet(via).AgentLogs(within(t), &vigilv1.AgentLogsRequest{Agent: name, Lines: 10, Follow: true})
		must(t, err)
		first := old.asked()
		old.prints(first, "here\n")
		if c, err := s.Recv(); err != nil || string(c.GetData()) != "here\n" {
			t.Fatalf("via server %d: %v, %v", via, c, err)
		}
		_, err = w.fleet(0).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: "h1"})
		must(t, err)
		_, err = w.host(1).ReportExit(within(t), &vigilv1.ReportExitRequest{Host: uint32(host), Agent: a.GetId(),
			Incarnation: a.GetIncarnationRaw(), Ordered: true})
		must(t, err)
		w.order(t, name, noun.HostID(reg.GetHost()))
		r := other.asked()
		if !r.GetFollow() || r.GetLines() != 10 || r.GetAgentName() != name {
			t.Errorf("via server %d: the next host is asked for %v", via, r)
		}
		other.prints(r, "there\n")
		text := ""
		for !strings.HasSuffix(text, "there\n") {
			c, err := s.Recv()
			must(t, err)
			text += string(c.GetData())
		}
		if text != "\n--- vigil: it goes on at host h2\nthere\n" {
			t.Errorf("via server %d: then it brings %q", via, text)
		}
		for old.next().GetLogCancel().GetRequest() != first.GetRequest() {
		}
	}
}

func TestLogsOfAHostThatIsAway(t *testing.T) {
	w := start(t, 2)
	_, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		s, err := w.fleet(0).AgentLogs(within(t), &vigilv1.AgentLogsRequest{Agent: "demo/builder"})
		if err != nil {
			return err
		}
		_, err = s.Recv()
		return err
	}
	if err := ask(); codeOf(err) != "not_found" {
		t.Fatalf("never started: %v, want not_found", err)
	}
	reg, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1",
		Runners: []string{"sh"}})
	if err != nil {
		t.Fatal(err)
	}
	w.order(t, "demo/builder", noun.HostID(reg.GetHost()))
	if err := ask(); codeOf(err) != "unavailable" {
		t.Fatalf("host without a stream: %v, want unavailable", err)
	}
}
