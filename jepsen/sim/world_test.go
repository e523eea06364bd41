package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/jepsen/history"
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
	swallowsExits
	skipsEvents
	disksLie
	corruptsEntries
	staysDown
	hidesRestores
	losesNotices
)

// config is one run.
type config struct {
	seed    uint64
	length  time.Duration
	n       int  // servers; 0: as the seed says
	brisk   bool // with the timers of the product; costs three times as much
	steady  bool // a small fleet in which nobody crashes, hangs or fails by himself
	quick   bool // many short tasks
	mutant  mutant
	faults  []string      // names of the faults of servers that may strike; nil: as the seed says
	without []string      // names of faults that never strike
	until   string        // end once this law was broken
	every   time.Duration // between two comparisons of everything; 0: an hour
	cast    *cast         // who plays instead of the usual fleet; nil: that one
}

// roleInfo is a role as its agents know it.
type roleInfo struct {
	id     noun.RoleID
	name   string
	room   string
	spec   noun.RoleSpec
	own    bool  // the agent beats by itself all the time
	steady bool  // its agents never flap
	part   *part // what its agents do instead of what is usual; nil: that
}

// flaps tells whether the agent dies shortly after every start: one agent of each
// role, for 25 min every 5 h.
func (r *roleInfo) flaps(name string, since time.Duration) bool {
	return !r.steady && name == noun.AgentName(r.room, r.name, 2) &&
		(since+time.Duration(len(r.name))*30*time.Minute)%(5*time.Hour) > 275*time.Minute
}

// world is the cluster and everything around it.
type world struct {
	t      *testing.T
	cfg    config
	n      int // servers
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	begun  time.Time

	wire      *wire
	links     *links
	servers   []*server
	ledger    *ledger
	roles     map[string]*roleInfo
	hosts     []*host
	watch     *watch
	names     atomic.Uint64
	lateCalls atomic.Uint64
	titles    sync.Map     // task id -> title
	newest    atomic.Int64 // cluster time that was seen
	calm      atomic.Bool
	pager     pager
}

// rng gives a source of chance for one actor.
func (w *world) rng(name string, n uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, n)
	return rand.New(rand.NewPCG(w.cfg.seed, h.Sum64()))
}

func (w *world) since() time.Duration { return time.Since(w.begun) }

func (w *world) title(id noun.TaskID) string {
	t, _ := w.titles.Load(id)
	s, _ := t.(string)
	return s
}

// clock is cluster time as the most advanced server has it, or had it before the
// servers went down.
func (w *world) clock() noun.Time {
	now := noun.Time(w.newest.Load())
	for i := range w.n {
		if rep := w.replica(i); rep != nil {
			rep.Read(func(st *fsm.View) { now = max(now, st.Clock()) })
		}
	}
	for was := w.newest.Load(); was < int64(now) && !w.newest.CompareAndSwap(was, int64(now)); was = w.newest.Load() {
	}
	return now
}

func newWorld(t *testing.T, cfg config) *world {
	w := &world{t: t, cfg: cfg, n: cfg.n, begun: time.Now(), ledger: newLedger(), roles: map[string]*roleInfo{},
		pager: pager{told: map[uint64]int{}}}
	if w.n == 0 {
		w.n = 3 + 2*int(cfg.seed%4/3) // every fourth seed has five
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.wire, w.links = newWire(w.n, w.rng("wire", 0)), newLinks(w)
	w.servers = newServers(w)
	w.watch = newWatch(w)
	for _, s := range w.servers {
		if cfg.mutant == disksLie {
			s.disk.lies = 200
		}
		s.start()
	}
	w.wire.corrupts = cfg.mutant == corruptsEntries
	if cfg.cast != nil {
		cfg.cast.enter(w)
		return w
	}
	w.declare()
	for n := range 4 {
		h := &host{w: w, n: n, key: fmt.Sprintf("host-%d", n)}
		if n < 2 {
			h.labels = []noun.KV{{Key: "disk", Value: "ssd"}}
		}
		w.hosts = append(w.hosts, h)
		h.start(true)
	}
	return w
}

// declare makes 100 agents in two rooms.
func (w *world) declare() {
	k := &client{w: w, from: outside}
	must := func(cmd fsm.Command) {
		if out, err := k.do(w.ctx, cmd, nil); err != nil || out.Code != noun.OK {
			w.ledger.breach("server", "%T: %v, %s", cmd, err, out.Detail)
		}
	}
	must(fsm.PutSettings{Values: []noun.KV{{Key: "task_retention", Value: "3h"},
		{Key: "events_kept", Value: "5000"}, {Key: "mark_every", Value: "3000"}}})
	ai := func(name string, n uint32, start noun.StartMode, proof noun.Proof, ttl time.Duration) noun.RoleSpec {
		return noun.RoleSpec{Name: name, Runner: "ai", Replicas: n, Start: start, Proof: proof, TTL: ttl,
			ProgressLimit: 20 * time.Minute}
	}
	rooms := map[string][]noun.RoleSpec{
		"shop": {ai("builder", 30, noun.StartAlways, noun.ProofProcess, 0),
			ai("reviewer", 20, noun.StartAlways, noun.ProofAgent, 0),
			ai("tester", 20, noun.StartOnDemand, noun.ProofProcess, 0)},
		"lab": {ai("scout", 10, noun.StartAlways, noun.ProofProcess, 90*time.Second),
			ai("writer", 10, noun.StartOnDemand, noun.ProofAgent, 2*time.Minute),
			ai("keeper", 10, noun.StartAlways, noun.ProofProcess, 0)},
	}
	rooms["lab"][2].Labels = []noun.KV{{Key: "disk", Value: "ssd"}}
	for _, room := range []string{"lab", "shop"} {
		for i := range rooms[room] {
			if w.cfg.steady {
				rooms[room][i].Replicas = (rooms[room][i].Replicas + 9) / 10
			}
		}
		must(fsm.ApplyRoom{Room: room, Roles: rooms[room], By: "sim"})
		w.ready(time.Minute).rep.Read(func(st *fsm.View) {
			for _, spec := range rooms[room] {
				w.roles[spec.Name] = &roleInfo{id: st.RoleByName(room, spec.Name).ID, name: spec.Name, room: room,
					spec: spec, own: spec.Proof == noun.ProofAgent, steady: w.cfg.steady}
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
	weights := w.weights(rng)
	hour := time.Now()
	for w.since() < w.cfg.length && !w.hopeless() {
		quiet := time.Duration(20+rng.IntN(240)) * time.Second
		if rng.IntN(25) == 0 {
			w.ledger.count("idle stretches")
			quiet = time.Duration(20+rng.IntN(40)) * time.Minute
		}
		nap(w.ctx, quiet)
		w.strike(rng, weights)
		if time.Since(hour) > cmp.Or(w.cfg.every, time.Hour) {
			w.settle(6 * time.Minute)
			hour = time.Now()
		}
	}
	if w.cfg.until == "" || !w.hopeless() {
		w.calm.Store(true)
		nap(w.ctx, 10*time.Minute) // a fault of a host lasts no longer
		w.watch.calmed()
		w.settle(6 * time.Minute)
	}
}

// weights says how often each kind of fault strikes under this seed.
func (w *world) weights(rng *rand.Rand) []int {
	usual := len(serverFaults) - rareFaults
	list := draw(rng, usual, func(i int) int { return serverFaults[i].weight })
	list = append(list,
		draw(w.rng("rare faults", 0), rareFaults, func(i int) int { return serverFaults[usual+i].weight })...)
	for i, f := range serverFaults {
		if slices.Contains(w.cfg.without, f.name) {
			list[i] = 0
		}
		if w.cfg.faults != nil {
			list[i] = 0
			if slices.Contains(w.cfg.faults, f.name) {
				list[i] = 1
			}
		}
	}
	return list
}

// strike does one bad thing to the servers, sometimes two at the same time, and
// waits until people can write again.
func (w *world) strike(rng *rand.Rand, weights []int) {
	first := serverFaults[pick(rng, weights)]
	struck := []fault{first}
	if second := serverFaults[pick(rng, weights)]; rng.IntN(4) == 0 && !first.alone && !second.alone {
		struck = append(struck, second)
	}
	var wg sync.WaitGroup
	for lane, f := range struck {
		b := &blow{w: w, rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
		b.lasting = b.between(f.least, f.most)
		wg.Go(func() {
			w.ledger.count("fault: " + f.name)
			began := w.since()
			f.do(b)
			var machines []string
			for _, i := range b.touched {
				machines = append(machines, w.servers[i].cfg.ID)
			}
			w.ledger.story.fault(history.Fault{Kind: f.name, Lane: fmt.Sprint("servers ", lane),
				Note: strings.TrimSpace(b.note),
				From: int64(began), To: int64(w.since())}, f.what, machines...)
		})
	}
	wg.Wait()
	if w.cfg.mutant == staysDown {
		for _, s := range w.servers[:w.n/2+1] {
			s.kill()
			w.tasks.Go(func() { nap(w.ctx, 2*time.Minute); s.start() })
		}
	}
	if w.ctx.Err() == nil {
		w.recovered(first.name)
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
	w.agree()
	w.watch.sweep()
	w.ledger.count("comparisons")
}

func (w *world) end() {
	w.ledger.close(w.since())
	w.cancel()
	for _, h := range w.hosts {
		h.stop()
	}
	for _, s := range w.servers {
		if st := s.now.Load(); st != nil {
			st.dead.Store(true) // nobody judges how they end
		}
	}
	for _, s := range w.servers {
		s.disk.resume()
		if st := s.now.Load(); st != nil {
			_ = st.port.Close()
			st.duties()
			st.cancel()
		}
	}
	w.tasks.Wait()
}
