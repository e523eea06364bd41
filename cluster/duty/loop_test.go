package duty

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
)

// replica is a state behind a lock that applies what is submitted, with a clock
// that follows the simulated one.
type replica struct {
	mu     sync.Mutex
	w      *world
	began  time.Time
	fail   error
	wake   func(fsm.Effects)
	orders int
	plans  int
}

func newReplica(t *testing.T) *replica {
	return &replica{w: newWorld(t), began: time.Now(), wake: func(fsm.Effects) {}}
}

func (r *replica) Read(fn func(*fsm.State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans++
	fn(r.w.s)
}

func (r *replica) SubmitAll(_ context.Context, reqs []fsm.Request, outs []fsm.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	for _, q := range reqs {
		if !q.Planned {
			return errors.New("not marked as planned")
		}
	}
	r.w.clock = fsm.Time(time.Since(r.began))
	res := r.w.apply(reqs...)
	copy(outs, res.Outcomes)
	r.orders += len(reqs)
	r.wake(res.Effects)
	return nil
}

// do applies a command as if a client had sent it.
func (r *replica) do(c fsm.Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w.clock = fsm.Time(time.Since(r.began))
	r.wake(r.w.apply(fsm.Request{Cmd: c}).Effects)
}

func (r *replica) ordered(agent string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.s.AgentByName(agent).Proc == fsm.ProcOrdered
}

func (r *replica) open() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.w.s.Agents("") {
		if a.Proc == fsm.ProcOrdered {
			n++
		}
	}
	return n
}

// inStint runs fn while a duty runs on r.
func inStint(t *testing.T, r *replica, cfg Config, fn func(d *Duty)) {
	t.Helper()
	cfg.Replica = r
	d, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.wake = d.Wake
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	synctest.Wait()
	fn(d)
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("Run: %v", err)
	}
}

func TestLoopOrdersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		inStint(t, r, Config{}, func(d *Duty) {
			r.do(room("r", fsm.RoleSpec{Name: "x"}))
			before := time.Now()
			synctest.Wait()
			if !r.ordered("r/x") || time.Since(before) != 0 {
				t.Fatalf("no start was ordered at once")
			}
			if f := d.Figures(); f.Plans == 0 || f.Orders[0] != (OrderCount{"start", "accepted", 1}) {
				t.Fatalf("figures: %+v", f)
			}
		})
	})
}

func TestLoopFinishesWhatTheStintBeforeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		r.w.must(room("r", fsm.RoleSpec{Name: "x"}))
		inStint(t, r, Config{}, func(*Duty) {
			if !r.ordered("r/x") {
				t.Fatal("no start was ordered when the stint began")
			}
		})
	})
}

// L11: the start rate is met, never exceeded, without anybody waking the loop.
func TestLoopFollowsTheStartRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.set("starts_per_second", "10", "starts_per_host", "1000", "accept_limit", "1h")
		r.w.host("h1", func(c *fsm.RegisterHost) { c.Capacity = 1000 })
		r.w.must(room("r", fsm.RoleSpec{Name: "x", Replicas: 50}))
		inStint(t, r, Config{}, func(*Duty) {
			for second := range 5 {
				if n, most := r.open(), 10*(second+1); n > most || n < most-3 {
					t.Fatalf("%d starts after %d s, want about %d", n, second, most)
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if n := r.open(); n != 50 {
				t.Fatalf("%d of 50 starts were ordered", n)
			}
		})
	})
}

func TestLoopSleepsWhenNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		inStint(t, r, Config{}, func(d *Duty) {
			before := d.Figures().Plans
			time.Sleep(time.Hour)
			synctest.Wait()
			if after := d.Figures().Plans; after != before {
				t.Fatalf("%d plans in an idle hour", after-before)
			}
		})
	})
}

func TestLoopTriesAgainAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		r.w.must(room("r", fsm.RoleSpec{Name: "x"}))
		r.fail = fsm.ErrUnknownOutcome
		inStint(t, r, Config{}, func(d *Duty) {
			if got := d.Figures().Orders[2]; got != (OrderCount{"start", "unanswered", 1}) {
				t.Fatalf("counted %+v", got)
			}
			r.mu.Lock()
			r.fail = nil
			r.mu.Unlock()
			time.Sleep(again)
			synctest.Wait()
			if !r.ordered("r/x") {
				t.Fatal("the start was not planned again")
			}
		})
	})
}

func TestLoopDoubtsSilentHostsAndMovesTheirOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		h1 := r.w.host("h1")
		began := time.Now()
		silence := func() map[fsm.HostID]time.Duration { return map[fsm.HostID]time.Duration{h1: time.Since(began)} }
		inStint(t, r, Config{Silence: silence}, func(*Duty) {
			r.do(room("r", fsm.RoleSpec{Name: "x"}))
			synctest.Wait()
			if !r.ordered("r/x") {
				t.Fatal("no start was ordered")
			}
			r.do(fsm.RegisterHost{Key: "h2", Name: "h2", Boot: "boot", Runners: []string{"sh"}})
			time.Sleep(SilentFor + listen)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			a := r.w.s.AgentByName("r/x")
			if r.w.s.Host(h1).State != fsm.HostSuspect || r.w.s.Host(a.Host).Name != "h2" {
				t.Fatalf("host is %s, the agent's order is on host %d", r.w.s.Host(h1).State, a.Host)
			}
		})
	})
}

// A refusal is no reason to plan without a pause.
func TestLoopIsBoundedWhenAllIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.set("starts_per_second", "1", "starts_per_host", "1000")
		r.w.host("h1")
		r.w.must(room("r", fsm.RoleSpec{Name: "x", Replicas: 200}))
		inStint(t, r, Config{}, func(d *Duty) {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := d.Figures().Plans; n > 100 {
				t.Fatalf("%d plans in 10 s", n)
			}
		})
	})
}
