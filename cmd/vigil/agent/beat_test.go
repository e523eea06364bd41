package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/gen/vigilv1"
)

// A life keeps the TTL that it began with: beats come four times in that, though its role has a longer one by now.
func TestBeatsComeFourTimesInTheLeaseOfTheLife(t *testing.T) {
	l := &life.Life{Agent: "web/builder", Incarnation: 5, Token: "secret"}
	for want, work := range map[time.Duration]renewing{
		15 * time.Second:  {ttl: time.Minute},
		150 * time.Second: {err: errors.New("no leader")}, // what the role says is better than nothing
	} {
		c := &cli.Conn{Work: work, Fleet: roleOf{ttl: 10 * time.Minute}}
		if got := (&beater{}).interval(t.Context(), c, l); got != want {
			t.Errorf("%v: beats every %s, want %s", work, got, want)
		}
	}
}

// renewing is a server that knows one life.
type renewing struct {
	vigilv1.WorkClient
	ttl time.Duration
	err error
}

func (r renewing) Renew(_ context.Context, in *vigilv1.RenewRequest,
	_ ...grpc.CallOption) (*vigilv1.RenewResponse, error) {
	if by := in.GetSpeaker(); by.GetAgent() != "web/builder" || by.GetIncarnation() != 5 || by.GetToken() != "secret" {
		return nil, errors.New("another life speaks")
	}
	return &vigilv1.RenewResponse{Ttl: durationpb.New(r.ttl)}, r.err
}

// roleOf is a fleet whose role has this TTL.
type roleOf struct {
	vigilv1.FleetClient
	ttl time.Duration
}

func (r roleOf) GetAgent(context.Context, *vigilv1.GetAgentRequest,
	...grpc.CallOption) (*vigilv1.GetAgentResponse, error) {
	return &vigilv1.GetAgentResponse{Role: &vigilv1.RoleSpec{Ttl: durationpb.New(r.ttl)}}, nil
}
