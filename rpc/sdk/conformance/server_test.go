package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
)

// server is one of a cluster: gRPC and JSON over HTTP on one listener, whose connections the script can cut
// and freeze.
type server struct {
	c     *cluster
	index int
	addr  string // host:port, or unix:/PATH

	mu     sync.Mutex
	thaw   *sync.Cond
	frozen bool // it takes connections and requests, and says nothing
	down   bool // it ends each connection at once
	conns  map[net.Conn]struct{}
}

type services struct {
	vigilv1.UnimplementedWorkServer
	vigilv1.UnimplementedFleetServer
}

// serve starts a server; it ends with the test.
func (c *cluster) serve(index int, socket bool) *server {
	s := &server{c: c, index: index, conns: map[net.Conn]struct{}{}}
	s.thaw = sync.NewCond(&s.mu)
	network, at := "tcp", "127.0.0.1:0"
	if socket {
		network, at = "unix", filepath.Join(c.t.TempDir(), "s")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		c.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	if socket {
		s.addr = "unix:" + at
	}
	calls := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
		_ grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		_ = grpc.SetHeader(ctx, s.headers())
		return c.handle(ctx, s, info.FullMethod, req.(proto.Message), md)
	}))
	vigilv1.RegisterWorkServer(calls, services{})
	vigilv1.RegisterFleetServer(calls, services{})
	gateway, err := door.NewGateway(c.t.Context(), direct{s})
	if err != nil {
		c.t.Fatal(err)
	}
	h := &http.Server{Protocols: &http.Protocols{},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				calls.ServeHTTP(w, r)
				return
			}
			gateway.ServeHTTP(w, r)
		})}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() { _ = h.Serve(&listener{l, s}); close(done) }() // it ends with Close
	c.t.Cleanup(func() { s.freeze(false); _ = h.Close(); calls.Stop(); <-done })
	return s
}

// headers are those with which each answer tells of the servers; a socket tells nothing.
func (s *server) headers() metadata.MD {
	if strings.HasPrefix(s.addr, "unix:") {
		return nil
	}
	var all []string
	for _, one := range s.c.servers {
		all = append(all, one.addr)
	}
	return metadata.Pairs(code.HeaderServers, strings.Join(all, ","))
}

// direct is the connection of the gateway: to the same cluster, without a network.
type direct struct{ s *server }

func (d direct) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	md, _ := metadata.FromOutgoingContext(ctx)
	for _, o := range opts {
		if h, ok := o.(grpc.HeaderCallOption); ok {
			*h.HeaderAddr = d.s.headers()
		}
	}
	answer, err := d.s.c.handle(ctx, d.s, method, args.(proto.Message), md)
	if err == nil {
		proto.Merge(reply.(proto.Message), answer)
	}
	return err
}

func (d direct) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, refused(code.Unimplemented, "")
}

// cut ends all connections, whatever is under way on them.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
}

func (s *server) freeze(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = on
	s.thaw.Broadcast()
}

func (s *server) end(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.cut()
	}
}

// stand waits while the server is frozen.
func (s *server) stand() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.frozen {
		s.thaw.Wait()
	}
}

type listener struct {
	net.Listener
	s *server
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.s.mu.Lock()
		down := l.s.down
		if !down {
			l.s.conns[conn] = struct{}{}
		}
		l.s.mu.Unlock()
		if !down {
			return &scripted{conn, l.s}, nil
		}
		conn.Close()
	}
}

// scripted is a connection that stands still while its server is frozen.
type scripted struct {
	net.Conn
	s *server
}

func (c *scripted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.s.stand()
	return n, err
}

func (c *scripted) Write(p []byte) (int, error) {
	c.s.stand()
	return c.Conn.Write(p)
}

func (c *scripted) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c.Conn)
	c.s.mu.Unlock()
	return c.Conn.Close()
}

var errCut = errors.New("nobody hears this: the connection is cut")

func TestMain(m *testing.M) { mainOrWorker(m) }
