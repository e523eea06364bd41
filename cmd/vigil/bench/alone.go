package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"vigil/cluster/duty"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// The size that vigil is built for, and what one of its steps may take there.
const (
	fleetAgents = 1_000_000
	fleetTasks  = 1_000_000
	fleetRoles  = 10_000
	fleetHosts  = 1_000
	rolesARoom  = 250
)

// alone is the state machine of one server in this process, without log, disk and network, with
// the leader's duty where a benchmark wants it: what it measures is what holds the lock. It is
// a duty.Replica.
type alone struct {
	*run
	began  time.Time
	failed error // of must; its owner is who calls that

	mu      sync.RWMutex // guards what follows
	s       *fsm.State
	index   uint64
	counted bool
	wall    samples // of entries
	entries samples // their processor time
	worst   time.Duration
	slowest string  // what the entry was that took the most of it
	holds   samples // processor time for which the read lock was held
	wake    func(noun.Effects)
}

func newAlone(r *run) *alone {
	x := &alone{run: r, began: time.Now(), s: fsm.New(), wake: func(noun.Effects) {}}
	x.must(fsm.LeaderEstablished{Server: "a"})
	x.must(fsm.PutSettings{Values: []noun.KV{{Key: "budget_room_share", Value: "100"},
		{Key: "budget_tasks", Value: "4294967296"},
		{Key: "budget_agents", Value: "4294967296"}, {Key: "max_agents", Value: "2000000"},
		{Key: "starts_per_second", Value: "1000000"}, {Key: "host_ttl", Value: "1h"}}})
	return x
}

// Read is duty.Replica: it measures what fn takes of a processor.
func (x *alone) Read(fn func(*fsm.View)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x.mu.RLock()
	began := threadTime()
	fn(&x.s.View)
	took := threadTime() - began
	x.mu.RUnlock()
	x.mu.Lock()
	if x.counted {
		x.holds.add(took)
	}
	x.mu.Unlock()
}

// SubmitAll is duty.Replica.
func (x *alone) SubmitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error {
	copy(outs, x.apply("orders of the leader", reqs...))
	return ctx.Err()
}

// Barrier is duty.Replica.
func (x *alone) Barrier(ctx context.Context) error { return x.SubmitAll(ctx, nil, nil) }

// apply applies requests as one entry, and those entries that a leader adds because work is left.
func (x *alone) apply(what string, reqs ...fsm.Request) []noun.Outcome {
	outs, more := x.entry(what, reqs)
	for more {
		_, more = x.entry(what+", what was left of it", nil)
	}
	return outs
}

func (x *alone) entry(what string, reqs []fsm.Request) (outs []noun.Outcome, more bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x.mu.Lock()
	x.index++
	now := time.Since(x.began)
	began, cpu := time.Now(), threadTime()
	res := x.s.Apply(&fsm.Entry{Index: x.index, Term: 1, Stint: 1, Stamp: noun.Time(now),
		Wall: noun.Wall(began.UnixNano()), Requests: reqs})
	used, took := threadTime()-cpu, time.Since(began)
	outs, more = append(outs, res.Outcomes...), res.Effects.More
	if x.counted {
		x.wall.add(took)
		x.entries.add(used)
		if used > x.worst {
			x.worst, x.slowest = used, what
		}
	}
	wake, effects := x.wake, res.Effects
	x.mu.Unlock()
	wake(effects)
	return outs, more
}

// must applies one command, which is to be accepted. After one that was not nothing is applied.
func (x *alone) must(c fsm.Command) noun.Outcome {
	if x.failed != nil {
		return noun.Outcome{}
	}
	out := x.apply(fmt.Sprintf("%T", c), fsm.Request{Cmd: c})[0]
	if out.Code != noun.OK {
		x.failed = fmt.Errorf("%T: %s: %s", c, out.Code, out.Detail)
	}
	return out
}

// count begins to count.
func (x *alone) count() {
	runtime.GC()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counted = true
}

// fleet declares hosts, and rooms of roles with so many agents in all.
func (x *alone) fleet(agents int, change func(i int, spec *noun.RoleSpec)) {
	for i := range fleetHosts {
		x.must(fsm.RegisterHost{Key: fmt.Sprint("h", i), Name: fmt.Sprint("host-", i),
			Boot: "b1", Runners: []string{"reviewer", "worker"}, Capacity: 2000,
			Labels: []noun.KV{{Key: "os", Value: "linux"}, {Key: "rack", Value: fmt.Sprint(i % 10)},
				{Key: "row", Value: fmt.Sprint(i % 10)}}})
	}
	for n := 0; n < fleetRoles; n += rolesARoom {
		specs := make([]noun.RoleSpec, rolesARoom)
		for i := range specs {
			specs[i] = noun.RoleSpec{Name: fmt.Sprint("role", i),
				Runner: "worker", Replicas: uint32(max(1, agents/fleetRoles))}
			change(n+i, &specs[i])
		}
		x.must(fsm.ApplyRoom{Room: fleetRoom(n), Roles: specs, By: "bench"})
	}
}

// fleetRoom is the room of a role, by the role's number.
func fleetRoom(role int) string { return fmt.Sprint("room", role/rolesARoom) }

func fleetRole(role int) string { return fmt.Sprint("role", role%rolesARoom) }

// lead runs the leader's duty until the function that it gives is called.
func (x *alone) lead(ctx context.Context) (stop func() error, err error) {
	d, err := duty.Open(duty.Config{Replica: x, Unheard: func() map[string]bool { return nil }})
	if err != nil {
		return nil, fmt.Errorf("open duty: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	x.mu.Lock()
	x.wake = d.Wake
	x.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}, nil
}

// close reports what was counted: wall times of entries are the report's times.
func (x *alone) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		return x.failed
	}
	c := x.s.Counts()
	x.report.set("agents", int64(c.Agents))
	x.report.set("hosts", int64(c.Hosts))
	x.report.Count = int64(len(x.wall.times))
	x.report.times(&x.wall)
	x.report.set("entry_p999_ms", x.wall.percentile(0.999))
	x.report.set("entry_cpu_p999_ms", x.entries.percentile(0.999))
	x.report.set("entry_cpu_max_ms", x.entries.max())
	x.report.set("slowest_entry", x.slowest)
	if len(x.holds.times) > 0 {
		x.report.set("holds", len(x.holds.times))
		x.report.set("hold_cpu_p50_ms", x.holds.percentile(0.5))
		x.report.set("hold_cpu_p999_ms", x.holds.percentile(0.999))
		x.report.set("hold_cpu_max_ms", x.holds.max())
	}
	return nil
}
