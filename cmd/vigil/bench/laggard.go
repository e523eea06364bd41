package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	// laggardBatch is how many tasks one call creates.
	laggardBatch = 250
	// laggardFlying bounds the calls under way.
	laggardFlying = 64
	// laggardBehind is how many snapshots a follower is away for: more than the log is kept for.
	laggardBehind = 6
	// laggardLimit is how long it may take to catch up.
	laggardLimit = 5 * time.Minute
)

func laggardSpec() *Spec {
	return &Spec{
		Name: "laggard", Short: "A follower that comes back while the log moves on",
		Long: `Fills the cluster with --count living agents and as many tasks. Then keeps creating
--rate tasks a second, with servers that take a snapshot after every 16 MiB of log:
several while one is loaded. Kills a follower until the log no longer reaches back to
it, starts it, and measures how long it takes to catch up under that load, and how many
snapshots it was sent. One is what it needs; if the log behind it is gone when it has
loaded it, it is sent another, and may never catch up.`,
		Uses: []string{"count", "rate", "conns"}, CountHelp: "agents, and as many tasks",
		Defaults: Options{Count: 1_000_000, Rate: 20_000, Conns: 4},
		Own:      true, Config: "limits:\n  snapshot_bytes: 16MiB\n",
		run: runLaggard,
	}
}

func runLaggard(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	if _, err := vigilv1.NewClusterClient(clients[0]).PutSettings(ctx, &vigilv1.PutSettingsRequest{By: "bench",
		Values: map[string]string{"budget_room_share": "100", "budget_tasks": "16GiB",
			"budget_agents": "4GiB"}}); err != nil {
		return fmt.Errorf("set budgets: %w", err)
	}
	h := herdOf(r.Count, 24*time.Hour)
	agents, err := r.gather(ctx, clients[0], h)
	if err != nil {
		return err
	}
	if err := r.fill(ctx, clients, h); err != nil {
		return err
	}
	r.report.set("agents", len(agents))
	r.say("waiting until the servers are quiet")
	r.quiet(ctx)
	l := &laggard{run: r, clients: clients, herd: h}
	if l.lead, err = r.stand.leader(ctx); err != nil {
		return err
	}
	for _, sv := range r.stand.servers {
		if sv != l.lead {
			l.late = sv
		}
	}
	busy, enough := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { l.load(busy) })
	err = l.comeBack(ctx)
	enough()
	all.Wait()
	l.report.fail(l.failed, l.first)
	if err != nil {
		return err
	}
	return r.reportRSS(ctx, "rss_end")
}

// laggard is a follower that lags, and the load meanwhile.
type laggard struct {
	*run
	clients    []*client.Client
	herd       herd
	lead, late *server

	created atomic.Int64

	mu     sync.Mutex // guards what follows
	times  samples
	failed int64
	first  error
}

// load creates tasks until ctx ends. What is due while laggardFlying calls are under way is left out.
func (l *laggard) load(ctx context.Context) {
	text := strings.Repeat("Read the notes and write a summary of them. ", 5)
	flying := make(chan struct{}, laggardFlying)
	paced(ctx, max(1, l.Rate/laggardBatch), time.Hour, func(i int) {
		select {
		case flying <- struct{}{}:
			defer func() { <-flying }()
		default:
			return
		}
		room, role := l.herd.role(l.tag, i%l.herd.roles)
		writes := make([]*vigilv1.Write, laggardBatch)
		for k := range writes {
			writes[k] = &vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
				Room: room, Role: role, Title: "one more", Text: text, By: "bench"}}}
		}
		at := time.Now()
		_, err := batch(ctx, l.clients[i%len(l.clients)], writes)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err == nil:
			l.created.Add(laggardBatch)
			l.times.add(time.Since(at))
		case ctx.Err() == nil:
			l.failed++
			if l.first == nil {
				l.first = err
			}
		}
	})
}

// comeBack has the follower away for some snapshots and measures its return.
func (l *laggard) comeBack(ctx context.Context) error {
	const taken = "vigil_cluster_snapshot_seconds_count"
	before, err := l.lead.scrape(ctx)
	if err != nil {
		return err
	}
	l.say("killing %s until the log does not reach back to it", l.late.id)
	l.late.kill()
	away, missed := time.Now(), l.created.Load()
	for now := before; now[taken] < before[taken]+laggardBehind; {
		if time.Since(away) > laggardLimit {
			return fmt.Errorf("server %s took %g snapshots in %s: give a higher --rate", l.lead.id,
				now[taken]-before[taken], laggardLimit)
		}
		pause(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if now, err = l.lead.scrape(ctx); err != nil {
			return err
		}
	}
	l.report.set("away_seconds", time.Since(away).Seconds())
	l.report.set("tasks_missed", l.created.Load()-missed)
	l.say("starting %s again, while tasks are created", l.late.id)
	l.mu.Lock()
	l.times = samples{}
	l.mu.Unlock()
	then, err := l.lead.scrape(ctx)
	if err != nil {
		return err
	}
	at, written := time.Now(), l.created.Load()
	if err := l.late.start(); err != nil {
		return err
	}
	if err := l.stand.caughtUp(ctx, l.late, laggardLimit); err != nil {
		return err
	}
	took := time.Since(at).Seconds()
	l.report.Count, l.report.Seconds = l.created.Load()-written, took
	l.report.PerSecond = float64(l.report.Count) / took
	l.mu.Lock()
	l.report.times(&l.times)
	l.mu.Unlock()
	now, err := l.lead.scrape(ctx)
	if err != nil {
		return err
	}
	own, err := l.late.scrape(ctx)
	if err != nil {
		return err
	}
	l.report.set("catch_up_seconds", took)
	l.report.set("snapshots_sent", own["vigil_cluster_snapshots_installed_total"])
	l.report.set("snapshots_taken_meanwhile", now[taken]-then[taken])
	return nil
}
