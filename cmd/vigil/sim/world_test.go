package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/duty"
	"vigil/fsm"
)

// mutant is a deliberate defect of the simulation, which a checker must notice.
type mutant int

const (
	none mutant = iota
	skipsAccept
	neverFreezes
	completesTwice
	ignoresStops
	liesAboutFencing
	forgetsRequestIDs
	losesBeats
	callsCrashesOrdered
	ignoresStarts
	losesTasks
)

// config is one run.
type config struct {
	seed   uint64
	length time.Duration
	mutant mutant
	until  string // end once this law was broken
}

// roleInfo is a role as its agents know it.
type roleInfo struct {
	id   fsm.RoleID
	name string
	room string
	spec fsm.RoleSpec
	own  bool // the agent beats by itself all the time
}

// flaps tells whether the agent dies shortly after every start: one agent of each
// role, for 25 min every 5 h.
func (r *roleInfo) flaps(name string, since time.Duration) bool {
	return name == fsm.AgentName(r.room, r.name, 2) && (since+time.Duration(len(r.name))*30*time.Minute)%(5*time.Hour) > 275*time.Minute
}

// world is the cluster and everything around it.
type world struct {
	built  chan struct{} // closed when c is set
	t      *testing.T
	cfg    config
	c      *clustertest.Cluster
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	begun  time.Time

	links       *links
	ledger      *ledger
	switchboard [servers]*switchboard
	duties      [servers]context.CancelFunc
	roles       map[string]*roleInfo
	hosts       []*host
	watch       *watch
	names       atomic.Uint64
	lateCalls   atomic.Uint64
	titles      sync.Map // task id -> title
	calm        atomic.Bool
}

// rng gives a source of chance for one actor.
func (w *world) rng(name string, n uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, n)
	return rand.New(rand.NewPCG(w.cfg.seed, h.Sum64()))
}

func (w *world) since() time.Duration { return time.Since(w.begun) }

func (w *world) title(id fsm.TaskID) string {
	t, _ := w.titles.Load(id)
	s, _ := t.(string)
	return s
}

// clock is cluster time as the most advanced server has it.
func (w *world) clock() (now fsm.Time) {
	for i := range servers {
		if rep := w.c.Replica(i); rep != nil {
			rep.Read(func(st *fsm.State) { now = max(now, st.Clock()) })
		}
	}
	return now
}

func newWorld(t *testing.T, cfg config) *world {
	w := &world{t: t, cfg: cfg, begun: time.Now(), links: newLinks(), ledger: newLedger(), roles: map[string]*roleInfo{},
		built: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for i := range servers {
		w.switchboard[i] = newSwitchboard()
	}
	w.c = clustertest.New(t, servers, clustertest.Calm(),
		clustertest.Configure(func(_ int, c *cluster.Config) {
			c.Limits.TrailingLogs, c.Limits.SnapshotEntries, c.Logger = 128, 1500, nil
		}),
		clustertest.OnOpen(w.opened))
	close(w.built)
	w.watch = newWatch(w)
	w.declare()
	for n := range 4 {
		h := &host{w: w, n: n, key: fmt.Sprintf("host-%d", n), ssd: n < 2}
		w.hosts = append(w.hosts, h)
		h.start(true)
	}
	return w
}

// opened wires a server as cmd does: API and duties.
func (w *world) opened(i int, rep *cluster.Replica) {
	s := w.switchboard[i]
	rep.Subscribe(s.changed)
	d, err := duty.Open(duty.Config{Replica: rep, Unheard: func() map[string]bool { return w.unheard(i) }})
	if err != nil {
		w.t.Fatal(err)
	}
	rep.Subscribe(d.Wake)
	ctx, cancel := context.WithCancel(w.ctx)
	w.duties[i] = cancel
	w.tasks.Go(func() { w.hear(ctx, i, rep) })
	w.tasks.Go(func() {
		if err := rep.WhileLeader(ctx, d.Run); err != nil {
			w.ledger.breach("duty", "duties of server %d ended: %v", i, err)
		}
	})
}

func (w *world) kill(i int) {
	w.duties[i]()
	w.c.Kill(i)
}

// declare makes 100 agents in two rooms.
func (w *world) declare() {
	k := w.c.Client()
	must := func(cmd fsm.Command) {
		if out := k.Do(cmd); out.Code != fsm.OK {
			w.t.Fatalf("%T: %s", cmd, out.Detail)
		}
	}
	must(fsm.PutSettings{Values: []fsm.KV{{Key: "task_retention", Value: "3h"}, {Key: "events_kept", Value: "5000"}, {Key: "mark_every", Value: "3000"}}})
	ai := func(name string, n uint32, start fsm.StartMode, proof fsm.Proof, ttl time.Duration) fsm.RoleSpec {
		return fsm.RoleSpec{Name: name, Runner: "ai", Replicas: n, Start: start, Proof: proof, TTL: ttl, ProgressLimit: 20 * time.Minute}
	}
	rooms := map[string][]fsm.RoleSpec{
		"shop": {ai("builder", 30, fsm.StartAlways, fsm.ProofProcess, 0), ai("reviewer", 20, fsm.StartAlways, fsm.ProofAgent, 0),
			ai("tester", 20, fsm.StartOnDemand, fsm.ProofProcess, 0)},
		"lab": {ai("scout", 10, fsm.StartAlways, fsm.ProofProcess, 90*time.Second), ai("writer", 10, fsm.StartOnDemand, fsm.ProofAgent, 2*time.Minute),
			ai("keeper", 10, fsm.StartAlways, fsm.ProofProcess, 0)},
	}
	rooms["lab"][2].Labels = []fsm.KV{{Key: "disk", Value: "ssd"}}
	for _, room := range []string{"lab", "shop"} {
		must(fsm.ApplyRoom{Room: room, Roles: rooms[room], By: "sim"})
		w.c.Replica(w.c.Leader()).Read(func(st *fsm.State) {
			for _, spec := range rooms[room] {
				w.roles[spec.Name] = &roleInfo{id: st.RoleByName(room, spec.Name).ID, name: spec.Name, room: room, spec: spec, own: spec.Proof == fsm.ProofAgent}
			}
		})
	}
}

// run lets the time pass, in hours that each end with a calm in which everything
// is compared, and then ends the world.
func (w *world) run() {
	defer w.end()
	w.tasks.Go(w.watch.run)
	for n := range 3 {
		w.tasks.Go(func() { w.creating(n) })
	}
	w.tasks.Go(w.meddling)
	w.tasks.Go(w.hostFaults)
	rng := w.rng("faults", 0)
	hour := time.Now()
	for w.since() < w.cfg.length && !w.hopeless() {
		nap(w.ctx, time.Duration(30+rng.IntN(270))*time.Second)
		w.serverFault(rng)
		if time.Since(hour) > time.Hour {
			w.settle(6 * time.Minute)
			hour = time.Now()
		}
	}
	if w.cfg.until == "" || !w.hopeless() {
		w.settle(15 * time.Minute)
	}
}

// hopeless ends a run that has found what there is to find.
func (w *world) hopeless() bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for _, b := range w.ledger.breaches {
		if b.law == w.cfg.until {
			return true
		}
	}
	return len(w.ledger.breaches) >= 5 && w.cfg.until == ""
}

// settle stops all faults for a while and compares everything.
func (w *world) settle(quiet time.Duration) {
	w.calm.Store(true)
	defer w.calm.Store(false)
	nap(w.ctx, quiet)
	w.c.Agree()
	w.watch.sweep()
	w.ledger.count("comparisons")
}

func (w *world) end() {
	w.cancel()
	for _, h := range w.hosts {
		h.stop()
	}
	w.tasks.Wait()
}
