package rpc

import (
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// Servers try each other and know who answers and that they are heard.
func TestServersTryEachOther(t *testing.T) {
	w := start(t, 3)
	eventually(t, "everybody reaches everybody", func() bool {
		for i, s := range w.servers {
			for j, to := range w.nodes {
				if i != j && s.Reached(to.id).IsZero() || s.Heard().IsZero() {
					return false
				}
			}
		}
		return true
	})
	if at := w.servers[0].Reached("s9"); !at.IsZero() {
		t.Errorf("a server that does not exist answered at %v", at)
	}
}

// A server counts as heard when servers, hosts and agents reach it, not when it talks
// to itself or a human looks at it.
func TestWhoIsHeard(t *testing.T) {
	w := start(t, 1)
	health := grpc_health_v1.NewHealthClient(w.conns[0])
	w.room("demo", "builder", 1)
	if h, err := health.Check(within(t), &grpc_health_v1.HealthCheckRequest{}); err != nil ||
		h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	w.nodes[0].cutOff(true)
	if h, err := health.Check(within(t), &grpc_health_v1.HealthCheckRequest{}); err != nil ||
		h.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health without a leader: %v, %v", h, err)
	}
	w.nodes[0].cutOff(false)
	if at := w.servers[0].Heard(); !at.IsZero() {
		t.Errorf("heard at %v", at)
	}
	if _, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: []uint32{1},
		Incarnations: []uint64{1}, Kinds: []uint32{fsm.BeatLease}}); err != nil {
		t.Fatal(err)
	}
	if w.servers[0].Heard().IsZero() {
		t.Error("a beat was not heard")
	}
}
