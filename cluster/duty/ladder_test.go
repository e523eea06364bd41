package duty

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// stuckFleet are agents of room r on one host, each with a task that it started and with
// which it never gets on.
type stuckFleet struct {
	*replica
	host  noun.HostID
	typed []string // what was done at terminals: "nudge r/x#1"
	deny  error    // of every terminal
	typMu sync.Mutex
}

func newStuckFleet(t *testing.T, agents int) *stuckFleet {
	f := &stuckFleet{replica: newReplica(t)}
	f.host = f.w.host("h1", func(c *fsm.RegisterHost) { c.Capacity = 1000 })
	f.w.set("starts_per_second", "1000", "starts_per_host", "1000", "host_ttl", "24h", "watchdog_enabled", "false")
	f.w.must(room("r", noun.RoleSpec{Name: "x", Replicas: uint32(agents), Ladder: noun.LadderRestart}))
	for range agents {
		f.w.must(fsm.CreateTask{Room: "r", Role: "x", Title: "secret"})
	}
	return f
}

// serve plays the host until ctx ends.
func (f *stuckFleet) serve(ctx context.Context) {
	for pause(ctx, 7*time.Second) {
		f.wake(f.tick())
	}
}

// tick does what is ordered: lives end, and new ones join and start a task; and it beats for
// all. Nobody ever reports progress.
func (f *stuckFleet) tick() noun.Effects {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w.clock = noun.Time(time.Since(f.began))
	for _, id := range f.w.s.HostOrders(f.host) {
		a := f.w.s.Agent(id)
		if a.Order == noun.StopOrder {
			f.w.must(fsm.ReportExit{Host: f.host, Agent: id, Inc: a.Inc, Signal: "killed"})
			continue
		}
		me := fsm.Speaker{Agent: a.Name, Inc: a.Inc}
		if f.w.apply(fsm.Request{Cmd: fsm.AcceptOrder{Host: f.host, Boot: "boot", Agent: id, Inc: a.Inc}}).
			Outcomes[0].Code != noun.OK {
			continue // the order was withdrawn, since this host is slow
		}
		f.w.must(fsm.ReportStarted{Host: f.host, Agent: id, Inc: a.Inc, PID: 1})
		f.w.must(fsm.Join{Speaker: me})
		if out := f.w.apply(fsm.Request{Cmd: fsm.Claim{Speaker: me}}).Outcomes[0]; out.Code == noun.OK {
			f.w.must(fsm.StartTask{Work: fsm.Work{Speaker: me, Task: out.Task, Attempt: out.Attempt}})
		}
	}
	var ids []noun.AgentID
	var incs []noun.Incarnation
	var kinds []uint8
	for a := range f.w.s.Agents("") {
		if a.Proc.Fenced() {
			ids, incs, kinds = append(ids, a.ID), append(incs, a.Inc),
				append(kinds, fsm.BeatFence|fsm.BeatVouch|fsm.BeatLease)
		}
	}
	f.w.index++
	f.w.s.Apply(&fsm.Entry{Index: f.w.index, Term: 1, Stint: 1, Stamp: f.w.clock,
		Beats: []fsm.HostBeats{{Host: f.host, Boot: "boot", Packed: fsm.PackBeats(nil, ids, incs, kinds)}}})
	return noun.Effects{Plan: true}
}

// done gives what was typed until now.
func (f *stuckFleet) done() []string {
	f.typMu.Lock()
	defer f.typMu.Unlock()
	return slices.Clone(f.typed)
}

// prod is the terminals of the fleet.
func (f *stuckFleet) prod(_ context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error {
	f.mu.Lock()
	if l := f.w.s.AgentByName(agent).Notes().Ladder; l == nil || l.Rung != rung || l.Inc != inc {
		f.w.t.Errorf("%s is done to %s before its record is committed", rung, agent)
	}
	f.mu.Unlock()
	f.typMu.Lock()
	defer f.typMu.Unlock()
	f.typed = append(f.typed, fmt.Sprintf("%s %s#%s", rung, agent, inc))
	return f.deny
}

// stint runs fn while a duty leads the fleet and its host serves.
func (f *stuckFleet) stint(t *testing.T, fn func(d *Duty)) {
	t.Helper()
	f.stintWith(t, f.prod, fn)
}

// stintWith is stint with other terminals.
func (f *stuckFleet) stintWith(t *testing.T,
	prod func(context.Context, string, noun.Incarnation, noun.Rung) error, fn func(d *Duty)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var host sync.WaitGroup
	host.Go(func() { f.serve(ctx) })
	inStint(t, f.replica, Config{Prod: prod}, func(d *Duty) {
		fn(d)
		cancel()
		host.Wait()
	})
}

// state tells something of the fleet's state.
func (f *stuckFleet) state(tell func(*fsm.View)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tell(&f.w.s.View)
}

// rungs are the events of the ladder in order: "10m30s agent.nudged".
func (f *stuckFleet) rungs() (list []string, at []time.Duration) {
	f.state(func(s *fsm.View) {
		for e := range s.Events(0) {
			switch e.Kind {
			case "agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck", "agent.needs_human":
				list, at = append(list, e.Kind), append(at, time.Duration(e.At))
			}
		}
	})
	return list, at
}

// Incident I41: the beats of a hung agent stay fresh. It is seen as stalled half an hour
// after its last progress, nudged, woken, interrupted and restarted once, and the ledger of
// its lives has exactly one start more.
func TestI41HungWithFreshBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStuckFleet(t, 1)
		f.stint(t, func(d *Duty) {
			f.after(time.Minute)
			var began noun.Time
			f.state(func(s *fsm.View) { began = s.AgentByName("r/x").TaskSince })
			f.after(43 * time.Minute)
			list, at := f.rungs()
			if want := []string{"agent.nudged", "agent.woken", "agent.interrupted",
				"agent.restarted_stuck"}; !slices.Equal(list, want) {
				t.Fatalf("%v at %v, want %v", list, at, want)
			}
			for i, want := range []time.Duration{30 * time.Minute, 32 * time.Minute, 37 * time.Minute,
				38 * time.Minute} {
				if got := at[i] - time.Duration(began); got < want || got > want+time.Duration(i+1)*45*time.Second {
					t.Errorf("%s after %s of silence, want %s and a look or two", list[i], got, want)
				}
			}
			f.state(func(s *fsm.View) {
				if a := s.AgentByName("r/x"); a.Inc.N() != 2 || a.Task == 0 || a.Failures != 1 {
					t.Errorf("life %s with task %d and %d failures, want life 2 at work, charged once: %+v",
						a.Inc, a.Task, a.Failures, s.Why(a.ID))
				}
			})
			if want := []string{"nudge r/x#1", "wake r/x#1", "interrupt r/x#1"}; !slices.Equal(f.typed, want) {
				t.Errorf("typed %v, want %v", f.typed, want)
			}
			if got := d.Figures().Of("ladder"); got.Accepted("restart") != 1 || got.Accepted("escalate") != 0 ||
				got.Errors+typed(d, 0).Failed != 0 || typed(d, 0).Done != 3 {
				t.Errorf("%+v", got)
			}
		})
	})
}

// Changes of the leader in the middle, also sooner than a look is due: each goes on with the
// rung that the state names, and nothing is said or typed twice.
func TestLadderOutlivesLeaders(t *testing.T) {
	for _, span := range []time.Duration{100 * time.Second, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := newStuckFleet(t, 3)
			for range 2500 * time.Second / span {
				f.stint(t, func(*Duty) { f.after(span) })
			}
			list, _ := f.rungs()
			count := map[string]int{}
			for _, kind := range list {
				count[kind]++
			}
			for _, kind := range []string{"agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck"} {
				if count[kind] != 3 {
					t.Errorf("leaders for %s: %d events %s of 3 agents", span, count[kind], kind)
				}
			}
			typed := f.done()
			slices.Sort(typed)
			if n := len(slices.Compact(slices.Clone(typed))); n != len(typed) || n != 9 {
				t.Errorf("leaders for %s: typed %v, want 9 different things", span, typed)
			}
		})
	}
}

// Incident I109: whatever is seen as stuck is acted upon, or a human is told, within the
// bound that the settings give; also where no restart can be carried out.
func TestI109DetectedAndActed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStuckFleet(t, 20)
		f.w.must(room("s", noun.RoleSpec{Name: "x", Ladder: noun.LadderEscalate}))
		f.w.must(fsm.CreateTask{Room: "s", Role: "x", Title: "t"})
		f.stint(t, func(d *Duty) {
			f.after(time.Minute + 30*time.Minute + 15*time.Minute)
			acted := map[string]bool{}
			f.state(func(s *fsm.View) {
				for e := range s.Events(0) {
					if e.Kind == "agent.restarted_stuck" || e.Kind == "agent.needs_human" {
						acted[e.Agent] = true
					}
				}
			})
			if len(acted) != 21 || !acted["s/x"] {
				t.Errorf("%d of 21 hung agents were restarted or told of", len(acted))
			}
			got := d.Figures().Of("ladder")
			if got.Accepted("restart") != 20 || got.Accepted("escalate") != 1 || got.Accepted("nudge") != 21 {
				t.Errorf("%v", got)
			}
		})
	})
}

// A terminal that fails costs no rung and no time, and is an event.
func TestLadderWithBrokenTerminals(t *testing.T) {
	took := func(t *testing.T, f *stuckFleet) (at []time.Duration) {
		f.stint(t, func(*Duty) { f.after(44 * time.Minute) })
		_, at = f.rungs()
		return at
	}
	synctest.Test(t, func(t *testing.T) {
		good := took(t, newStuckFleet(t, 2))
		bad := newStuckFleet(t, 2)
		bad.deny = errors.New("the agent has no tmux session")
		if at := took(t, bad); len(good) != 8 || !slices.Equal(at, good) {
			t.Errorf("rungs at %v with broken terminals, at %v with good ones", at, good)
		}
		if n := len(bad.happened("agent.rung_failed")); n != 6 {
			t.Errorf("%d events of rungs that reached nobody, want 6", n)
		}
	})
}

// L11: a wave of hung agents is climbed for at the budget's pace, the rest waits.
func TestLadderBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStuckFleet(t, 60)
		f.stint(t, func(d *Duty) {
			f.after(31 * time.Minute)
			list, _ := f.rungs()
			last := len(list)
			for range 120 {
				f.after(30 * time.Second)
				list, _ := f.rungs()
				if len(list)-last > 20 { // a minute's budget at most
					t.Fatalf("%d rungs within half a minute", len(list)-last)
				}
				last = len(list)
			}
			if got := d.Figures().Of("ladder"); got.Accepted("restart") < 60 {
				t.Errorf("%v after an hour", got)
			}
		})
	})
}

// Switched off nothing is done; what cannot be written is an error.
func TestLadderOffAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStuckFleet(t, 1)
		f.w.set("ladder_enabled", "false")
		f.stint(t, func(d *Duty) {
			f.after(time.Hour)
			if list, _ := f.rungs(); len(list) != 0 {
				t.Errorf("switched off: %v", list)
			}
			f.do(fsm.PutSettings{Values: []noun.KV{{Key: "ladder_enabled", Value: "true"}}})
			f.mu.Lock()
			f.fail = noun.ErrUnknownOutcome
			f.mu.Unlock()
			f.after(2 * time.Minute)
			if got := d.Figures().Of("ladder"); got.Errors == 0 {
				t.Errorf("nothing can be written: %+v", got)
			}
		})
	})
}
