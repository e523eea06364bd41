package door

import (
	"strings"
	"testing"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// Whoever declares a role grants it what they are themselves, and nothing more.
func TestNobodyGrantsMoreThanTheyHold(t *testing.T) {
	g := openGates(t)
	person := func(rights ...who.Right) *who.Principal {
		return &who.Principal{Claim: who.Claim{Kind: who.User, Name: "anna"}, Rights: rights}
	}
	web := person(who.Right{Role: code.Operator, Room: "web"})
	both := person(who.Right{Role: code.Operator, Room: "web"}, who.Right{Role: code.Reader, Room: "ops"})
	all := person(who.Right{Role: code.Operator, Room: who.AllRooms})
	overseer := &who.Principal{Claim: who.Claim{Kind: who.Host, Name: "h2",
		Life: who.Life{Agent: "ops/c", Incarnation: uint64(g.lives["ops/c"])}}}
	for _, tt := range []struct {
		who        *who.Principal
		role, room string
		want       string
	}{
		{web, "operator", "web", code.OK},
		{web, "reader", "web", code.OK},
		{web, "viewer", "ops", code.Denied},
		{web, "viewer", "*", code.Denied},
		{both, "reader", "ops", code.OK},
		{both, "operator", "ops", code.Denied},
		{all, "operator", "*", code.OK},
		{all, "admin", "web", code.Denied},
		{all, "of my own", "web", code.OK}, // which the state machine refuses
		{overseer, "operator", "web", code.OK},
		{overseer, "viewer", "ops", code.Denied},
	} {
		req := &vigilv1.ApplyRoomRequest{Room: "web", Roles: []*vigilv1.RoleSpec{{Name: "a"}, {Name: "x",
			Grants: []*vigilv1.Binding{{Role: tt.role, Room: tt.room}}}}}
		for _, d := range g.doors {
			err := d.guard.allow(tt.who, vigilv1.Fleet_ApplyRoom_FullMethodName, req, nil)
			if codeOf(err) != tt.want {
				t.Errorf("%s grants %s of %s at %s: %v, want %s", tt.who, tt.role, tt.room, d.self, err, tt.want)
			}
		}
	}
}

// An agent with grants writes mail as itself, into the rooms that it was granted too, and in nobody's name.
func TestGrantsLendNobodysVoice(t *testing.T) {
	g := openGates(t)
	life := who.Life{Agent: "ops/c", Incarnation: uint64(g.lives["ops/c"])}
	self := &vigilv1.Speaker{Agent: life.Agent, Incarnation: life.Incarnation}
	other := &vigilv1.Speaker{Agent: "web/a", Incarnation: uint64(g.lives["web/a"])}
	for _, tt := range []struct {
		as   *vigilv1.Speaker
		to   string
		want string
	}{
		{self, "web/a", code.OK}, {self, "ops/a", code.OK}, {self, "secret/a", code.Denied},
		{other, "web/b", code.Denied}, {nil, "web/a", code.Denied},
	} {
		p := &who.Principal{Claim: who.Claim{Kind: who.Host, Name: "h2", Life: life}}
		err := g.doors[0].guard.allow(p, vigilv1.Mailbox_SendMail_FullMethodName,
			&vigilv1.SendMailRequest{Speaker: tt.as, To: tt.to}, nil)
		if err != nil && strings.Contains(err.Error(), "h2") {
			t.Errorf("an agent hears the key of its host: %v", err)
		}
		if codeOf(err) != tt.want {
			t.Errorf("mail of %v to %s: %v, want %s", tt.as, tt.to, err, tt.want)
		}
	}
}
