package hosts

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Service serves what agentd says. Safe for concurrent use.
type Service struct {
	vigilv1.UnimplementedHostAgentServer
	*base.Core
	streams *Streams
	cluster func() string // its id, the label of its gossip
	traced  bool          // servers make spans of tasks
}

// NewService serves hosts whose streams it keeps; cluster gives the label of the cluster's gossip, traced says that
// servers make spans of tasks.
func NewService(c *base.Core, streams *Streams, cluster func() string, traced bool) *Service {
	return &Service{Core: c, streams: streams, cluster: cluster, traced: traced}
}

// Register introduces a host or brings it back. The answer brings what the host
// needs to join the servers' gossip.
func (h *Service) Register(ctx context.Context, r *vigilv1.RegisterRequest) (*vigilv1.RegisterResponse, error) {
	resp, err := base.Idempotent(ctx, h.Core, r, registerHostCmd, func(out *noun.Outcome) *vigilv1.RegisterResponse {
		return &vigilv1.RegisterResponse{Host: uint32(out.Host), Ttl: form.Lasting(time.Duration(out.TTL)),
			ClusterId: h.cluster()}
	})
	if err != nil {
		return nil, err
	}
	h.Reader.Read(func(st *fsm.View) {
		if resp.Ttl == nil {
			resp.Ttl = form.Lasting(st.Settings().HostTTL)
		}
		for _, s := range st.Servers() {
			if s.GossipAddr != "" {
				resp.GossipAddrs = append(resp.GossipAddrs, s.GossipAddr)
			}
		}
	})
	return resp, nil
}

// LeaveHost is a host's good-bye.
func (h *Service) LeaveHost(ctx context.Context, r *vigilv1.LeaveHostRequest) (*vigilv1.LeaveHostResponse, error) {
	return base.Idempotent(ctx, h.Core, r, leaveHostCmd, func(*noun.Outcome) *vigilv1.LeaveHostResponse {
		return &vigilv1.LeaveHostResponse{}
	})
}

// AcceptOrder commits that the host will start the incarnation.
func (h *Service) AcceptOrder(
	ctx context.Context, r *vigilv1.AcceptOrderRequest,
) (*vigilv1.AcceptOrderResponse, error) {
	return base.Idempotent(ctx, h.Core, r, acceptOrderCmd, func(out *noun.Outcome) *vigilv1.AcceptOrderResponse {
		return &vigilv1.AcceptOrderResponse{Ttl: form.Lasting(time.Duration(out.TTL))}
	})
}

// ReportStarted gives the pid of an accepted incarnation.
func (h *Service) ReportStarted(
	ctx context.Context, r *vigilv1.ReportStartedRequest,
) (*vigilv1.ReportStartedResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportStartedCmd, func(*noun.Outcome) *vigilv1.ReportStartedResponse {
		return &vigilv1.ReportStartedResponse{}
	})
}

// ReportExit says that nothing of the incarnation runs any more. The answer brings the order of the next one, so
// that the host need not wait until the server of its stream has it.
func (h *Service) ReportExit(ctx context.Context, r *vigilv1.ReportExitRequest) (*vigilv1.ReportExitResponse, error) {
	resp, err := base.Idempotent(ctx, h.Core, r, reportExitCmd, func(*noun.Outcome) *vigilv1.ReportExitResponse {
		return &vigilv1.ReportExitResponse{}
	})
	if err != nil {
		return nil, err
	}
	h.Reader.Read(func(st *fsm.View) {
		a := st.Agent(noun.AgentID(r.GetAgent()))
		if a != nil && a.Host == noun.HostID(r.GetHost()) && a.OpenOrder() == noun.StartOrder {
			resp.Next = h.order(st, a)
		}
	})
	return resp, nil
}

// ReportStuck says that something of the incarnation outlives SIGKILL, or no more.
func (h *Service) ReportStuck(
	ctx context.Context, r *vigilv1.ReportStuckRequest,
) (*vigilv1.ReportStuckResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportStuckCmd, func(*noun.Outcome) *vigilv1.ReportStuckResponse {
		return &vigilv1.ReportStuckResponse{}
	})
}

// ReportPressure says why the host takes no starts at the moment, or that it does.
func (h *Service) ReportPressure(
	ctx context.Context, r *vigilv1.ReportPressureRequest,
) (*vigilv1.ReportPressureResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportPressureCmd, func(*noun.Outcome) *vigilv1.ReportPressureResponse {
		return &vigilv1.ReportPressureResponse{}
	})
}

// ReportScreen says what stands on an agent's terminal, when that has changed.
func (h *Service) ReportScreen(
	ctx context.Context, r *vigilv1.ReportScreenRequest,
) (*vigilv1.ReportScreenResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportScreenCmd, func(*noun.Outcome) *vigilv1.ReportScreenResponse {
		return &vigilv1.ReportScreenResponse{}
	})
}

// ReportKept says what agents have left on the host's disk.
func (h *Service) ReportKept(ctx context.Context, r *vigilv1.ReportKeptRequest) (*vigilv1.ReportKeptResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportKeptCmd, func(*noun.Outcome) *vigilv1.ReportKeptResponse {
		return &vigilv1.ReportKeptResponse{}
	})
}

// ReportTerminals says what the host can do about terminals.
func (h *Service) ReportTerminals(
	ctx context.Context, r *vigilv1.ReportTerminalsRequest,
) (*vigilv1.ReportTerminalsResponse, error) {
	return base.Idempotent(ctx, h.Core, r, reportTerminalsCmd, func(*noun.Outcome) *vigilv1.ReportTerminalsResponse {
		return &vigilv1.ReportTerminalsResponse{}
	})
}

// DrainSelf drains the host by the word of its own agentd. Unlike a human's drain it
// ends with the host's good-bye.
func (h *Service) DrainSelf(ctx context.Context, r *vigilv1.DrainSelfRequest) (*vigilv1.DrainSelfResponse, error) {
	return base.Idempotent(ctx, h.Core, r, h.drainSelfCmd, func(*noun.Outcome) *vigilv1.DrainSelfResponse {
		return &vigilv1.DrainSelfResponse{}
	})
}

func (h *Service) drainSelfCmd(r *vigilv1.DrainSelfRequest) (fsm.Command, error) {
	var c form.Checks
	c.Present("key", r.GetKey(), "send the stable id of the host")
	c.Boot(r.GetBoot())
	cmd := fsm.DrainHost{Deadline: c.Duration("deadline", r.GetDeadline()), By: fsm.DrainBySelf}
	if c.Err != nil {
		return nil, c.Err
	}
	err := base.Read(h.Core, func(st *fsm.View) error {
		host := st.HostByKey(r.GetKey())
		switch {
		case host == nil:
			return fault.NotFound("Host %s is not registered; there is nothing to drain.", fault.Quote(r.GetKey()))
		case host.Boot != r.GetBoot():
			return fault.New(code.Superseded, "Host %s has registered with another boot id since.", host.Name)
		}
		cmd.Host = host.ID
		return nil
	})
	return cmd, err
}
