//go:build linux

package incidents

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// postman stands between machines and the servers and passes on calls without
// reading them, but not always as it should.
type postman struct {
	t *testing.T
	// twice delivers every message of a stream towards the machine twice.
	twice bool
	// lose says whether the answer to a call is lost, by its method and request.
	lose func(method string, request []byte) bool

	mu            sync.Mutex
	offices       map[string]*office // by address of the server
	doubled, lost map[string]int     // messages, by method
}

// office is the postman before one server.
type office struct {
	server *grpc.Server
	door   *door
	conn   *grpc.ClientConn
}

func newPostman(t *testing.T) *postman {
	p := &postman{t: t, offices: map[string]*office{}, doubled: map[string]int{}, lost: map[string]int{}}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, o := range p.offices {
			o.server.Stop()
			o.conn.Close()
		}
	})
	return p
}

// between puts the postman between a machine and the servers until the test ends.
func (p *postman) between(w *world, m *stand.Machine) {
	w.Wires.Divert(m, p.take)
	p.t.Cleanup(func() { w.Wires.Divert(m, nil) })
}

// take serves one connection to a server.
func (p *postman) take(server string, c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.offices[server]
	if o == nil {
		conn, err := grpc.NewClient("passthrough:///"+server, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			p.t.Error(err)
			c.Close()
			return
		}
		o = &office{conn: conn, door: &door{conns: make(chan net.Conn, 16), closed: make(chan struct{})}}
		o.server = grpc.NewServer(grpc.ForceServerCodecV2(letters{}), grpc.UnknownServiceHandler(p.handler(conn)),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Millisecond,
				PermitWithoutStream: true}))
		p.offices[server] = o
		go func() { _ = o.server.Serve(o.door) }() // until it is stopped
	}
	select {
	case o.door.conns <- c:
	case <-o.door.closed:
		c.Close()
	}
}

// handler passes on one call of any method.
func (p *postman) handler(conn *grpc.ClientConn) grpc.StreamHandler {
	return func(_ any, in grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(in)
		if method == vigilv1.Calls_Carry_FullMethodName { // letters in one envelope could not be lost one by one
			return status.Error(codes.Unimplemented, "the postman carries letters one by one")
		}
		ctx, cancel := context.WithCancel(in.Context())
		defer cancel()
		head, _ := metadata.FromIncomingContext(ctx)
		head = head.Copy()
		for key := range head {
			if strings.HasPrefix(key, ":") || strings.HasPrefix(key, "grpc-") || key == "content-type" ||
				key == "user-agent" {
				delete(head, key)
			}
		}
		out, err := conn.NewStream(metadata.NewOutgoingContext(ctx, head),
			&grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
			method, grpc.ForceCodecV2(letters{}))
		if err != nil {
			return err
		}
		first := make(chan []byte, 1)
		go forth(in, out, first)
		return p.back(method, in, out, first)
	}
}

// forth passes on what the machine says.
func forth(in grpc.ServerStream, out grpc.ClientStream, first chan<- []byte) {
	for {
		var letter []byte
		if in.RecvMsg(&letter) != nil {
			_ = out.CloseSend() // the answer tells
			return
		}
		select {
		case first <- letter:
		default:
		}
		if out.SendMsg(&letter) != nil {
			return
		}
	}
}

// back passes on what the server says.
func (p *postman) back(method string, in grpc.ServerStream, out grpc.ClientStream, first <-chan []byte) error {
	head, err := out.Header()
	if err == nil {
		err = in.SetHeader(head)
	}
	for err == nil {
		var letter []byte
		if err = out.RecvMsg(&letter); err != nil {
			break
		}
		if p.loses(method, first) {
			return status.Error(codes.Unavailable, "the answer was lost on its way")
		}
		err = in.SendMsg(&letter)
		if err == nil && p.twice && strings.HasSuffix(method, "HostAgent/Stream") {
			p.count(p.doubled, method)
			err = in.SendMsg(&letter)
		}
	}
	in.SetTrailer(out.Trailer())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (p *postman) loses(method string, first <-chan []byte) bool {
	if p.lose == nil {
		return false
	}
	select {
	case request := <-first:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.lose(method, request) {
			p.lost[method[strings.LastIndex(method, "/")+1:]]++
			return true
		}
	default: // a further message of a stream
	}
	return false
}

func (p *postman) count(what map[string]int, method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what[method[strings.LastIndex(method, "/")+1:]]++
}

// counted gives how many messages of a method were lost or doubled.
func (p *postman) counted(what map[string]int, method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return what[method]
}

// door is a listener that gets its connections handed in.
type door struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error   { d.once.Do(func() { close(d.closed) }); return nil }
func (d *door) Addr() net.Addr { return &net.UnixAddr{Name: "postman", Net: "unix"} }

// letters is a codec that leaves messages as they are.
type letters struct{}

func (letters) Name() string { return "proto" }

func (letters) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (letters) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
