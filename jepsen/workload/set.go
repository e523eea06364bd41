package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// by is who asks, as events show it.
const by = "workload"

// load is one workload. prepare declares what it needs, run works until ctx ends,
// quiesce drains and reads what there is at the end.
type load interface {
	prepare(ctx context.Context) error
	run(ctx context.Context) error
	quiesce(ctx context.Context) error
}

// Set is the chosen workloads of one run. Prepare, Run and Quiesce are called once,
// one after the other; Close at the end.
type Set struct {
	cfg     Config
	kinds   []kind
	loads   []load
	whole   *asker   // the client of the whole cluster
	servers []*asker // each asks through one server

	life       context.Context // of everything in the background
	end        context.CancelFunc
	background sync.WaitGroup
	watchers   *watchers

	dependents []string  // by Prepare
	workers    []*Worker // by Prepare

	mu        sync.Mutex
	processes map[string]int // newest number by workload
	fenced    []string
}

// Open opens the clients and prepares the workloads with the names; it asks nothing.
func Open(cfg Config, names []string) (*Set, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(names, cfg.Runner)
	if err != nil {
		return nil, err
	}
	s := &Set{cfg: cfg, kinds: chosen, processes: map[string]int{}}
	s.life, s.end = context.WithCancel(context.Background())
	if s.whole, err = openAsker("", "", &cfg); err != nil {
		return nil, err
	}
	for i, addr := range cfg.Addrs {
		a, err := openAsker(cfg.Servers[i], addr, &cfg)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.servers = append(s.servers, a)
	}
	s.watchers = &watchers{s: s}
	for _, k := range chosen {
		s.loads = append(s.loads, k.make(s))
	}
	return s, nil
}

// Prepare declares the rooms and waits for nothing.
func (s *Set) Prepare(ctx context.Context) error {
	for i, l := range s.loads {
		if err := l.prepare(ctx); err != nil {
			return fmt.Errorf("prepare %s: %w", s.kinds[i].name, err)
		}
	}
	return nil
}

// Run asks until ctx ends. Calls under way are then waited for.
func (s *Set) Run(ctx context.Context) error {
	s.watchers.begin(1)
	for _, k := range s.kinds {
		for _, room := range k.rooms {
			if s.cfg.Runner != "" {
				s.background.Go(func() { s.look(s.life, room) })
			}
		}
	}
	return s.each(func(l load) error { return l.run(ctx) })
}

// Quiesce lets everything come to its end and reads it, as far as ctx allows.
func (s *Set) Quiesce(ctx context.Context) error {
	err := s.each(func(l load) error { return l.quiesce(ctx) })
	return errors.Join(err, s.watchers.finish(ctx))
}

// each does something with all workloads at the same time.
func (s *Set) each(do func(load) error) error {
	errs := make([]error, len(s.loads))
	var all sync.WaitGroup
	for i, l := range s.loads {
		all.Go(func() {
			if err := do(l); err != nil {
				errs[i] = fmt.Errorf("workload %s: %w", s.kinds[i].name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Close ends everything. Nothing is recorded after it.
func (s *Set) Close() error {
	s.end()
	var errs []error
	for _, a := range append([]*asker{s.whole}, s.servers...) {
		if a != nil {
			errs = append(errs, a.client.Close())
		}
	}
	s.background.Wait()
	return errors.Join(errs...)
}

// Fenced lists the roles under policy fenced that Prepare has declared, as room/role.
func (s *Set) Fenced() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.fenced...)
}

// Dependents lists the roles that Prepare has declared, as room/role, whose tasks need what may be
// down: see package depend.
func (s *Set) Dependents() []string { return s.dependents }

// Workers are the processes of agents without a host, after Prepare.
func (s *Set) Workers() []*Worker { return s.workers }

// managed is a role of agents of hosts, under policy fenced; does is their behaviour.
func (s *Set) managed(room, name string, replicas uint32) *vigilv1.RoleSpec {
	s.mu.Lock()
	s.fenced = append(s.fenced, room+"/"+name)
	s.mu.Unlock()
	return s.hosted(name, replicas, "fenced")
}

// hosted is a role of agents of hosts.
func (s *Set) hosted(name string, replicas uint32, policy string) *vigilv1.RoleSpec {
	r := s.byHand(name, replicas)
	r.Runner, r.Policy = s.cfg.Runner, policy
	r.StartLimit = durationpb.New(max(10*time.Second, 3*s.cfg.TTL))
	return r
}

// byHand is a role of agents that join by themselves. How often a task is tried is
// tested elsewhere.
func (s *Set) byHand(name string, replicas uint32) *vigilv1.RoleSpec {
	return &vigilv1.RoleSpec{Name: name, Replicas: replicas, Ttl: durationpb.New(s.cfg.TTL),
		StopGrace: durationpb.New(s.cfg.TTL / 5), AttemptLimit: 1000, KillLimit: 1000}
}

// declare applies a room.
func (s *Set) declare(ctx context.Context, room string, roles ...*vigilv1.RoleSpec) error {
	_, err := s.whole.fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: room, By: by, Roles: roles})
	if err != nil {
		return fmt.Errorf("apply room %s: %w", room, err)
	}
	return nil
}

// source gives a source of random numbers for one of the goroutines of a workload.
func (s *Set) source(workload string, n int) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(workload) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(s.cfg.Seed, h+uint64(n)))
}

// pause waits, but not beyond the end of ctx; it tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
