package door

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"vigil/fsm"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// refuser answers every call with one code.
type refuser struct {
	vigilv1.UnimplementedHostAgentServer
	code string
}

func (r *refuser) ReportStuck(context.Context, *vigilv1.ReportStuckRequest) (*vigilv1.ReportStuckResponse, error) {
	return nil, &fault.Error{Code: r.code}
}

// nobody is the replica of a server that knows no leader.
type nobody struct{}

func (nobody) Read(func(*fsm.View))          {}
func (nobody) Barrier(context.Context) error { return nil }
func (nobody) Leader() Leader                { return Leader{} }

// What a server answers is understood alike by whoever asked: the name, and gRPC's own code, over a
// plain connection and through the client.
func TestACodeMeansTheSameAtBothEnds(t *testing.T) {
	c := &core{log: hclog.NewNullLogger(), reader: nobody{}}
	c.reach = newReach("s1", c.reader, nil)
	o := &observer{core: c}
	r := &refuser{}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(o.unary))
	vigilv1.RegisterHostAgentServer(server, r)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	plain, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	cl, err := client.Open(client.Config{Addrs: []string{l.Addr().String()}, RetryFor: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, row := range code.Rows()[1:] {
		r.code = row.Name
		for way, conn := range map[string]grpc.ClientConnInterface{"plain": plain, "client": cl} {
			_, err := vigilv1.NewHostAgentClient(conn).ReportStuck(t.Context(), &vigilv1.ReportStuckRequest{})
			if got := status.Code(err); got != row.GRPC {
				t.Errorf("%s is %s at a server and %s at the other end (%s)", row.Name, row.GRPC, got, way)
			}
			if got := client.Code(err); got != row.Name || way == "client" &&
				!errors.Is(err, &client.Error{Code: row.Name}) {
				t.Errorf("%s arrives as %s (%s)", row.Name, got, way)
			}
		}
	}
}

func TestPanicsBecomeInternalErrors(t *testing.T) {
	o := &observer{core: &core{log: hclog.NewNullLogger(), reader: nobody{}, reach: newReach("s1", nil, nil)}}
	_, err := o.unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/x"},
		func(context.Context, any) (any, error) {
			panic("broken")
		})
	if fault.Of(err).Code != code.Internal {
		t.Fatalf("got %v, want internal", err)
	}
}
