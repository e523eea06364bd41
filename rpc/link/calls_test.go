package link_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
	"vigil/rpc/link/linktest"
)

// server counts the calls that come by themselves, and does with streams what the test wants.
type server struct {
	vigilv1.UnimplementedWorkServer
	vigilv1.UnimplementedCallsServer
	carry func(vigilv1.Calls_CarryServer) error

	open   atomic.Int32 // streams
	mu     sync.Mutex
	alone  int
	opened int
}

func (s *server) OpenSession(context.Context, *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone++
	return &vigilv1.OpenSessionResponse{Session: 1}, nil
}

func (s *server) Carry(c vigilv1.Calls_CarryServer) error {
	s.mu.Lock()
	s.opened++
	s.mu.Unlock()
	s.open.Add(1)
	defer s.open.Add(-1)
	if _, err := c.Recv(); err != nil {
		return err
	}
	return s.carry(c)
}

func (s *server) counts() (alone, opened int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alone, s.opened
}

// answer answers every call with session 2.
func answer(c vigilv1.Calls_CarryServer) error {
	if err := c.Send(&vigilv1.CarryResponse{Signs: &vigilv1.Signs{Leader: "a:1"}}); err != nil {
		return err
	}
	for {
		in, err := c.Recv()
		if err != nil {
			return err
		}
		body, err := proto.Marshal(&vigilv1.OpenSessionResponse{Session: 2})
		if err != nil {
			return err
		}
		out := &vigilv1.CarryResponse{}
		for _, call := range in.GetCalls() {
			out.Answers = append(out.Answers, &vigilv1.Answer{Number: call.GetNumber(), Response: body},
				&vigilv1.Answer{Number: call.GetNumber() + 1<<32}) // to nobody
		}
		if err := c.Send(out); err != nil {
			return err
		}
	}
}

// connAge is how old a connection may grow, about, before the server has calls go over another one.
const connAge = time.Hour

// story runs a test in simulated time with a server and a link to it.
func story(t *testing.T, carry func(vigilv1.Calls_CarryServer) error, tell func(*testing.T, *server, *link.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		var net linktest.Network
		s := &server{carry: carry}
		g := grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: connAge}))
		vigilv1.RegisterWorkServer(g, s)
		if carry != nil {
			vigilv1.RegisterCallsServer(g, s)
		}
		l := net.Listen("a:1")
		var running sync.WaitGroup
		running.Go(func() { _ = g.Serve(l) })
		k, err := link.New("a:1", time.Minute, net.Dial, nil)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { k.Watch(func(*link.Conn) {}) })
		if err := k.Ready(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		tell(t, s, k)
		k.Close()
		g.Stop()
		running.Wait()
	})
}

func open(ctx context.Context, k *link.Conn, opts ...grpc.CallOption) (session uint64, err error) {
	r, err := vigilv1.NewWorkClient(k).OpenSession(ctx, &vigilv1.OpenSessionRequest{}, opts...)
	return r.GetSession(), err
}

// A few calls go by themselves; from then on they share a stream.
func TestManyCallsShareAStream(t *testing.T) {
	story(t, answer, func(t *testing.T, s *server, k *link.Conn) {
		for range 50 {
			if _, err := open(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		alone, opened := s.counts()
		if alone == 0 || alone > 12 || opened != 1 {
			t.Errorf("%d of 50 calls came by themselves, over %d streams", alone, opened)
		}
		var to peer.Peer
		if got, err := open(t.Context(), k, grpc.Peer(&to)); got != 2 || err != nil || to.Addr == nil {
			t.Errorf("over the stream: %d, %v, from %v", got, err, to.Addr)
		}
		if _, err := open(t.Context(), k, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		if now, _ := s.counts(); now != alone+1 {
			t.Error("a call with an option that streams do not know was carried")
		}
		long := &vigilv1.OpenSessionRequest{Client: string(make([]byte, 65<<10))}
		if _, err := vigilv1.NewWorkClient(k).OpenSession(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		if now, _ := s.counts(); now != alone+2 {
			t.Error("others would wait behind a long call that was carried")
		}
	})
}

// A server bounds how old a connection grows, so that what its callers have shown is not from the day before. Calls
// go on over streams of new connections, none is lost, and no stream stays behind.
func TestStreamsMoveToNewConnections(t *testing.T) {
	story(t, answer, func(t *testing.T, s *server, k *link.Conn) {
		for range 24 * 60 {
			for range 20 {
				if _, err := open(t.Context(), k); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
		}
		alone, opened := s.counts()
		if opened < 20 || opened > 30 || alone > 24*30 {
			t.Errorf("in a day there were %d streams, and %d of 28,800 calls beside them; want some 24 streams", opened, alone)
		}
		if n := s.open.Load(); n > 1 {
			t.Errorf("%d streams are open", n)
		}
	})
}

// A server that takes no stream costs its callers nothing: neither one that knows none, nor one that refuses.
func TestCallsGoByThemselvesWhereStreamsAreRefused(t *testing.T) {
	refuse := func(vigilv1.Calls_CarryServer) error { return status.Error(codes.PermissionDenied, "no") }
	for name, carry := range map[string]func(vigilv1.Calls_CarryServer) error{"unknown": nil, "refused": refuse} {
		t.Run(name, func(t *testing.T) {
			story(t, carry, func(t *testing.T, s *server, k *link.Conn) {
				for range 100 {
					if got, err := open(t.Context(), k); got != 1 || err != nil {
						t.Fatalf("%d, %v", got, err)
					}
					time.Sleep(time.Minute)
				}
				if alone, opened := s.counts(); alone != 100 || opened > 1 {
					t.Errorf("%d calls came by themselves; the stream was asked for %d times", alone, opened)
				}
			})
		})
	}
}

// A stream that ends leaves open what became of its calls: they fail as if the connection had broken. The next ones
// go by themselves, and later over a new stream.
func TestStreamEndsUnderItsCalls(t *testing.T) {
	story(t, func(c vigilv1.Calls_CarryServer) error {
		if err := c.Send(&vigilv1.CarryResponse{}); err != nil {
			return err
		}
		if _, err := c.Recv(); err != nil {
			return err
		}
		return status.Error(codes.Internal, "broken")
	}, func(t *testing.T, s *server, k *link.Conn) {
		broken := 0
		for range 300 {
			var to peer.Peer
			_, err := open(t.Context(), k, grpc.Peer(&to))
			if err == nil {
				time.Sleep(time.Second)
				continue
			}
			broken++
			if status.Code(err) != codes.Unavailable || to.Addr == nil {
				t.Fatalf("a call of a stream that ended: %v, sent to %v", err, to.Addr)
			}
			if _, err := open(t.Context(), k); err != nil {
				t.Fatalf("the call after it: %v", err)
			}
		}
		if _, opened := s.counts(); broken == 0 || broken != opened || broken > 300/9 {
			t.Errorf("%d calls failed with %d streams, want one in ten seconds", broken, opened)
		}
	})
}

// A caller that gives up hears so at once, and the server is told.
func TestGivenUpCallIsToldToTheServer(t *testing.T) {
	told := make(chan uint64, 100)
	story(t, func(c vigilv1.Calls_CarryServer) error {
		if err := c.Send(&vigilv1.CarryResponse{}); err != nil {
			return err
		}
		for {
			in, err := c.Recv()
			if errors.Is(err, io.EOF) || err != nil {
				return err
			}
			for _, n := range in.GetGivenUp() {
				told <- n
			}
			for _, call := range in.GetCalls() {
				if call.GetTimeoutUs() < 900_000 || call.GetTimeoutUs() > 1_000_000 {
					t.Errorf("the server was told of %d us, want some 1,000,000", call.GetTimeoutUs())
				}
			}
		}
	}, func(t *testing.T, _ *server, k *link.Conn) {
		for !k.Carries() {
			if _, err := open(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := open(ctx, k); status.Code(err) != codes.DeadlineExceeded || time.Since(began) != time.Second {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		<-told
	})
}
