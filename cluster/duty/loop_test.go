package duty

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// replica is a state behind a lock that applies what is submitted, with a clock
// that follows the simulated one.
type replica struct {
	mu     sync.Mutex
	w      *world
	began  time.Time
	fail   error
	wake   func(noun.Effects)
	orders int
	plans  int
}

func newReplica(t *testing.T) *replica {
	return &replica{w: newWorld(t), began: time.Now(), wake: func(noun.Effects) {}}
}

func (r *replica) Read(fn func(*fsm.View)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans++
	fn(&r.w.s.View)
}

func (r *replica) SubmitAll(_ context.Context, reqs []fsm.Request, outs []noun.Outcome) error {
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
	r.w.clock = noun.Time(time.Since(r.began))
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
	r.w.clock = noun.Time(time.Since(r.began))
	r.wake(r.w.apply(fsm.Request{Cmd: c}).Effects)
}

func (r *replica) ordered(agent string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.s.AgentByName(agent).Proc == noun.ProcOrdered
}

func (r *replica) open() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.w.s.Agents("") {
		if a.Proc == noun.ProcOrdered {
			n++
		}
	}
	return n
}

// Barrier seals an entry without a command.
func (r *replica) Barrier(ctx context.Context) error { return r.SubmitAll(ctx, nil, nil) }

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
			r.do(room("r", noun.RoleSpec{Name: "x"}))
			before := time.Now()
			synctest.Wait()
			if !r.ordered("r/x") || time.Since(before) != 0 {
				t.Fatalf("no start was ordered at once")
			}
			if f := d.Figures().Of("starts"); f.Looks == 0 || f.Orders[0] != (OrderCount{"start", "accepted", 1}) {
				t.Fatalf("figures: %+v", f)
			}
		})
	})
}

func TestLoopFinishesWhatTheStintBeforeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		r.w.must(room("r", noun.RoleSpec{Name: "x"}))
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
		r.w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 50}))
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
			before := d.Figures().Of("starts").Looks
			time.Sleep(time.Hour)
			synctest.Wait()
			if after := d.Figures().Of("starts").Looks; after != before {
				t.Fatalf("%d looks in an idle hour", after-before)
			}
		})
	})
}

func TestLoopTriesAgainAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.w.host("h1")
		r.w.must(room("r", noun.RoleSpec{Name: "x"}))
		r.fail = noun.ErrUnknownOutcome
		inStint(t, r, Config{}, func(d *Duty) {
			if got := d.Figures().Of("starts").Orders[2]; got != (OrderCount{"start", "unanswered", 1}) {
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
		inStint(t, r, Config{Unheard: func() map[string]bool { return nil }}, func(*Duty) {
			r.do(room("r", noun.RoleSpec{Name: "x"}))
			synctest.Wait()
			if !r.ordered("r/x") {
				t.Fatal("no start was ordered")
			}
			r.do(fsm.RegisterHost{Key: "h2", Name: "h2", Boot: "boot", Runners: []string{"sh"}})
			r.do(fsm.ReportViews{Server: "a", Views: []noun.HostView{{Host: h1, Stream: silent}}})
			synctest.Wait() // at once: who says it wakes the loop
			r.mu.Lock()
			defer r.mu.Unlock()
			a := r.w.s.AgentByName("r/x")
			if r.w.s.Host(h1).State != noun.HostSuspect || r.w.s.Host(a.Host).Name != "h2" {
				t.Fatalf("host is %s, the agent's order is on host %d", r.w.s.Host(h1).State, a.Host)
			}
		})
	})
}

// A fast role is re-homed once its host has been silent for SilentFor in every way,
// without anybody waking the loop; a fenced one at the end of its fence.
func TestLoopRehomesFastRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		h1 := r.w.host("h1")
		r.w.must(room("r", noun.RoleSpec{Name: "f", Policy: noun.PolicyFast}, noun.RoleSpec{Name: "x"}))
		inStint(t, r, Config{Unheard: func() map[string]bool { return nil }}, func(*Duty) {
			r.mu.Lock()
			r.w.accept(h1)
			r.mu.Unlock()
			time.Sleep(2 * time.Second)
			r.mu.Lock()
			r.w.clock = noun.Time(time.Since(r.began))
			r.w.beat(h1) // its last
			r.w.host("h2")
			r.mu.Unlock()
			time.Sleep(4 * time.Second)
			for _, server := range []string{"a", "b", "c"} {
				r.do(fsm.ReportViews{Server: server,
					Views: []noun.HostView{{Host: h1, Gossip: silent, Stream: silent}}})
			}
			synctest.Wait()
			r.mu.Lock()
			if st := r.w.s.Host(h1).State; st != noun.HostSuspect || r.w.s.AgentByName("r/f").Host != h1 {
				t.Fatalf("host is %s, r/f on host %d", st, r.w.s.AgentByName("r/f").Host)
			}
			r.mu.Unlock()
			for range 3 { // cluster time needs entries to pass
				time.Sleep(500 * time.Millisecond)
				r.do(fsm.OpenSession{})
			}
			time.Sleep(listen)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			if f, x := r.w.s.AgentByName("r/f"), r.w.s.AgentByName("r/x"); f.Proc != noun.ProcOrdered ||
				r.w.s.Host(f.Host).Name != "h2" || x.Host != h1 {
				t.Fatalf("r/f is %s on host %d, r/x on host %d", f.Proc, f.Host, x.Host)
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
		r.w.must(room("r", noun.RoleSpec{Name: "x", Replicas: 200}))
		inStint(t, r, Config{}, func(d *Duty) {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := d.Figures().Of("starts").Looks; n > 100 {
				t.Fatalf("%d plans in 10 s", n)
			}
		})
	})
}
