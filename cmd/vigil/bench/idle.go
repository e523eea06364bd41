package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func idleSpec() *Spec {
	return &Spec{
		Name: "idle", Short: "What a fleet costs while nothing happens",
		Long: `Keeps --count idle agents alive, --batch of them on a host, each host beating every
quarter of the lease, with --clients watching the events on all servers. Measures
what goes into the log and how often the watchers are woken, which should be never.`,
		Uses: []string{"count", "duration", "batch", "clients", "ttl", "managed"}, CountHelp: "agents",
		Defaults: Options{Count: 10_000, Batch: 1000, Clients: []int{100}, Duration: 45 * time.Second,
			TTL: time.Minute, Conns: 3},
		run: runIdle,
	}
}

func runIdle(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(max(r.Conns, len(r.stand.servers)), true)
	if err != nil {
		return err
	}
	h := herdOf(r.Count, r.TTL)
	var list []flock
	if r.Managed {
		list, err = r.manage(ctx, clients[0], h, max(1, r.Count/r.Batch))
	} else {
		var agents []agent
		agents, err = r.gather(ctx, clients[0], h)
		list = flocks(agents, r.Batch, client.BeatLease)
	}
	if err != nil {
		return err
	}
	end, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	q := &quiet{every: r.TTL / 4}
	for i, f := range list {
		all.Go(func() {
			q.host(end, f, vigilv1.NewWorkClient(clients[0]), q.every*time.Duration(i)/time.Duration(len(list)))
		})
	}
	watchers := r.Clients[len(r.Clients)-1]
	var standing sync.WaitGroup
	standing.Add(watchers)
	for i := range watchers {
		all.Go(func() { q.watch(end, vigilv1.NewFleetClient(clients[i%len(clients)]), standing.Done) })
	}
	standing.Wait()
	pause(ctx, warmUp(r.Duration))
	return q.measure(ctx, r, h, watchers)
}

// quiet is a fleet in which nothing happens.
type quiet struct {
	every   time.Duration
	wakeups atomic.Int64

	mu    sync.Mutex
	tally tally
}

// host beats in its turn.
func (q *quiet) host(ctx context.Context, f flock, w vigilv1.WorkClient, first time.Duration) {
	for pause(ctx, first); ctx.Err() == nil; pause(ctx, q.every) {
		at := time.Now()
		n, err := f.beat(ctx, w)
		took := time.Since(at)
		q.mu.Lock()
		if err == nil {
			q.tally.ops += int64(n)
			q.tally.add(took)
		} else if ctx.Err() == nil {
			q.tally.fail(err)
		}
		q.mu.Unlock()
	}
}

// watch counts the events that come.
func (q *quiet) watch(ctx context.Context, fleet vigilv1.FleetClient, stands func()) {
	stream, err := fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{Tail: true})
	if err == nil {
		_, err = stream.Header()
	}
	stands()
	for err == nil {
		if _, err = stream.Recv(); err == nil {
			q.wakeups.Add(1)
		}
	}
	if ctx.Err() == nil {
		q.mu.Lock()
		q.tally.fail(fmt.Errorf("watch events: %w", err))
		q.mu.Unlock()
	}
}

func (q *quiet) measure(ctx context.Context, r *run, h herd, watchers int) error {
	q.mu.Lock()
	q.tally.ops, q.tally.samples = 0, samples{}
	q.mu.Unlock()
	q.wakeups.Store(0)
	before, err := r.measure(ctx)
	if err != nil {
		return err
	}
	r.say("nothing happens for %s", r.Duration)
	pause(ctx, r.Duration)
	after, err := r.measure(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tally.seconds = after.at.Sub(before.at).Seconds()
	r.report.take(&q.tally)
	r.report.set("agents", h.roles*h.replicas)
	r.report.set("watchers", watchers)
	r.report.set("wakeups_per_watcher", float64(q.wakeups.Load())/float64(watchers))
	r.report.set("leases_ended", before.grown(after, "vigil_leases_ended_total"))
	r.reportUsage(before, after)
	return ctx.Err()
}
