package client_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// echo answers every CreateTask at once and counts nothing.
type echo struct {
	vigilv1.UnimplementedFleetServer
	vigilv1.UnimplementedWorkServer
}

func (echo) CreateTask(context.Context, *vigilv1.CreateTaskRequest) (*vigilv1.Task, error) {
	return &vigilv1.Task{Id: 1}, nil
}

func (echo) OpenSession(context.Context, *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	return &vigilv1.OpenSessionResponse{Session: 1}, nil
}

func (echo) CloseSession(context.Context, *vigilv1.CloseSessionRequest) (*vigilv1.CloseSessionResponse, error) {
	return &vigilv1.CloseSessionResponse{}, nil
}

// What finding the leader, numbering and watching cost on top of gRPC, with 1,000
// writers over loopback TCP.
func BenchmarkAThousandWriters(b *testing.B) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	g := grpc.NewServer()
	vigilv1.RegisterFleetServer(g, echo{})
	vigilv1.RegisterWorkServer(g, echo{})
	go g.Serve(lis)
	defer g.Stop()
	raw, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	c, err := client.Open(client.Config{Addrs: []string{lis.Addr().String()}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for _, with := range []struct {
		name string
		conn grpc.ClientConnInterface
	}{{"grpc", raw}, {"client", c}} {
		b.Run(with.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(500)
			fleet := vigilv1.NewFleetClient(with.conn)
			b.RunParallel(func(pb *testing.PB) {
				in := &vigilv1.CreateTaskRequest{Room: "web", Role: "builder", Title: "build"}
				for pb.Next() {
					if _, err := fleet.CreateTask(b.Context(), in); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
