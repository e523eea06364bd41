package rpc

import (
	"slices"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// What a room file makes of the budget of its room stands in the plan: a file without one takes it away.
func TestThePlanOfARoomTellsOfItsBudget(t *testing.T) {
	w := start(t, 1)
	apply := func(dry bool, b *vigilv1.Budget) []string {
		t.Helper()
		got, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "web", DryRun: dry, Budget: b,
			Roles: []*vigilv1.RoleSpec{{Name: "r", Replicas: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetPlan().GetChanges()
	}
	for _, step := range []struct {
		what string
		b    *vigilv1.Budget
		want []string
	}{
		{"none", &vigilv1.Budget{}, nil},
		{"a new one", &vigilv1.Budget{MicroUsd: 200e6}, []string{"budget micro_usd none -> 200000000"}},
		{"the same", &vigilv1.Budget{MicroUsd: 200e6}, nil},
		{"another", &vigilv1.Budget{MicroUsd: 5e6, Tokens: 1000},
			[]string{"budget tokens none -> 1000", "budget micro_usd 200000000 -> 5000000"}},
		{"nothing is said of it", nil, nil},
		{"none again", &vigilv1.Budget{}, []string{"budget tokens 1000 -> none", "budget micro_usd 5000000 -> none"}},
	} {
		if got := apply(true, step.b); !slices.Equal(got, step.want) {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
		apply(false, step.b)
	}
}
