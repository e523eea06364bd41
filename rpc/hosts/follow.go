package hosts

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// FollowScreen brings what the terminal of an agent's present life shows, until that life ends. It asks the
// host, whichever server holds its stream, and writes nothing.
func (d *Desk) FollowScreen(r *vigilv1.FollowScreenRequest, gs grpc.ServerStreamingServer[vigilv1.Screen]) error {
	var c form.Checks
	if c.Agent("agent", r.GetAgent(), false); c.Err != nil {
		return c.Err
	}
	return d.relay.screens(r, gs)
}

func (l *relay) screens(r *vigilv1.FollowScreenRequest, gs grpc.ServerStreamingServer[vigilv1.Screen]) error {
	ctx, ask := gs.Context(), &vigilv1.AtTerminalRequest{}
	hostName, err := l.life(r.GetAgent(), ask)
	if err != nil { // this server may not have heard of it yet
		if _, err := l.CatchUp(ctx); err != nil {
			return err
		}
		hostName, err = l.life(r.GetAgent(), ask)
	}
	if err != nil {
		return err
	}
	if s := l.streams.find(noun.HostID(ask.GetHost())); s != nil {
		request := &vigilv1.LogRequest{Agent: ask.GetAgent(), AgentName: r.GetAgent(), Follow: true, Screen: true,
			Incarnation: ask.GetIncarnation()}
		return s.fetch(ctx, request, func(data []byte) error {
			screen := &vigilv1.Screen{}
			if err := proto.Unmarshal(data, screen); err != nil {
				return fault.New(code.Unavailable, "The host sends what is no screen; upgrade its agentd.")
			}
			screen.Host, screen.Incarnation = hostName, form.IncName(noun.Incarnation(ask.GetIncarnation()))
			return gs.Send(screen)
		})
	}
	absent := fault.New(code.Unavailable,
		"Host %s, which has the terminal, is connected to no server; look at `vigil host show %s`.", hostName, hostName)
	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderRelayed)) > 0 {
		return absent
	}
	return l.elsewhere(ctx, absent, func(ctx context.Context, c vigilv1.FleetClient) (func() error, error) {
		from, err := c.FollowScreen(ctx, r)
		return func() error {
			screen, err := from.Recv()
			if err == nil {
				err = gs.Send(screen)
			}
			return err
		}, err
	})
}
