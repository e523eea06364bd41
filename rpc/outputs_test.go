package rpc

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// What an agent has put out last is for readers and for itself: viewers, hosts and other agents see how it ended,
// and no output, one by one and in lists.
func TestOutputIsForReadersAndTheAgentItself(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", Replicas: 2},
		{Name: "lead", Runner: "sh", Containment: "weak",
			Grants: []*vigilv1.Binding{{Role: "reader", Room: "demo"}}}}}); err != nil {
		t.Fatal(err)
	}
	p.put("host/h1", vouch.Standing{})
	p.put("user/viv", vouch.Standing{Rights: []who.Right{{Role: code.Viewer, Room: "demo"}}})
	p.put("user/ron", vouch.Standing{Rights: []who.Right{{Role: code.Reader, Room: "demo"}}})
	p.put("user/max", vouch.Standing{Rights: []who.Right{{Role: code.Viewer, Room: who.AllRooms},
		{Role: code.Reader, Room: "other"}}})
	conn := p.dial(w, 0, p.holder(trust.Host, "h1", trust.Stamp{}).Client(nil))
	host := vigilv1.NewHostAgentClient(conn)
	reg, err := host.Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one", Boot: "b1",
		Runners: []string{"sh"}})
	if err != nil {
		t.Fatal(err)
	}
	lives := map[string]who.Life{}
	for _, name := range []string{"demo/builder", "demo/builder.2", "demo/lead"} {
		agent := w.order(t, name, noun.HostID(reg.GetHost()))
		lives[name] = who.Life{Agent: name, Incarnation: agent.GetIncarnationRaw()}
		if _, err := host.AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: reg.GetHost(), Boot: "b1",
			Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw()}); err != nil {
			t.Fatal(err)
		}
		if name != "demo/builder" {
			continue
		}
		if _, err := host.ReportExit(within(t), &vigilv1.ReportExitRequest{Host: reg.GetHost(), Agent: agent.GetId(),
			Incarnation: agent.GetIncarnationRaw(), Code: 3, Tail: "the secret"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range w.nodes {
		person := func(name string) vigilv1.FleetClient {
			return vigilv1.NewFleetClient(p.dial(w, i, p.holder(trust.User, name, trust.Stamp{}).Client(nil)))
		}
		onHost := vigilv1.NewFleetClient(p.dial(w, i, p.holder(trust.Host, "h1", trust.Stamp{}).Client(nil)))
		for _, tt := range []struct {
			who   string
			fleet vigilv1.FleetClient
			reads bool
		}{
			{"an admin", w.fleet(i), true}, {"a reader", person("ron"), true}, {"a viewer", person("viv"), false},
			{"a reader of another room", person("max"), false}, {"the host", onHost, false},
			{"demo/builder", onHost, true}, {"demo/builder.2", onHost, false}, {"demo/lead", onHost, true},
		} {
			ctx := within(t)
			if life, ok := lives[tt.who]; ok {
				ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderOnBehalf, life.Encode())
			}
			one, err := tt.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: "demo/builder"})
			if err != nil {
				t.Fatalf("s%d, %s: %v", i+1, tt.who, err)
			}
			shown := []*vigilv1.Agent{one.GetAgent()}
			if tt.who != "the host" { // which has no list
				list, err := tt.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: "demo", Role: "builder"})
				if err != nil || len(list.GetAgents()) != 2 {
					t.Fatalf("s%d, %s: %v (%v)", i+1, tt.who, list, err)
				}
				shown = append(shown, list.GetAgents()[0])
			}
			for _, a := range shown {
				if x := a.GetLastExit(); x.GetCode() != 3 || (x.GetTail() != "") != tt.reads {
					t.Errorf("s%d, %s sees how it ended as %v, and reads: %t", i+1, tt.who, x, tt.reads)
				}
			}
		}
	}
}
