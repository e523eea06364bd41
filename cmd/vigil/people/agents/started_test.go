package agents

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// changing is an agent that changes before each of the first calls.
type changing struct {
	vigilv1.FleetClient
	agent  *vigilv1.Agent
	before []func(*vigilv1.Agent)
}

func (f *changing) SetAgent(
	_ context.Context, r *vigilv1.SetAgentRequest, _ ...grpc.CallOption,
) (*vigilv1.Agent, error) {
	if len(f.before) > 0 {
		f.before[0](f.agent)
		f.agent.Rev++
		f.before = f.before[1:]
	}
	if r.GetIfRev() != f.agent.GetRev() {
		return nil, client.ErrConflict
	}
	f.agent.Desired = r.GetDesired()
	return f.agent, nil
}

func (f *changing) GetAgent(context.Context, *vigilv1.GetAgentRequest, ...grpc.CallOption,
) (*vigilv1.GetAgentResponse, error) {
	return &vigilv1.GetAgentResponse{Agent: f.agent}, nil
}

// L9: a start of many leaves alone what somebody has stopped again while its plan was read, and nothing else.
func TestL9AStartLeavesWhatWasStoppedSince(t *testing.T) {
	at := timestamppb.New(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
	life := func(a *vigilv1.Agent) { a.Process = "none" }
	stopped := func(a *vigilv1.Agent) { a.IntentBy, a.IntentAt = "bob", timestamppb.New(at.AsTime().Add(time.Minute)) }
	for name, c := range map[string]struct {
		before []func(*vigilv1.Agent)
		starts bool
	}{
		"nothing happens":         {nil, true},
		"its life ends":           {[]func(*vigilv1.Agent){life, life}, true},
		"bob stops it":            {[]func(*vigilv1.Agent){stopped}, false},
		"both":                    {[]func(*vigilv1.Agent){life, stopped}, false},
		"it changes all the time": {[]func(*vigilv1.Agent){life, life, life, life, life, life, life}, false},
	} {
		was := &vigilv1.Agent{Name: "web/a", Desired: "stopped", IntentBy: "anna", IntentAt: at, Rev: 7}
		now := &vigilv1.Agent{Name: "web/a", Desired: "stopped", IntentBy: "anna", IntentAt: at, Rev: 7}
		f := &changing{agent: now, before: c.before}
		_, err := startPlanned(context.Background(), &cli.Conn{Fleet: f},
			&vigilv1.SetAgentRequest{Agent: "web/a", Desired: "running"}, was)
		if (err == nil) != c.starts || (now.Desired == "running") != c.starts ||
			err != nil && cli.ExitCode(err) != cli.ExitConflict {
			t.Errorf("%s: %v, it is to be %s", name, err, now.Desired)
		}
	}
}
