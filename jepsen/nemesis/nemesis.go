//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// Lanes. See the package's doc.
const (
	Servers = "servers"
	Disks   = "disks"
	Clocks  = "clocks"
	Host    = "host"
	Alone   = "alone"
	// Dependencies is what agents depend on.
	Dependencies = "dependencies"
	// Workers are agents without a host, in processes of their own.
	Workers = "workers"
	// HostileAgent and HostileHost are what somebody tries who is within the cluster, or a stranger.
	HostileAgent = "hostile-agent"
	HostileHost  = "hostile-host"
)

// ErrNobody says that there was nothing to strike at this moment; such a fault is not
// recorded.
var ErrNobody = errors.New("there is nothing to strike")

// Kind is one way to do harm.
type Kind struct {
	Name string // words with underscores, what is struck first: leader_killed
	Lane string
	Says string // one sentence: what happens, and for how long
	// Weight is how often it is drawn, compared with others of its lane; 0 counts as 1.
	Weight int
	// Takes says that a server is away, deaf or damaged meanwhile: no other kind that
	// takes strikes at the same time.
	Takes bool
	// Needs says why it is not possible on this field; empty: it is. Nil: always.
	Needs func(*Field) string
	// Strike lets one fault loose, waits and undoes it. on is the host of lane host,
	// nil in other lanes. An error other than ErrNobody says that the stand failed and
	// ends the run; that the product refused something is no error, but a Note.
	Strike func(ctx context.Context, f *Field, on *stand.Host, r *rand.Rand) (Struck, error)
}

// Struck is what a fault did.
type Struck struct {
	// Effects excuse what the machines in them cannot do meanwhile. What excuses nothing
	// has none.
	Effects []history.Effect
	Note    string // for people: which server, how long, what was answered
	// Attempts are what somebody hostile tried, and how it was answered.
	Attempts []history.Attempts
	Broken   string // what the product did that it must not do; empty: nothing
}

// Worker is a process of an agent without a host, and the next one when that has ended.
type Worker interface {
	Agent() string // empty: it has not joined
	Signal(os.Signal) error
}

// Field is what kinds act on. It is used by all lanes at the same time.
type Field struct {
	Stand   *stand.Stand
	Fleet   vigilv1.FleetClient
	Cluster vigilv1.ClusterClient
	Trust   vigilv1.TrustClient
	TTL     time.Duration // of leases, fences and hosts: faults are shorter and longer
	Room    string        // where the agents are
	// Dependents are roles, as room/role, whose tasks need what may be down: see package depend.
	Dependents []string
	// Workers are the processes of agents without a host.
	Workers []Worker
	Older   string // program of an older build of vigil; empty: there is none
	Say     func(format string, args ...any)

	once   sync.Once
	quiet  *semaphore.Weighted // every strike holds one, kinds of lane alone all of them
	taking *semaphore.Weighted // held by kinds that take
}

// everybody is more than there are lanes.
const everybody = 1 << 20

// turn waits until it is the turn of a kind, or ctx ends: then done is nil.
func (f *Field) turn(ctx context.Context, k *Kind) (done func()) {
	f.once.Do(func() { f.quiet, f.taking = semaphore.NewWeighted(everybody), semaphore.NewWeighted(1) })
	n := int64(1)
	if k.Lane == Alone {
		n = everybody
	}
	if f.quiet.Acquire(ctx, n) != nil {
		return nil
	}
	if !k.Takes {
		return func() { f.quiet.Release(n) }
	}
	if f.taking.Acquire(ctx, 1) != nil {
		f.quiet.Release(n)
		return nil
	}
	return func() {
		f.taking.Release(1)
		f.quiet.Release(n)
	}
}

// Span draws a time between so many TTLs.
func (f *Field) Span(r *rand.Rand, from, to float64) time.Duration {
	return time.Duration((from + (to-from)*r.Float64()) * float64(f.TTL))
}

// Pause waits, but not beyond the end of ctx. It tells whether ctx goes on.
func (f *Field) Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Leader is the server that leads, nil when nobody says so within 2 s.
func (f *Field) Leader(ctx context.Context) *stand.Server {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	st, err := f.Cluster.Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return nil
	}
	return f.Stand.Server(st.GetLeader())
}

// AgentsOn lists the agents that the cluster has on a host, by name; nothing when
// nobody answers within a second.
func (f *Field) AgentsOn(ctx context.Context, h *stand.Host) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list, err := f.Fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: f.Room})
	if err != nil {
		return nil
	}
	var names []string
	for _, a := range list.GetAgents() {
		if a.GetHost() == h.Name {
			names = append(names, a.GetName())
		}
	}
	return names
}

// Resident picks an agent's process on a host; with shim one that has a shim.
// ErrNobody: there is none.
func (f *Field) Resident(h *stand.Host, r *rand.Rand, shim bool) (stand.Resident, error) {
	list, err := h.Residents()
	if err != nil {
		return stand.Resident{}, err
	}
	if shim {
		kept := list[:0]
		for _, one := range list {
			if one.Shim != 0 {
				kept = append(kept, one)
			}
		}
		list = kept
	}
	if len(list) == 0 {
		return stand.Resident{}, ErrNobody
	}
	return list[r.IntN(len(list))], nil
}

// Touched collects the effects of one fault. The zero value is ready for use, by
// several goroutines.
type Touched struct {
	mu     sync.Mutex
	list   []history.Effect
	broken string
}

// Broke notes what the product did that it must not do.
func (t *Touched) Broke(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = what
}

// Begin notes that something happens to machines from now on, until the function
// that it gives is called. Call it before the deed, and what it gives after the deed
// is undone.
func (t *Touched) Begin(what string, machines ...string) (end func()) {
	return t.begin(history.Effect{What: what}, machines)
}

// BeginAgent is Begin for one agent on a machine.
func (t *Touched) BeginAgent(what, machine, agent string) (end func()) {
	return t.begin(history.Effect{What: what, Agent: agent}, []string{machine})
}

func (t *Touched) begin(e history.Effect, machines []string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.From = ledger.Now()
	first := len(t.list)
	for _, m := range machines {
		e.Machine = m
		t.list = append(t.list, e)
	}
	last := len(t.list)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		now := ledger.Now()
		for i := first; i < last; i++ {
			if t.list[i].To == 0 {
				t.list[i].To = now
			}
		}
	}
}

// add takes over effects that have ended.
func (t *Touched) add(list []history.Effect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, list...)
}

// Struck ends what has not ended and gives what a Strike gives.
func (t *Touched) Struck(note string) Struck {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := ledger.Now()
	for i := range t.list {
		if t.list[i].To == 0 {
			t.list[i].To = now
		}
	}
	return Struck{Effects: t.list, Note: note, Broken: t.broken}
}
