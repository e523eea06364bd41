package duty

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func TestStarts(t *testing.T) {
	capacity := func(n uint32) func(*fsm.RegisterHost) {
		return func(c *fsm.RegisterHost) { c.Capacity = n }
	}
	tests := []struct {
		name string
		set  func(w *world)
		want []string
	}{
		{"nothing is wanted", func(w *world) { w.host("h1") }, nil},
		{"no host has registered", func(w *world) { w.must(room("r", noun.RoleSpec{Name: "x"})) }, nil},
		{"one role is spread over hosts", func(w *world) {
			w.host("h1")
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 4}))
		}, []string{"start r/x#1 on h1", "start r/x.2#1 on h2", "start r/x.3#1 on h1", "start r/x.4#1 on h2"}},
		{"agents that already run count for the spread", func(w *world) {
			h1 := w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x"}))
			w.carry(starts(&w.s.View, 10))
			w.accept(h1)
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 2}))
		}, []string{"start r/x.2#1 on h2"}},
		{"the host with the smaller share of its capacity in use takes another role", func(w *world) {
			h1 := w.host("h1", capacity(2))
			w.must(room("r", noun.RoleSpec{Name: "x"}))
			w.carry(starts(&w.s.View, 10))
			w.accept(h1)
			w.host("h2", capacity(100))
			w.must(room("s", noun.RoleSpec{Name: "y"}))
		}, []string{"start s/y#1 on h2"}},
		{"a host without the runner is passed over", func(w *world) {
			w.host("h1", func(c *fsm.RegisterHost) { c.Runners = []string{"other"} })
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 2}))
		}, []string{"start r/x#1 on h2", "start r/x.2#1 on h2"}},
		{"a host without the labels is passed over", func(w *world) {
			w.host("h1")
			w.host("h2", func(c *fsm.RegisterHost) { c.Labels = []noun.KV{{Key: "gpu", Value: "yes"}} })
			w.must(room("r", noun.RoleSpec{Name: "x", Labels: []noun.KV{{Key: "gpu", Value: "yes"}}}))
		}, []string{"start r/x#1 on h2"}},
		{"L9: a drained host is passed over", func(w *world) {
			w.must(fsm.DrainHost{Host: w.host("h1"), By: "ann"})
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 2}))
		}, []string{"start r/x#1 on h2", "start r/x.2#1 on h2"}},
		{"I98: a host without memory is passed over", func(w *world) {
			w.must(fsm.ReportPressure{Host: w.host("h1"), Boot: "boot", Reason: "short of memory"})
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x"}))
		}, []string{"start r/x#1 on h2"}},
		{"L11: a host that flaps is passed over", func(w *world) {
			h1 := w.host("h1")
			for range 3 {
				w.must(fsm.SuspectHost{Host: h1, Suspect: true})
				w.must(fsm.SuspectHost{Host: h1})
			}
			w.host("h2")
			w.must(room("r", noun.RoleSpec{Name: "x"}))
		}, []string{"start r/x#1 on h2"}},
		{"L9: the agents of a drained host go elsewhere", func(w *world) {
			h1 := w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x"}))
			w.carry(starts(&w.s.View, 10))
			w.accept(h1)
			w.host("h2")
			w.must(fsm.DrainHost{Host: h1, By: "ann"})
			w.exit("r/x", noun.ExitNone)
		}, []string{"start r/x#2 on h2"}},
		{"a suspect host is passed over", func(w *world) {
			h1 := w.host("h1")
			w.must(fsm.SuspectHost{Host: h1, Suspect: true})
			w.must(room("r", noun.RoleSpec{Name: "x"}))
		}, nil},
		{"L11: capacity holds within a plan", func(w *world) {
			w.host("h1", capacity(2))
			w.host("h2", capacity(1))
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 4}))
		}, []string{"start r/x#1 on h1", "start r/x.2#1 on h2", "start r/x.3#1 on h1"}},
		{"L11: starts per host hold within a plan", func(w *world) {
			w.set("starts_per_host", "2")
			w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 5}))
		}, []string{"start r/x#1 on h1", "start r/x.2#1 on h1"}},
		{"L11: the start rate holds within a plan", func(w *world) {
			w.set("starts_per_second", "3")
			w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 5}))
		}, []string{"start r/x#1 on h1", "start r/x.2#1 on h1", "start r/x.3#1 on h1"}},
		{"L4: an agent with an open order is not ordered again", func(w *world) {
			w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 2}))
			w.carry(starts(&w.s.View, 1))
		}, []string{"start r/x.2#1 on h1"}},
		{"L9: a stopped agent is not started", func(w *world) {
			w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x"}, noun.RoleSpec{Name: "y"}))
			w.must(fsm.SetAgent{Agent: "r/x", Stop: true})
		}, []string{"start r/y#1 on h1"}},
		{"on demand: started when a task waits", func(w *world) {
			w.host("h1")
			w.must(room("r", noun.RoleSpec{Name: "x", Start: noun.StartOnDemand},
				noun.RoleSpec{Name: "y", Start: noun.StartOnDemand}))
			w.must(fsm.CreateTask{Room: "r", Role: "y", Title: "t"})
		}, []string{"start r/y#1 on h1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.set(w)
			plan := starts(&w.s.View, 100)
			if got := w.show(plan); !slices.Equal(got, tt.want) {
				t.Fatalf("planned %q, want %q", got, tt.want)
			}
			w.carry(plan) // one plan fits into itself: nothing of it is refused
		})
	}
}

func TestStartsGoBackHome(t *testing.T) {
	w := newWorld(t)
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x"}, noun.RoleSpec{Name: "y"}))
	w.carry(starts(&w.s.View, 10))
	w.accept(h1)
	w.host("h2") // empty, so the better place but for what the agents left on h1
	w.exit("r/x", noun.ExitNone)
	w.pass(20 * time.Second)
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#2 on h1"}; !slices.Equal(got, want) {
		t.Fatalf("after a crash planned %q, want %q", got, want)
	}
	w.carry(starts(&w.s.View, 10))
	a := w.s.AgentByName("r/x")
	w.must(fsm.AcceptOrder{Host: h1, Boot: "boot", Agent: a.ID, Inc: a.Inc})
	w.exit("r/x", noun.ExitStartFailed)
	w.pass(20 * time.Second)
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#3 on h2"}; !slices.Equal(got, want) {
		t.Fatalf("after a failed start planned %q, want %q", got, want)
	}
}

// A start for which its host was too slow costs the agent nothing, and is tried on another host all the same.
func TestStartsLeaveASlowHost(t *testing.T) {
	w := newWorld(t)
	w.must(fsm.RaiseLevel{Level: core.LevelRetry})
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x"}, noun.RoleSpec{Name: "y"}))
	w.carry(starts(&w.s.View, 10))
	w.host("h2")
	a := w.s.AgentByName("r/x")
	w.must(fsm.AcceptOrder{Host: h1, Boot: "boot", Agent: a.ID, Inc: a.Inc})
	w.exit("r/x", noun.ExitOrdered)
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#2 on h2"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

// An agent that crashes again and again is tried on another host, the trial after its breaker too: what it dies
// of may be its host's.
func TestStartsLeaveTheHostOfCrashes(t *testing.T) {
	w := newWorld(t)
	hosts := map[string]noun.HostID{"h1": w.host("h1")}
	w.must(room("r", noun.RoleSpec{Name: "x"}))
	crash := func(want string) {
		t.Helper()
		plan := starts(&w.s.View, 10)
		if got := w.show(plan); !slices.Equal(got, []string{want}) {
			t.Fatalf("planned %q, want %q", got, want)
		}
		w.carry(plan)
		a := w.s.AgentByName("r/x")
		w.accept(a.Host)
		w.exit("r/x", noun.ExitNone)
		for until := max(a.NotBefore, w.s.Clock()+1); w.s.Clock() < until; {
			for _, h := range hosts {
				w.beat(h)
			}
			w.pass(min(20*time.Second, until.Sub(w.s.Clock())))
		}
	}
	crash("start r/x#1 on h1")
	hosts["h2"] = w.host("h2")
	crash("start r/x#2 on h1") // after one failure where its files are
	for n, at := 3, "h2"; ; n++ {
		parked := w.s.AgentByName("r/x").Parked
		crash(fmt.Sprintf("start r/x#%d on %s", n, at))
		if parked {
			break // that was the trial
		}
		at = map[string]string{"h1": "h2", "h2": "h1"}[at]
	}
}

// An agent whose host was lost goes to another one, even if that one is back; and
// back there when there is no other.
func TestStartsAvoidTheHostThatWasLost(t *testing.T) {
	w := newWorld(t)
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x"}))
	w.carry(starts(&w.s.View, 10))
	w.accept(h1)
	w.must(fsm.ConfirmDead{Host: h1, Force: true})
	w.host("h1")
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#2 on h1"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	h2 := w.host("h2", func(c *fsm.RegisterHost) { c.Capacity = 2 })
	w.must(room("s", noun.RoleSpec{Name: "y", Labels: []noun.KV{}}))
	w.carry([]fsm.Command{fsm.OrderStart{Agent: w.s.AgentByName("s/y").ID, Inc: 1, Host: h2}}) // the fuller one
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#2 on h2"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

// L11, incident I96: the agents of a lost host are spread over those that are left.
func TestI96LostAgentsAreSpread(t *testing.T) {
	w := newWorld(t)
	w.set("brake_agents", "0")
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 12}))
	for range 3 {
		w.carry(starts(&w.s.View, 100))
		w.accept(h1)
		w.pass(time.Second)
	}
	w.must(fsm.ConfirmDead{Host: h1, Force: true})
	w.host("h2")
	w.host("h3")
	plan := starts(&w.s.View, 100)
	on := map[noun.HostID]int{}
	for _, c := range plan {
		on[c.(fsm.OrderStart).Host]++
	}
	if len(plan) != 8 || on[2] != 4 || on[3] != 4 { // starts_per_host
		t.Fatalf("planned %q", w.show(plan))
	}
	w.carry(plan)
}

// L11: of agents that the brake paces as many are planned as it lets through; the
// others are started as ever.
func TestStartsFollowTheBrake(t *testing.T) {
	w := newWorld(t)
	w.set("brake_agents", "2", "starts_per_host", "100")
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 15, TTL: 20 * time.Second}))
	w.carry(starts(&w.s.View, 100))
	w.accept(h1)
	w.pass(20 * time.Second)
	if w.s.Brake().Set == 0 {
		t.Fatal("no brake")
	}
	h2 := w.host("h2")
	w.must(room("s", noun.RoleSpec{Name: "y", Labels: []noun.KV{}}))
	w.must(fsm.DrainHost{Host: h1, By: "ann"})
	if got, want := w.show(starts(&w.s.View, 100)), []string{"start s/y#1 on h2"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
	w.carry(starts(&w.s.View, 100))
	w.accept(h2)
	for w.s.Clock() < w.s.Brake().Hold {
		w.beat(h2)
		w.pass(min(time.Second, w.s.Brake().Hold.Sub(w.s.Clock())))
	}
	started := 0
	for range 40 { // ten seconds
		w.beat(h2)
		plan := starts(&w.s.View, 100)
		if len(plan) > 1 {
			t.Fatalf("planned %q at once", w.show(plan))
		}
		for _, c := range plan {
			if w.apply(fsm.Request{Cmd: c}).Outcomes[0].Code == noun.OK {
				started++
			}
		}
		w.pass(250 * time.Millisecond)
	}
	if started < 10 || started > 11 {
		t.Fatalf("%d starts in the first 10 s", started)
	}
}

func TestStartsUseFailedHostAsLastResort(t *testing.T) {
	w := newWorld(t)
	h1 := w.host("h1")
	w.must(room("r", noun.RoleSpec{Name: "x"}))
	w.carry(starts(&w.s.View, 10))
	a := w.s.AgentByName("r/x")
	w.must(fsm.AcceptOrder{Host: h1, Boot: "boot", Agent: a.ID, Inc: a.Inc})
	w.exit("r/x", noun.ExitStartFailed)
	w.pass(20 * time.Second)
	if got, want := w.show(starts(&w.s.View, 10)), []string{"start r/x#2 on h1"}; !slices.Equal(got, want) {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

func TestStartsArePure(t *testing.T) {
	w := newWorld(t)
	w.host("h1")
	w.host("h2")
	w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 7}, noun.RoleSpec{Name: "y", Replicas: 3}))
	before := w.s.Copy().Hash()
	first := w.show(starts(&w.s.View, 100))
	for range 20 {
		if again := w.show(starts(&w.s.View, 100)); !slices.Equal(first, again) {
			t.Fatalf("the same state gave two plans:\n%q\n%q", first, again)
		}
	}
	if w.s.Copy().Hash() != before {
		t.Fatal("planning changed the state")
	}
}

func BenchmarkStarts(b *testing.B) {
	s := fsm.New()
	index := uint64(0)
	do := func(c fsm.Command) {
		index++
		if out := s.Apply(&fsm.Entry{Index: index, Term: 1, Stint: 1,
			Requests: []fsm.Request{{Cmd: c}}}).Outcomes[0]; out.Code != noun.OK {
			b.Fatal(out.Detail)
		}
	}
	do(fsm.PutSettings{Values: []noun.KV{{Key: "starts_per_second", Value: "100000"}}})
	for i := range 1000 {
		do(fsm.RegisterHost{Key: string(rune('a'+i%26)) + time.Duration(i).String(), Name: "h", Boot: "b",
			Runners: []string{"sh"}})
	}
	do(room("r", noun.RoleSpec{Name: "x", Replicas: 10_000}))
	b.ReportAllocs()
	for b.Loop() {
		if n := len(starts(&s.View, ordersPerLook)); n != ordersPerLook {
			b.Fatalf("planned %d", n)
		}
	}
}
