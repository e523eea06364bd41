package rpc

import (
	"context"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// hostAgent serves what agentd says.
type hostAgent struct {
	vigilv1.UnimplementedHostAgentServer
	*core
	hosts *hosts
	fwd   *forwarder
}

// Register introduces a host or brings it back.
func (h *hostAgent) Register(ctx context.Context, r *vigilv1.RegisterRequest) (*vigilv1.RegisterResponse, error) {
	resp, err := idempotent(ctx, h.core, r, registerHostCmd, func(out *fsm.Outcome) *vigilv1.RegisterResponse {
		return &vigilv1.RegisterResponse{Host: uint32(out.Host), Ttl: lasting(nanos(out.TTL))}
	})
	if err == nil && resp.Ttl == nil {
		resp.Ttl = lasting(read(h.core, func(st *fsm.State) fsm.Settings { return *st.Settings() }).HostTTL)
	}
	return resp, err
}

// LeaveHost is a host's good-bye.
func (h *hostAgent) LeaveHost(ctx context.Context, r *vigilv1.LeaveHostRequest) (*vigilv1.LeaveHostResponse, error) {
	return idempotent(ctx, h.core, r, leaveHostCmd, func(*fsm.Outcome) *vigilv1.LeaveHostResponse {
		return &vigilv1.LeaveHostResponse{}
	})
}

// AcceptOrder commits that the host will start the incarnation.
func (h *hostAgent) AcceptOrder(ctx context.Context, r *vigilv1.AcceptOrderRequest) (*vigilv1.AcceptOrderResponse, error) {
	return idempotent(ctx, h.core, r, acceptOrderCmd, func(out *fsm.Outcome) *vigilv1.AcceptOrderResponse {
		return &vigilv1.AcceptOrderResponse{Ttl: lasting(nanos(out.TTL))}
	})
}

// ReportStarted gives the pid of an accepted incarnation.
func (h *hostAgent) ReportStarted(ctx context.Context, r *vigilv1.ReportStartedRequest) (*vigilv1.ReportStartedResponse, error) {
	return idempotent(ctx, h.core, r, reportStartedCmd, func(*fsm.Outcome) *vigilv1.ReportStartedResponse {
		return &vigilv1.ReportStartedResponse{}
	})
}

// ReportExit says that nothing of the incarnation runs any more.
func (h *hostAgent) ReportExit(ctx context.Context, r *vigilv1.ReportExitRequest) (*vigilv1.ReportExitResponse, error) {
	return idempotent(ctx, h.core, r, reportExitCmd, func(*fsm.Outcome) *vigilv1.ReportExitResponse {
		return &vigilv1.ReportExitResponse{}
	})
}
