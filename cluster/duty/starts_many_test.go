package duty

import (
	"fmt"
	"testing"
	"testing/synctest"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// crowd registers hosts with the runner "sh", and declares roles of which no host has the label,
// and rooms whose roles need a runner that no host has, half of each.
func crowd(w *world, hosts, roles int) {
	for i := range hosts {
		w.host(fmt.Sprintf("h%d", i), func(c *fsm.RegisterHost) {
			c.Labels = []noun.KV{{Key: "os", Value: "linux"}, {Key: "rack", Value: fmt.Sprint(i % 10)},
				{Key: "row", Value: fmt.Sprint(i % 10)}}
		})
	}
	for n := 0; n < roles; n += 250 {
		var specs []noun.RoleSpec
		for i := range 250 {
			spec := noun.RoleSpec{Name: fmt.Sprintf("x%d", i),
				Labels: []noun.KV{{Key: "gpu", Value: "yes"}, {Key: "os", Value: "linux"}}}
			switch i % 3 {
			case 0:
				spec.Labels, spec.Runner = nil, "other"
			case 1: // each of its labels many hosts have, both none has
				spec.Labels = []noun.KV{{Key: "rack", Value: "1"}, {Key: "row", Value: "2"}}
			}
			specs = append(specs, spec)
		}
		w.must(room(fmt.Sprintf("r%d", n), specs...))
	}
}

// F3: agents that fit no host cost the planner a bounded number of visits a look, and little
// once that is known; who fits one is not kept waiting behind them for more than a round.
func TestF03LooksOfThePlannerAreBounded(t *testing.T) {
	const hosts, roles = 300, 2000
	w := newWorld(t)
	crowd(w, hosts, roles)
	w.must(room("last", noun.RoleSpec{Name: "fits", Replicas: 3}))
	var p planner
	round := func() (orders []fsm.Command, looks, visits int) {
		for {
			plan := p.starts(&w.s.View, looking(512))
			orders, looks, visits = append(orders, plan...), looks+1, visits+p.visits
			w.carry(plan)
			if most := visitsPerLook + 5*hosts; p.visits > most {
				t.Fatalf("one look visited %d, at most %d are allowed", p.visits, most)
			}
			if !p.cut {
				return orders, looks, visits
			}
		}
	}
	orders, looks, visits := round()
	if len(orders) != 3 || looks < 2 {
		t.Fatalf("planned %d starts in %d looks and %d visits, want 3 in several", len(orders), looks, visits)
	}
	orders, looks, visits = round() // it is known now that they fit nowhere
	if most := roles + 3*hosts; len(orders) != 0 || looks != 1 || visits > most {
		t.Fatalf("planned %d starts in %d looks and %d visits, want none in one with %d", len(orders), looks,
			visits, most)
	}
	w.host("new", func(c *fsm.RegisterHost) {
		c.Labels, c.Capacity = []noun.KV{{Key: "os", Value: "linux"}, {Key: "gpu", Value: "yes"}}, 1000
	})
	if orders, _, _ = round(); len(orders) != 4 { // as many as one host may be starting
		t.Fatalf("planned %d starts on a host that some of them fit", len(orders))
	}
}

// F3: full hosts and a giant role cost no more than that; every role gets its turn.
func TestF03RolesTakeTurns(t *testing.T) {
	const hosts = 500
	w := newWorld(t)
	w.set("starts_per_second", "100000", "starts_per_host", "1000")
	for i := range hosts {
		w.host(fmt.Sprintf("h%d", i), func(c *fsm.RegisterHost) { c.Capacity = 20 })
	}
	w.must(room("a", noun.RoleSpec{Name: "giant", Replicas: 9000}))
	w.must(room("b", noun.RoleSpec{Name: "small", Replicas: 2}))
	var p planner
	started := 0
	for look := 0; started < 9002; look++ {
		orders := p.starts(&w.s.View, looking(ordersPerLook))
		if most := ordersPerLook*2 + 5*hosts; p.visits > most {
			t.Fatalf("look %d visited %d for %d starts, at most %d are allowed", look, p.visits, len(orders), most)
		}
		w.carry(orders)
		started += len(orders)
		if look == 1 && w.s.AgentByName("b/small.2").Proc != noun.ProcOrdered {
			t.Fatal("the small role waits for the giant one")
		}
		if len(orders) == 0 {
			t.Fatalf("%d of 9002 are started", started)
		}
	}
	for h := range w.s.Hosts() {
		if n := w.s.HostLoad(h.ID).Starting; n < 18 || n > 19 {
			t.Fatalf("host %s starts %d of 9002 agents on 500", h.Name, n)
		}
	}
	w.must(room("c", noun.RoleSpec{Name: "more", Replicas: 5000}))
	for range 5 {
		w.carry(p.starts(&w.s.View, looking(5000)))
	}
	w.must(room("d", noun.RoleSpec{Name: "late", Replicas: 5000}))
	if orders := p.starts(&w.s.View, looking(5000)); len(orders) != 0 || p.visits > 3*hosts {
		t.Fatalf("all hosts are full: planned %d with %d visits", len(orders), p.visits)
	}
}

// F3: a look that was cut goes on by itself, without anybody waking the loop.
func TestF03TheLoopGoesOnWithARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		crowd(r.w, 300, 2000)
		r.w.must(room("last", noun.RoleSpec{Name: "fits"}))
		inStint(t, r, Config{}, func(*Duty) {
			synctest.Wait()
			if !r.ordered("last/fits") {
				t.Fatal("the last role was not looked at in the first round")
			}
		})
	})
}
