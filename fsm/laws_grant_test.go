package fsm

import (
	"slices"
	"strings"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Agents with grants run only where others cannot act as they do, unless their role says that this is fine.
func TestGrantsRunWhereAgentsAreKeptApart(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	spec := noun.RoleSpec{Name: "mayor", Runner: "w", Grants: []noun.Binding{{Role: noun.Operator, Room: "web"},
		{Role: noun.Reader, Room: noun.Everywhere}}}
	for _, anywhere := range []bool{false, true} {
		spec.AnyContainment = anywhere
		d.must(ApplyRoom{Room: "ops", Roles: []noun.RoleSpec{spec, {Name: "plain", Runner: "w"}}})
		for containment, fits := range map[string]bool{"": anywhere, "weak": anywhere, "group": anywhere, "sealed": true} {
			host := noun.HostID(d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "b1", Runners: []string{"w"},
				Containment: containment}).Host)
			role := d.s.RoleByName("ops", "mayor")
			if got := d.s.Offers(host, role); got != fits {
				t.Errorf("containment %q, anywhere %t: it fits: %t", containment, anywhere, got)
			}
			why := d.s.Misfit(d.s.Host(host), d.s.AgentByName("ops/mayor"))
			if strings.Contains(why, "containment: weak") == fits {
				t.Errorf("containment %q, anywhere %t: %q", containment, anywhere, why)
			}
			if !d.s.Offers(host, d.s.RoleByName("ops", "plain")) {
				t.Errorf("containment %q keeps a role without grants away", containment)
			}
		}
	}
}

// What nobody may be granted changes nothing.
func TestGrantsAreBounded(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	in := func(role noun.UserRole, room string) []noun.Binding { return []noun.Binding{{Role: role, Room: room}} }
	for _, bad := range []noun.RoleSpec{
		{Grants: in(noun.Admin, "web")}, {Grants: in(0, "web")}, {Grants: in(noun.UserRoles, "web")},
		{Grants: in(noun.Viewer, "Web")}, {Grants: in(noun.Viewer, "")}, {AnyContainment: true},
		{Grants: slices.Repeat(in(noun.Viewer, "web"), 2)}, {Grants: slices.Repeat(in(noun.Viewer, "web"), noun.MaxGrants+1)},
	} {
		bad.Name, bad.Runner = "a", "w"
		d.want(noun.Invalid, ApplyRoom{Room: "ops", Roles: []noun.RoleSpec{bad}})
	}
	if d.s.Room("ops") != nil {
		t.Error("a room was made of what was refused")
	}
}
