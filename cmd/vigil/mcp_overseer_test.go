package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// An overseer that speaks MCP reports its patrols and is told when to hand over; whoever is no
// overseer is told so.
func TestMCPOverseer(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	must(f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: "ops", By: "test", Roles: []*vigilv1.RoleSpec{
		{Name: "deacon", Ttl: durationpb.New(time.Minute), Overseer: &vigilv1.OverseerSpec{HandoffAfter: 2}}}}))(t)
	c := f.connect("ops/deacon")
	got := c.says("patrol_report", map[string]any{"action": "health-scan", "healthy": 3},
		"Patrol 1 of this life, cycle 1")
	if got["fresh_life_due"] != false || got["patrols"] != 1.0 {
		t.Errorf("answered %v", got)
	}
	got = c.says("patrol_report", map[string]any{"cycle": 7, "unhealthy": 1}, "Patrol 2 of this life, cycle 7",
		"call begin_fresh_life")
	if got["fresh_life_due"] != true {
		t.Errorf("answered %v", got)
	}
	c.says("patrol_report", map[string]any{"cycle": 7}, "Patrol 2 of this life, cycle 7")
	o := f.agent("ops/deacon").GetOverseer()
	if o.GetPatrols() != 2 || o.GetCycle() != 7 || o.GetUnhealthy() != 1 || o.GetFreshness() != "fresh" ||
		o.GetSession() != "alive" || !o.GetHandoffDue() {
		t.Errorf("the overseer is %v", o)
	}
	c.refuses("patrol_report", map[string]any{"action": "Not a name"}, "Nothing was changed")
	c.refuses("begin_fresh_life", map[string]any{"subject": "s"}, "Nothing was changed", "started by hand")
	b := f.connect("web/builder")
	b.refuses("patrol_report", nil, "Nothing was changed", "is no overseer")
	b.refuses("begin_fresh_life", map[string]any{"subject": "s"}, "Nothing was changed", "is no overseer")
}
