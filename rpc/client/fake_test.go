package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link/linktest"
)

// fakeCluster stands for some servers with one state. Its memory of sessions
// follows the rules of the real one: 64 answers, first answer repeated.
type fakeCluster struct {
	ttl time.Duration // of leases; 0: a minute

	mu      sync.Mutex
	leader  string // "" while there is none
	hint    bool   // answers say who leads
	named   string // what answers say of all servers; "" for nothing
	seq     uint64
	session map[uint64]*fakeSession
	tasks   []*vigilv1.Task
	done    map[[2]uint64]int // how often each number was carried out
	calls   map[string]int    // by method
	beats   map[string]string // verdict by agent id, "" is current
	tokens  []string          // of the last beat
	joined  int
	left    []string
	inc     uint64
	waiters []chan struct{}
	full    bool              // no session is to be had
	old     bool              // a server cannot read Next, nor claims that start
	lose    map[string]int    // answers of a method to lose after the work is done
	falls   bool              // who loses an answer leads no more, nor does another one
	hangs   bool              // nothing is answered any more, and no connection ends
	no      map[string]string // the code with which a method is refused once
	failed  *vigilv1.WorkRequest
	outside bool          // the lease has ended: mail is refused until somebody joins
	slow    time.Duration // until a connection that is accepted hears the first word
	way     time.Duration // of the line to each server
	dials   int

	servers map[string]*fakeServer
}

type fakeSession struct {
	answers map[uint64]*vigilv1.Task
	order   []uint64
	lowest  uint64 // numbers up to here may have been forgotten
}

type fakeServer struct {
	vigilv1.UnimplementedFleetServer
	vigilv1.UnimplementedWorkServer
	vigilv1.UnimplementedClusterServer
	vigilv1.UnimplementedMailboxServer
	addr  string
	all   *fakeCluster
	lis   *bufconn.Listener
	grpc  *grpc.Server
	mu    sync.Mutex
	conns []*linktest.Hole
	black bool
}

func newFake(addrs ...string) *fakeCluster {
	f := &fakeCluster{leader: addrs[0], hint: true, session: map[uint64]*fakeSession{}, done: map[[2]uint64]int{},
		calls: map[string]int{}, beats: map[string]string{}, servers: map[string]*fakeServer{}, lose: map[string]int{},
		no: map[string]string{}}
	for _, addr := range addrs {
		f.start(addr)
	}
	return f
}

func (f *fakeCluster) start(addr string) {
	s := &fakeServer{addr: addr, all: f, lis: bufconn.Listen(1 << 20)}
	s.grpc = grpc.NewServer(grpc.UnaryInterceptor(s.intercept))
	vigilv1.RegisterFleetServer(s.grpc, s)
	vigilv1.RegisterWorkServer(s.grpc, s)
	vigilv1.RegisterClusterServer(s.grpc, s)
	vigilv1.RegisterMailboxServer(s.grpc, s)
	go s.grpc.Serve(s.lis)
	f.mu.Lock()
	f.servers[addr] = s
	f.mu.Unlock()
}

// kill ends a server as kill -9 does.
func (f *fakeCluster) kill(addr string) {
	f.mu.Lock()
	s := f.servers[addr]
	delete(f.servers, addr)
	f.mu.Unlock()
	s.grpc.Stop()
}

// blackhole cuts a server off without closing a connection.
func (f *fakeCluster) blackhole(addr string) {
	f.mu.Lock()
	s := f.servers[addr]
	f.mu.Unlock()
	s.mu.Lock()
	s.black = true
	for _, h := range s.conns {
		h.Cut()
	}
	s.mu.Unlock()
}

func (f *fakeCluster) lead(addr string) {
	f.mu.Lock()
	f.leader = addr
	f.mu.Unlock()
}

func (f *fakeCluster) stop() {
	for addr := range f.servers {
		f.kill(addr)
	}
}

func (f *fakeCluster) dial(ctx context.Context, addr string) (net.Conn, error) {
	f.mu.Lock()
	s, slow, way := f.servers[addr], f.slow, f.way
	f.dials++
	f.mu.Unlock()
	if s == nil {
		return nil, errors.New("connection refused")
	}
	s.mu.Lock()
	black := s.black
	s.mu.Unlock()
	if black {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := s.lis.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	if slow > 0 {
		c = &slowConn{Conn: c, until: time.Now().Add(slow), gone: make(chan struct{})}
	}
	h := linktest.Dig(c)
	s.mu.Lock()
	s.conns = append(s.conns, h)
	s.mu.Unlock()
	if way == 0 {
		return h, nil
	}
	slowly := linktest.Lag(h, way)
	select {
	case <-time.After(slowly.Trip()): // to be accepted
		return slowly, nil
	case <-ctx.Done():
		_ = slowly.Close()
		return nil, ctx.Err()
	}
}

// slowConn says nothing before until, as a server with thousands of handshakes to do.
type slowConn struct {
	net.Conn
	until time.Time
	gone  chan struct{}
	once  sync.Once
}

func (c *slowConn) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Until(c.until)):
	case <-c.gone:
	}
	return c.Conn.Read(p)
}

func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// open makes a client of the fake.
func (f *fakeCluster) open(t testing.TB, addrs ...string) *client.Client {
	t.Helper()
	c, err := client.Open(client.Config{Addrs: addrs, Dial: f.dial})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copyOf gives what may leave the lock.
func copyOf(t *vigilv1.Task) *vigilv1.Task { return proto.Clone(t).(*vigilv1.Task) }

// refuse makes an error as servers do.
func refuse(code codes.Code, name string, leader string) error {
	st, _ := status.New(code, name).WithDetails(&vigilv1.ErrorInfo{Code: name,
		Message: "The answer is " + name + ".", Leader: leader, Rev: 7, Oldest: 9})
	return st.Err()
}

func (s *fakeServer) intercept(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	s.all.mu.Lock()
	s.all.calls[info.FullMethod]++
	leader, hint, named := s.all.leader, s.all.hint, s.all.named
	s.all.mu.Unlock()
	if named != "" {
		_ = grpc.SetHeader(ctx, metadata.Pairs("vigil-servers", named))
	}
	if hint && leader != "" {
		_ = grpc.SetHeader(ctx, metadata.Pairs("vigil-leader", leader))
	}
	parked := []string{vigilv1.Work_Wait_FullMethodName, vigilv1.Mailbox_WaitMail_FullMethodName}
	if !slices.Contains(parked, info.FullMethod) { // any server answers those
		switch leader {
		case s.addr:
		case "":
			return nil, refuse(codes.Unavailable, "no_leader", "")
		default:
			return nil, refuse(codes.Unavailable, "not_leader", leader)
		}
	}
	s.all.mu.Lock()
	no, hangs := s.all.no[info.FullMethod], s.all.hangs
	delete(s.all.no, info.FullMethod)
	s.all.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if no != "" {
		return nil, refuse(codes.Unknown, no, "")
	}
	answer, err := next(ctx, req)
	s.all.mu.Lock()
	lost := s.all.lose[info.FullMethod] > 0
	if lost {
		s.all.lose[info.FullMethod]--
	}
	if lost && s.all.falls {
		s.all.leader = ""
	}
	s.all.mu.Unlock()
	if lost {
		return nil, status.Error(codes.Unavailable, "connection lost")
	}
	return answer, err
}

func (s *fakeServer) OpenSession(context.Context, *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	f := s.all
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return nil, refuse(codes.ResourceExhausted, "full", "")
	}
	f.seq++
	f.session[f.seq] = &fakeSession{answers: map[uint64]*vigilv1.Task{}}
	return &vigilv1.OpenSessionResponse{Session: f.seq}, nil
}

func (s *fakeServer) CloseSession(
	_ context.Context, r *vigilv1.CloseSessionRequest,
) (*vigilv1.CloseSessionResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.all.session, r.GetSession())
	return &vigilv1.CloseSessionResponse{}, nil
}

func (s *fakeServer) CreateTask(_ context.Context, r *vigilv1.CreateTaskRequest) (*vigilv1.Task, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	t, err := s.all.create(r)
	return copyOf(t), err
}

// create carries a numbered write out once; the caller holds mu.
func (f *fakeCluster) create(r *vigilv1.CreateTaskRequest) (*vigilv1.Task, error) {
	if r.GetRoom() == "" {
		return nil, refuse(codes.InvalidArgument, "invalid", "")
	}
	id := r.GetId()
	ses := f.session[id.GetSession()]
	if id == nil {
		ses = &fakeSession{answers: map[uint64]*vigilv1.Task{}}
	}
	if ses == nil {
		return nil, refuse(codes.FailedPrecondition, "unknown_session", "")
	}
	if t := ses.answers[id.GetSeq()]; t != nil {
		return t, nil
	}
	if id != nil && id.GetSeq() <= ses.lowest {
		return nil, refuse(codes.OutOfRange, "too_old", "")
	}
	f.done[[2]uint64{id.GetSession(), id.GetSeq()}]++
	t := &vigilv1.Task{Id: uint64(len(f.tasks) + 1), Room: r.GetRoom(), Role: r.GetRole(),
		Title: r.GetTitle(), State: vigilv1.TaskState_PENDING}
	f.tasks = append(f.tasks, t)
	ses.answers[id.GetSeq()] = t
	ses.order = append(ses.order, id.GetSeq())
	if len(ses.order) > 64 {
		ses.lowest = max(ses.lowest, ses.order[0])
		delete(ses.answers, ses.order[0])
		ses.order = ses.order[1:]
	}
	for _, w := range f.waiters {
		close(w)
	}
	f.waiters = nil
	return t, nil
}

func (s *fakeServer) Batch(_ context.Context, r *vigilv1.BatchRequest) (*vigilv1.BatchResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	out := &vigilv1.BatchResponse{}
	for _, w := range r.GetWrites() {
		t, err := s.all.create(w.GetCreateTask())
		res := &vigilv1.WriteResult{Task: t.GetId()}
		if err != nil {
			res.Error = status.Convert(err).Details()[0].(*vigilv1.ErrorInfo)
		}
		out.Results = append(out.Results, res)
	}
	return out, nil
}

func (s *fakeServer) GetTask(_ context.Context, r *vigilv1.GetTaskRequest) (*vigilv1.Task, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if r.GetTask() == 0 || r.GetTask() > uint64(len(s.all.tasks)) {
		return nil, refuse(codes.NotFound, "not_found", "")
	}
	return copyOf(s.all.tasks[r.GetTask()-1]), nil
}

// GetAgent shows the agent that holds whatever is under way.
func (s *fakeServer) GetAgent(_ context.Context, r *vigilv1.GetAgentRequest) (*vigilv1.GetAgentResponse, error) {
	f := s.all
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: r.GetAgent(), Id: 1}}
	for _, t := range f.tasks {
		if t.State == vigilv1.TaskState_ACKNOWLEDGED || t.State == vigilv1.TaskState_IN_PROGRESS {
			out.Agent.Task = t.Id
		}
	}
	return out, nil
}

func (s *fakeServer) Join(_ context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	f := s.all
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joined++
	if f.outside {
		f.outside = false
		delete(f.beats, "1")
	}
	inc := r.GetSpeaker().GetIncarnation()
	if inc == 0 {
		f.inc++
		inc = f.inc
	}
	if inc < f.inc {
		return nil, refuse(codes.FailedPrecondition, "superseded", "")
	}
	return &vigilv1.JoinResponse{Agent: r.GetSpeaker().GetAgent(), AgentId: 1, Incarnation: inc,
		Ttl: durationpb.New(cmp.Or(f.ttl, time.Minute))}, nil
}

func (s *fakeServer) WaitMail(context.Context, *vigilv1.WaitMailRequest) (*vigilv1.WaitMailResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.all.outside {
		return nil, refuse(codes.FailedPrecondition, "rejoin", "")
	}
	return &vigilv1.WaitMailResponse{Unread: 1}, nil
}

func (s *fakeServer) ReadMail(context.Context, *vigilv1.ReadMailRequest) (*vigilv1.ReadMailResponse, error) {
	return &vigilv1.ReadMailResponse{Mails: []*vigilv1.Mail{{Id: 3}}}, nil
}

func (s *fakeServer) Leave(_ context.Context, r *vigilv1.LeaveRequest) (*vigilv1.LeaveResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.left = append(s.all.left, r.GetReason())
	return &vigilv1.LeaveResponse{}, nil
}

// claim takes the first task, nil when there is none; the caller holds mu.
func (f *fakeCluster) claim(start bool) *vigilv1.ClaimResponse {
	for _, t := range f.tasks {
		if t.State == vigilv1.TaskState_PENDING {
			t.State, t.Attempt = vigilv1.TaskState_ACKNOWLEDGED, t.Attempt+1
			if start {
				t.State = vigilv1.TaskState_IN_PROGRESS
			}
			return &vigilv1.ClaimResponse{Task: copyOf(t), Attempt: t.Attempt,
				Ttl: durationpb.New(cmp.Or(f.ttl, time.Minute))}
		}
	}
	return nil
}

func (s *fakeServer) Wait(ctx context.Context, r *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	f := s.all
	deadline := time.After(r.GetMaxWait().AsDuration())
	for {
		f.mu.Lock()
		if f.old && r.GetStart() {
			f.mu.Unlock()
			return nil, refuse(codes.FailedPrecondition, "old_servers", "")
		}
		if answer := f.claim(r.GetStart()); answer != nil {
			f.mu.Unlock()
			return answer, nil
		}
		w := make(chan struct{})
		f.waiters = append(f.waiters, w)
		f.mu.Unlock()
		select {
		case <-w:
		case <-deadline:
			return nil, refuse(codes.NotFound, "no_task", "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *fakeServer) set(r interface {
	GetTask() uint64
	GetAttempt() uint32
}, result string, state vigilv1.TaskState) (*vigilv1.WorkResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	t := s.all.tasks[r.GetTask()-1]
	if t.Attempt != r.GetAttempt() {
		return nil, refuse(codes.FailedPrecondition, "superseded", "")
	}
	t.State, t.Result = state, result
	return &vigilv1.WorkResponse{State: state}, nil
}

func (s *fakeServer) StartTask(_ context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return s.set(r, r.GetText(), vigilv1.TaskState_IN_PROGRESS)
}

func (s *fakeServer) CompleteTask(_ context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	return s.set(r, r.GetResult(), vigilv1.TaskState_COMPLETED)
}

func (s *fakeServer) FailTask(_ context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	s.all.mu.Lock()
	s.all.failed = proto.CloneOf(r)
	s.all.mu.Unlock()
	return s.set(r, r.GetText(), vigilv1.TaskState_FAILED)
}

func (s *fakeServer) Next(_ context.Context, r *vigilv1.NextRequest) (*vigilv1.NextResponse, error) {
	if s.all.old {
		return nil, refuse(codes.FailedPrecondition, "old_servers", "")
	}
	result, state := r.GetComplete().GetResult(), vigilv1.TaskState_COMPLETED
	if r.GetFail() != nil {
		result, state = r.GetFail().GetReason(), vigilv1.TaskState_FAILED
	}
	ended, err := s.set(r, result, state)
	if err != nil {
		return nil, err
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	answer := &vigilv1.NextResponse{State: ended.GetState()}
	if answer.Claim = s.all.claim(r.GetStart()); answer.Claim == nil {
		answer.None = &vigilv1.ErrorInfo{Code: "no_task"}
	}
	return answer, nil
}

func (s *fakeServer) Beat(_ context.Context, r *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.tokens = r.GetTokens()
	out := &vigilv1.BeatResponse{Renewed: uint32(len(r.GetAgents()))}
	for i, id := range r.GetAgents() {
		key := fmt.Sprint(id)
		if v := s.all.beats[key]; v != "" {
			out.Exceptions = append(out.Exceptions,
				&vigilv1.BeatException{Agent: id, Incarnation: r.GetIncarnations()[i], Verdict: v})
			if v == "rejoin" && !s.all.outside { // a beat may be broken off before it joins
				delete(s.all.beats, key)
			}
		}
	}
	return out, nil
}

func (s *fakeServer) WatchEvents(
	r *vigilv1.WatchEventsRequest, stream grpc.ServerStreamingServer[vigilv1.Event],
) error {
	if err := stream.Send(&vigilv1.Event{Seq: r.GetAfter() + 1, Kind: "room.applied", Host: s.addr}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// count tells how often a method was called.
func (f *fakeCluster) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// figures gives how many tasks were created, joins made and good-byes said.
func (f *fakeCluster) figures() (tasks, joined, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tasks), f.joined, len(f.left)
}
