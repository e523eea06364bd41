package duty

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// deafRoom declares a room with so many agents, started by hand, that let a task wait.
func deafRoom(t *testing.T, w *world, name string, agents int, ladder noun.LadderMode) {
	t.Helper()
	w.must(fsm.ApplyRoom{Room: name, By: "test", Roles: []noun.RoleSpec{
		{Name: "x", Replicas: uint32(agents), TTL: 24 * time.Hour, PendingLimit: time.Minute, Ladder: ladder}}})
	for w.s.Behind() { // it grows in steps
		w.apply()
	}
	w.must(fsm.CreateTask{Room: name, Role: "x", Title: "t"})
	for a := range w.s.Agents(name) {
		w.must(fsm.Join{Speaker: fsm.Speaker{Agent: a.Name}})
	}
}

// climbs is one plan of the ladder.
func climbs(w *world, from Place, most int) plan {
	return planClimbs(&w.s.View, look{from: from, visits: visitsPerLook, orders: most})
}

// allClimbs plans from the beginning until all were seen.
func allClimbs(t *testing.T, w *world, most int) (names []string) {
	t.Helper()
	var at Place
	for range 100 {
		p := climbs(w, at, most)
		for _, o := range p.orders {
			names = append(names, o.Name)
		}
		if at = p.next; at == (Place{}) {
			return names
		}
	}
	t.Fatal("a look never ends")
	return nil
}

// However many agents of other rooms come first, be they paused or spared by the ladder,
// deaf agents are found.
func TestF10DeafAgentsAreFoundBehindManyOthers(t *testing.T) {
	for _, paused := range []bool{true, false} {
		t.Run(fmt.Sprintf("paused %v", paused), func(t *testing.T) {
			w := newWorld(t)
			w.set("watchdog_enabled", "false")
			first := noun.LadderOff
			if paused {
				first = noun.LadderRestart
			}
			deafRoom(t, w, "a", visitsPerLook+100, first)
			deafRoom(t, w, "b", 1, noun.LadderRestart)
			if paused {
				w.must(fsm.SetPause{Scope: "a", Pause: true, By: "ann"})
			}
			w.pass(10 * time.Minute)
			if got := allClimbs(t, w, 10); len(got) != 1 || got[0] != "b/x" {
				t.Fatalf("the ladder would climb for %v, want b/x", got)
			}
			if p := climbs(w, Place{}, 10); paused && (len(p.orders) != 1 || p.next != Place{}) {
				t.Errorf("paused agents count: the first plan has %d steps and ends at %+v", len(p.orders), p.next)
			}
			if paused {
				w.must(fsm.SetPause{Scope: "a", By: "ann"})
				if got := allClimbs(t, w, 1000); len(got) != visitsPerLook+101 {
					t.Errorf("resumed, %d climb, want %d", len(got), visitsPerLook+101)
				}
			}
		})
	}
}

// A look that has used up its budget is gone on with: whoever comes last is not left out for
// as long as the first ones are stuck.
func TestF10TheNextLookGoesOnWhereTheBudgetEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.set("watchdog_enabled", "false", "ladder_per_pass", "2", "ladder_interval", "1m",
			"ladder_nudge", "1m", "ladder_wake", "1m", "ladder_interrupt", "1m", "ladder_restart", "1m",
			"ladder_cooldown", "1m")
		deafRoom(t, r.w, "a", 5, noun.LadderRestart)
		pass := func(span time.Duration) {
			time.Sleep(span)
			if err := r.Barrier(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		pass(10 * time.Minute)
		seen := map[string]bool{}
		inStint(t, r, Config{}, func(d *Duty) {
			for range 3 {
				pass(61 * time.Second)
			}
			if f := d.Figures().Of("ladder"); f.Passes != 3 || f.Accepted("nudge") != 5 {
				t.Errorf("%+v", f)
			}
		})
		for e := range r.w.s.Events(0) {
			if e.Kind == "agent.nudged" {
				seen[e.Agent] = true
			}
		}
		if len(seen) != 5 {
			t.Errorf("three looks of two rungs each nudged %v, want all five agents", seen)
		}
	})
}
