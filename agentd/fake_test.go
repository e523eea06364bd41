package agentd

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// fake is a scripted cluster.
type fake struct {
	vigilv1.UnimplementedHostAgentServer
	vigilv1.UnimplementedWorkServer

	t         testing.TB
	ttl       time.Duration
	registers chan *vigilv1.RegisterRequest
	leaves    chan *vigilv1.LeaveHostRequest
	accepts   chan *vigilv1.AcceptOrderRequest
	starts    chan *vigilv1.ReportStartedRequest
	exits     chan *vigilv1.ReportExitRequest
	beats     chan *vigilv1.BeatRequest // only what fits
	streams   chan *fakeStream
	conn      *grpc.ClientConn
	server    *grpc.Server
	stucks    chan *vigilv1.ReportStuckRequest
	pressures chan *vigilv1.ReportPressureRequest
	kept      chan *vigilv1.ReportKeptRequest
	screens   chan *vigilv1.ReportScreenRequest
	terminals chan *vigilv1.ReportTerminalsRequest
	drains    chan *vigilv1.DrainSelfRequest
	completed chan *vigilv1.CompleteTaskRequest

	mu        sync.Mutex
	onAccept  func(*vigilv1.AcceptOrderRequest) error
	onBeat    func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error)
	onExit    func(*vigilv1.ReportExitRequest) error
	following *vigilv1.Order // what answers to reports of ends bring
	onDrain   func() error
	onPress   func(*vigilv1.ReportPressureRequest) error
	onWork    func(*vigilv1.CompleteTaskRequest) error
	onScreen  func(*vigilv1.ReportScreenRequest) error
	// onRegister may refuse; nil takes all.
	onRegister func(*vigilv1.RegisterRequest) error
}

// fakeStream is the server's end of one order stream.
type fakeStream struct {
	wire  grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage]
	hello *vigilv1.Hello
	heard chan *vigilv1.HostMessage
	end   chan error
	mu    sync.Mutex // of wire.Send
}

func newFake(t testing.TB, ttl time.Duration) *fake {
	f := &fake{t: t, ttl: ttl,
		registers: make(chan *vigilv1.RegisterRequest, 100), leaves: make(chan *vigilv1.LeaveHostRequest, 100),
		accepts: make(chan *vigilv1.AcceptOrderRequest, 1000), starts: make(chan *vigilv1.ReportStartedRequest, 1000),
		exits: make(chan *vigilv1.ReportExitRequest, 1000), beats: make(chan *vigilv1.BeatRequest, 1000),
		streams: make(chan *fakeStream, 100), stucks: make(chan *vigilv1.ReportStuckRequest, 100),
		pressures: make(chan *vigilv1.ReportPressureRequest, 100),
		kept:      make(chan *vigilv1.ReportKeptRequest, 1000), drains: make(chan *vigilv1.DrainSelfRequest, 100),
		completed: make(chan *vigilv1.CompleteTaskRequest, 100), screens: make(chan *vigilv1.ReportScreenRequest, 100),
		terminals: make(chan *vigilv1.ReportTerminalsRequest, 1000)}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	f.server = server
	vigilv1.RegisterHostAgentServer(server, f)
	vigilv1.RegisterWorkServer(server, f)
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = server.Serve(listener) })
	conn, err := grpc.NewClient("passthrough:///fake", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context,
			_ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	f.conn = conn
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		tasks.Wait()
	})
	return f
}

// set changes the script.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// no is a refusal as servers give it.
func no(code string) error { return noSaying(code, code) }

func noSaying(code, says string) error {
	st, err := status.New(codes.Aborted, says).WithDetails(&vigilv1.ErrorInfo{Code: code, Message: says})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

func (f *fake) Register(ctx context.Context, r *vigilv1.RegisterRequest) (*vigilv1.RegisterResponse, error) {
	f.mu.Lock()
	on, ttl := f.onRegister, f.ttl
	f.mu.Unlock()
	select {
	case f.registers <- r:
	case <-ctx.Done(): // nobody has looked at a hundred of them
		return nil, ctx.Err()
	}
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.RegisterResponse{Host: 7, Ttl: durationpb.New(ttl), ClusterId: "c",
		GossipAddrs: []string{"10.0.0.1:7422"}}, nil
}

func (f *fake) ReportStuck(_ context.Context, r *vigilv1.ReportStuckRequest) (*vigilv1.ReportStuckResponse, error) {
	f.stucks <- r
	return &vigilv1.ReportStuckResponse{}, nil
}

func (f *fake) ReportPressure(
	_ context.Context, r *vigilv1.ReportPressureRequest,
) (*vigilv1.ReportPressureResponse, error) {
	f.mu.Lock()
	on := f.onPress
	f.mu.Unlock()
	f.pressures <- r
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.ReportPressureResponse{}, nil
}

func (f *fake) ReportScreen(_ context.Context, r *vigilv1.ReportScreenRequest) (*vigilv1.ReportScreenResponse, error) {
	f.mu.Lock()
	on := f.onScreen
	f.mu.Unlock()
	f.screens <- r
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.ReportScreenResponse{}, nil
}

func (f *fake) ReportKept(_ context.Context, r *vigilv1.ReportKeptRequest) (*vigilv1.ReportKeptResponse, error) {
	f.kept <- r
	return &vigilv1.ReportKeptResponse{}, nil
}

func (f *fake) ReportTerminals(
	_ context.Context, r *vigilv1.ReportTerminalsRequest,
) (*vigilv1.ReportTerminalsResponse, error) {
	f.terminals <- r
	return &vigilv1.ReportTerminalsResponse{}, nil
}

func (f *fake) DrainSelf(_ context.Context, r *vigilv1.DrainSelfRequest) (*vigilv1.DrainSelfResponse, error) {
	f.mu.Lock()
	on := f.onDrain
	f.mu.Unlock()
	f.drains <- r
	if on != nil {
		if err := on(); err != nil {
			return nil, err
		}
	}
	return &vigilv1.DrainSelfResponse{}, nil
}

func (f *fake) CompleteTask(_ context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	f.mu.Lock()
	on := f.onWork
	f.mu.Unlock()
	f.completed <- r
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.WorkResponse{}, nil
}

func (f *fake) LeaveHost(_ context.Context, r *vigilv1.LeaveHostRequest) (*vigilv1.LeaveHostResponse, error) {
	f.leaves <- r
	return &vigilv1.LeaveHostResponse{}, nil
}

func (f *fake) AcceptOrder(_ context.Context, r *vigilv1.AcceptOrderRequest) (*vigilv1.AcceptOrderResponse, error) {
	f.mu.Lock()
	on := f.onAccept
	f.mu.Unlock()
	f.accepts <- r
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.AcceptOrderResponse{Ttl: durationpb.New(f.ttl)}, nil
}

func (f *fake) ReportStarted(
	_ context.Context, r *vigilv1.ReportStartedRequest,
) (*vigilv1.ReportStartedResponse, error) {
	f.starts <- r
	return &vigilv1.ReportStartedResponse{}, nil
}

func (f *fake) ReportExit(_ context.Context, r *vigilv1.ReportExitRequest) (*vigilv1.ReportExitResponse, error) {
	f.mu.Lock()
	on, following := f.onExit, f.following
	f.mu.Unlock()
	f.exits <- r
	if on != nil {
		if err := on(r); err != nil {
			return nil, err
		}
	}
	return &vigilv1.ReportExitResponse{Next: following}, nil
}

func (f *fake) Beat(_ context.Context, r *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
	f.mu.Lock()
	on := f.onBeat
	f.mu.Unlock()
	select {
	case f.beats <- r:
	default:
	}
	if on != nil {
		return on(r)
	}
	return &vigilv1.BeatResponse{Renewed: uint32(len(r.GetAgents()))}, nil
}

func (f *fake) Stream(wire grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage]) error {
	m, err := wire.Recv()
	if err != nil {
		return err
	}
	s := &fakeStream{wire: wire, hello: m.GetHello(), heard: make(chan *vigilv1.HostMessage, 1000),
		end: make(chan error, 1)}
	f.streams <- s
	go func() {
		for {
			m, err := wire.Recv()
			if err != nil {
				return
			}
			if p := m.GetPong(); p != nil && p.GetN() == 0 {
				continue
			}
			select {
			case s.heard <- m:
			case <-wire.Context().Done():
				return
			}
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = s.say(&vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_Ping{Ping: &vigilv1.Ping{}}})
		case err := <-s.end:
			return err
		case <-wire.Context().Done():
			return nil
		}
	}
}

func (s *fakeStream) say(m *vigilv1.ServerMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wire.Send(m)
}

// send says something on the stream.
func (s *fakeStream) send(t testing.TB, m *vigilv1.ServerMessage) {
	t.Helper()
	if err := s.say(m); err != nil {
		t.Fatal(err)
	}
}

func (s *fakeStream) orders(t testing.TB, orders ...*vigilv1.Order) {
	t.Helper()
	s.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_Orders{Orders: &vigilv1.Orders{Orders: orders}}})
}

func (s *fakeStream) ping(t testing.TB, n uint64) {
	t.Helper()
	s.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_Ping{Ping: &vigilv1.Ping{N: n}}})
}

// settle returns when everything that was sent on the stream was handed to the
// keeper.
func (s *fakeStream) settle(t testing.TB) {
	t.Helper()
	s.ping(t, 999)
	for next(t, s.heard).GetPong().GetN() != 999 {
	}
}

// next waits for what must come.
func next[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s for %T", patience, *new(T))
		panic("unreachable")
	}
}

// none fails when something has come that must not.
func none[T any](t testing.TB, c <-chan T, what string) {
	t.Helper()
	select {
	case v := <-c:
		t.Fatalf("%s: %v", what, v)
	default:
	}
}
