package rpc

import (
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// N18: a runner that no host has is a warning of the plan: the host may come later.
func TestN18UnknownRunnerIsAWarning(t *testing.T) {
	w := start(t, 1)
	plan := func() []string {
		t.Helper()
		room, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "web", DryRun: true,
			Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "clude"}, {Name: "tester", Runner: "claude"},
				{Name: "hand"}}})
		if err != nil {
			t.Fatal(err)
		}
		return room.GetPlan().GetWarnings()
	}
	if got := plan(); len(got) != 0 {
		t.Errorf("without a host: %q", got)
	}
	if _, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1",
		Runners: []string{"claude", "codex"}}); err != nil {
		t.Fatal(err)
	}
	got := plan()
	if len(got) != 1 || !strings.Contains(got[0], `role builder: no host has runner "clude"`) ||
		!strings.Contains(got[0], "hosts have claude, codex") {
		t.Errorf("%q", got)
	}
}
