package rpc

import (
	"fmt"
	"slices"
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// The agents of a host come in the order of all agents, page by page, from wherever one goes on.
func TestAgentsOfAHostAreListedInOrder(t *testing.T) {
	w := start(t, 1)
	hosts := []uint32{w.register("k1", "h1"), w.register("k2", "h2")}
	var on [2][]string
	for i, room := range []string{"zoo", "apps", "web"} {
		if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: room, By: "test",
			Roles: []*vigilv1.RoleSpec{{Name: "r", Runner: "sh", Replicas: 4}}}); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 4; n++ {
			name := room + "/r"
			if n > 1 {
				name += fmt.Sprintf(".%d", n)
			}
			on := noun.HostID(hosts[(i+n)%2])
			a := w.order(t, name, on)
			w.live(t, on, a.GetId(), a.GetIncarnationRaw()) // a host starts a few at once
		}
	}
	list := func(r *vigilv1.ListAgentsRequest) *vigilv1.ListAgentsResponse {
		t.Helper()
		resp, err := w.fleet(0).ListAgents(within(t), r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var all []string
	for _, a := range list(&vigilv1.ListAgentsRequest{}).GetAgents() {
		all = append(all, a.GetName())
		for i := range hosts {
			if a.GetHost() == fmt.Sprintf("h%d", i+1) {
				on[i] = append(on[i], a.GetName())
			}
		}
	}
	if len(all) != 12 || len(on[0]) != 6 || len(on[1]) != 6 {
		t.Fatalf("%d agents, on hosts: %v", len(all), on)
	}
	for i := range hosts {
		name := fmt.Sprintf("h%d", i+1)
		for limit := uint32(1); limit <= 7; limit++ {
			var got []string
			for after, pages := "", 0; ; pages++ {
				if pages > 12 {
					t.Fatalf("host %s in pages of %d does not end", name, limit)
				}
				page := list(&vigilv1.ListAgentsRequest{Host: name, Limit: limit, After: after})
				for _, a := range page.GetAgents() {
					got = append(got, a.GetName())
				}
				if after = page.GetNext(); !page.GetMore() {
					break
				}
			}
			if !slices.Equal(got, on[i]) {
				t.Errorf("host %s in pages of %d: %v, want %v", name, limit, got, on[i])
			}
		}
		for at, after := range all { // also behind agents of the other host
			var want, got []string
			for _, n := range all[at+1:] {
				if slices.Contains(on[i], n) {
					want = append(want, n)
				}
			}
			for _, a := range list(&vigilv1.ListAgentsRequest{Host: name, After: after}).GetAgents() {
				got = append(got, a.GetName())
			}
			if !slices.Equal(got, want) {
				t.Errorf("host %s behind %s: %v, want %v", name, after, got, want)
			}
		}
		var got []string
		for _, a := range list(&vigilv1.ListAgentsRequest{Host: name, Room: "web", After: "apps/gone"}).GetAgents() {
			got = append(got, a.GetName())
		}
		if len(got) != 2 {
			t.Errorf("host %s of one room behind an agent that is gone: %v", name, got)
		}
	}
}
