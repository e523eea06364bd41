package rpc

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

// What a server answers is understood alike by whoever asked: the name, and gRPC's own code, over a
// plain connection and through the client.
func TestACodeMeansTheSameAtBothEnds(t *testing.T) {
	o := &observer{core: &core{log: hclog.NewNullLogger(), reader: newFakeCluster(1).nodes[0]}}
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
	c, err := client.Open(client.Config{Addrs: []string{l.Addr().String()}, RetryFor: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, row := range code.Rows()[1:] {
		r.code = row.Name
		for way, conn := range map[string]grpc.ClientConnInterface{"plain": plain, "client": c} {
			_, err := vigilv1.NewHostAgentClient(conn).ReportStuck(t.Context(), &vigilv1.ReportStuckRequest{})
			if got := status.Code(err); got != row.GRPC {
				t.Errorf("%s is %s at a server and %s at the other end (%s)", row.Name, row.GRPC, got, way)
			}
			if got := client.Code(err); got != row.Name || way == "client" && !errors.Is(err, &client.Error{Code: row.Name}) {
				t.Errorf("%s arrives as %s (%s)", row.Name, got, way)
			}
		}
	}
}
