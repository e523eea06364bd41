package duty

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// typed is what one duty has done at terminals: the ladder or that of overseers.
func typed(d *Duty, which int) Effect { return d.Figures().Effects[which] }

// overseerFleet is one overseer that beats and, after a first patrol, does nothing more.
type overseerFleet struct{ *stuckFleet }

func newOverseerFleet(t *testing.T) *overseerFleet {
	f := &overseerFleet{stuckFleet: newStuckFleet(t, 1)}
	f.w.must(fsm.DeleteRoom{Room: "r", By: "test"})
	f.w.must(room("ops", noun.RoleSpec{Name: "deacon", Overseer: []noun.OverseerSpec{{}}}))
	return f
}

func (f *overseerFleet) prod(_ context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error {
	f.state(func(s *fsm.View) {
		if c := s.AgentByName(agent).Notes().Chain; rung == noun.RungNudge && c.Prod != 0 {
			f.w.t.Errorf("%s is done to %s before its record is committed", rung, agent)
		}
	})
	f.typMu.Lock()
	defer f.typMu.Unlock()
	f.typed = append(f.typed, fmt.Sprintf("%s %s#%s", rung, agent, inc))
	return f.deny
}

// stint is that of the fleet, with the terminal of the overseer.
func (f *overseerFleet) stint(t *testing.T, fn func(d *Duty)) {
	t.Helper()
	f.stintWith(t, f.prod, fn)
}

func (f *overseerFleet) patrol() {
	var me fsm.Speaker
	f.state(func(s *fsm.View) { me = fsm.Speaker{Agent: "ops/deacon", Inc: s.AgentByName("ops/deacon").Inc} })
	f.do(fsm.ReportPatrol{Speaker: me, Action: "scan"})
}

// A hung overseer is woken once, in its terminal too, and then it is the ladder's,
// which types what is its own and nothing of what was typed before.
func TestWokenOverseerIsTypedToOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newOverseerFleet(t)
		f.stint(t, func(d *Duty) {
			f.after(time.Minute)
			for range 10 {
				f.patrol()
				f.after(4 * time.Minute)
			}
			if len(f.done()) != 0 {
				t.Errorf("while it patrols %v is typed", f.done())
			}
			f.after(11*time.Minute + 30*time.Second)
			if want := []string{"nudge ops/deacon#1"}; !slices.Equal(f.done(), want) {
				t.Fatalf("typed %v, want %v", f.done(), want)
			}
			f.after(6 * time.Minute)
			if want := []string{"nudge ops/deacon#1", "interrupt ops/deacon#1"}; !slices.Equal(f.done(), want) {
				t.Fatalf("typed %v, want %v", f.done(), want)
			}
			f.after(3 * time.Minute)
			f.state(func(s *fsm.View) {
				if a := s.AgentByName("ops/deacon"); a.Inc.N() != 2 || a.Failures != 1 {
					t.Errorf("life %s with %d failures, want life 2, charged once: %+v", a.Inc, a.Failures, s.Why(a.ID))
				}
			})
			if got := typed(d, 1); got.Done != 1 || got.Failed != 0 {
				t.Errorf("%+v", got)
			}
		})
	})
}

// A leader that takes over types what was decided before, when nobody has, and repeats
// nothing; what is decided while nobody leads for long is left to the mail.
func TestDecisionIsTypedOnceOverLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newOverseerFleet(t)
		f.deny = errors.New("it has no terminal")
		f.stint(t, func(*Duty) {
			f.after(time.Minute)
			f.patrol()
			f.after(14*time.Minute + 50*time.Second)
		})
		decide := func() {
			for range 20 {
				f.after(7 * time.Second)
				f.tick()
				prod := false
				f.state(func(s *fsm.View) { prod = s.AgentByName("ops/deacon").Notes().Chain.Prod != 0 })
				if prod {
					return
				}
			}
			t.Fatal("nothing was decided while nobody leads")
		}
		decide() // by the entries of whoever leads, without its duties
		f.stint(t, func(d *Duty) {
			f.after(10 * time.Second)
			if got := typed(d, 1); len(f.done()) != 1 || got.Done != 0 || got.Failed != 1 ||
				len(f.happened("agent.prod_failed")) != 1 {
				t.Errorf("typed %v, %+v, %d events", f.done(), got, len(f.happened("agent.prod_failed")))
			}
		})
		f.stint(t, func(d *Duty) {
			f.after(10 * time.Second)
			if len(f.done()) != 1 {
				t.Errorf("typed again: %v", f.done())
			}
		})
		f.typed = nil
		f.patrol()
		f.do(fsm.PutSettings{Values: []noun.KV{{Key: "overseer_stale", Value: "1s"},
			{Key: "overseer_interval", Value: "10s"}, {Key: "ladder_cooldown", Value: "0s"}}})
		decide()
		for range 10 { // more than a minute
			f.after(7 * time.Second)
			f.tick()
		}
		f.stint(t, func(d *Duty) {
			f.after(5 * time.Second)
			if len(f.done()) != 0 {
				t.Errorf("what was decided over a minute ago is typed: %v", f.done())
			}
		})
	})
}
