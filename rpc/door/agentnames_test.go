package door

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"vigil/rpc/gen/vigilv1"
)

// N22: room/role.1 is the same agent as room/role in every request.
func TestN22TheFirstAgentHasOneName(t *testing.T) {
	speaker := func(name string) *vigilv1.Speaker { return &vigilv1.Speaker{Agent: name} }
	for _, pair := range [][2]proto.Message{
		{&vigilv1.GetAgentRequest{Agent: "w/a.1"}, &vigilv1.GetAgentRequest{Agent: "w/a"}},
		{&vigilv1.WatchEventsRequest{Agent: "w/a.1"}, &vigilv1.WatchEventsRequest{Agent: "w/a"}},
		{&vigilv1.SetPauseRequest{Scope: "w/a.1"}, &vigilv1.SetPauseRequest{Scope: "w/a"}},
		{&vigilv1.WorkRequest{Speaker: speaker("w/a.1")}, &vigilv1.WorkRequest{Speaker: speaker("w/a")}},
		{&vigilv1.BatchRequest{Writes: []*vigilv1.Write{
			{Op: &vigilv1.Write_Join{Join: &vigilv1.JoinRequest{Speaker: speaker("w/a.1")}}}, {}}},
			&vigilv1.BatchRequest{Writes: []*vigilv1.Write{
				{Op: &vigilv1.Write_Join{Join: &vigilv1.JoinRequest{Speaker: speaker("w/a")}}}, {}}}},
	} {
		if sameNames(pair[0]); !proto.Equal(pair[0], pair[1]) {
			t.Errorf("%v, want %v", pair[0], pair[1])
		}
	}
	for _, name := range []string{"", "w", "w/a", "w/a.2", "w/a.11", "w/a.2.1", "w.1", "w/a.*", ".1"} {
		r := &vigilv1.GetAgentRequest{Agent: name}
		if sameNames(r); r.GetAgent() != name {
			t.Errorf("%q became %q", name, r.GetAgent())
		}
	}
	sameNames(&vigilv1.WorkRequest{}) // nobody speaks
	sameNames(nil)
}
