package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// restoreLimit is how long a restarted server may take.
const restoreLimit = 3 * time.Minute

func snapshotSpec() *Spec {
	return &Spec{
		Name: "snapshot", Short: "Memory, snapshots and restarts with a large state",
		Long: `Fills the cluster with --count living agents and as many tasks, through the API.
Then measures the memory of each server, how long taking a snapshot keeps entries
from being applied, what writers notice of it, the size, and how long a follower
that was killed takes from its start until it has everything again. The servers
take a snapshot of their own after every 32 MiB of log.`,
		Uses: []string{"count", "duration", "conns"}, CountHelp: "agents, and as many tasks",
		Defaults: Options{Count: 1_000_000, Duration: 5 * time.Second, Conns: 4},
		Own:      true, Config: "limits:\n  snapshot_bytes: 32MiB\n",
		run: runSnapshot,
	}
}

func runSnapshot(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	h := herdOf(r.Count, 24*time.Hour)
	begin := time.Now()
	agents, err := r.gather(ctx, clients[0], h)
	if err != nil {
		return err
	}
	joined := time.Now()
	if err := r.fill(ctx, clients, h); err != nil {
		return err
	}
	r.report.Count, r.report.Seconds = int64(2*len(agents)), time.Since(begin).Seconds()
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	r.report.set("agents", len(agents))
	r.report.set("tasks", len(agents))
	r.report.set("agents_joined_per_second", float64(len(agents))/joined.Sub(begin).Seconds())
	r.report.set("tasks_created_per_second", float64(len(agents))/time.Since(joined).Seconds())
	r.say("waiting until the servers are quiet")
	r.quiet(ctx)
	if err := r.reportRSS(ctx, "rss"); err != nil {
		return err
	}
	if err := r.snapshotUnderLoad(ctx, clients, h); err != nil {
		return err
	}
	return r.restore(ctx)
}

// fill creates as many tasks as there are agents.
func (r *run) fill(ctx context.Context, clients []*client.Client, h herd) error {
	const size = 1000
	n := h.roles * h.replicas
	var mu sync.Mutex
	done := 0
	return each(ctx, (n+size-1)/size, 2*len(clients), func(ctx context.Context, b int) error {
		var writes []*vigilv1.Write
		for at := b * size; at < min((b+1)*size, n); at++ {
			room, role := h.role(r.tag, at/h.replicas)
			writes = append(writes, &vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
				Room: room, Role: role, Title: "task " + strconv.Itoa(at),
				Text: "Read the notes and write a summary of them.", By: "bench"}}})
		}
		_, err := batch(ctx, clients[b%len(clients)], writes)
		if err != nil {
			return fmt.Errorf("create tasks: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		done += len(writes)
		r.say("creating tasks: %d of %d", done, n)
		return nil
	})
}

// reportRSS reports the most that a server holds, with and without pages of files.
func (r *run) reportRSS(ctx context.Context, name string) error {
	var most, anon int64
	var heap float64
	for _, sv := range r.stand.servers {
		all, own := sv.proc.memory()
		most, anon = max(most, all), max(anon, own)
		f, err := sv.scrape(ctx)
		if err != nil {
			return err
		}
		heap = max(heap, f["go_memstats_heap_inuse_bytes"])
	}
	r.report.set(name+"_mib", float64(most)/(1<<20))
	r.report.set(name+"_anon_mib", float64(anon)/(1<<20))
	if heap > 0 {
		r.report.set(name+"_heap_mib", heap/(1<<20))
	}
	return nil
}

// snapshotUnderLoad compares writes without and with a snapshot being taken.
func (r *run) snapshotUnderLoad(ctx context.Context, clients []*client.Client, h herd) error {
	r.say("writing without a snapshot")
	profiles := r.startProfiles(ctx, r.Duration)
	calm := r.trickle(ctx, clients, h, r.Duration)
	if err := profiles.wait(); err != nil {
		return err
	}
	r.report.set("write_p99_ms", calm.percentile(0.99))
	r.report.set("write_max_ms", calm.max())

	before, err := r.scrapeAll(ctx)
	if err != nil {
		return err
	}
	r.say("writing while a snapshot is taken")
	var size int64
	var took time.Duration
	var failed error
	var saving sync.WaitGroup
	saving.Go(func() {
		at := time.Now()
		size, failed = save(ctx, clients[0])
		took = time.Since(at)
	})
	busy := r.trickle(ctx, clients, h, r.Duration)
	saving.Wait()
	if failed != nil {
		return failed
	}
	r.report.times(&busy.samples)
	r.report.fail(calm.errors+busy.errors, errors.Join(calm.first, busy.first))
	r.report.set("snapshot_mib", float64(size)/(1<<20))
	r.report.set("snapshot_seconds", took.Seconds())
	after, err := r.scrapeAll(ctx)
	if err != nil {
		return err
	}
	var pauses float64
	var n int
	for i := range after {
		// Snapshots that the servers took while they were filled count too.
		s, k := worst(figures{}, after[i], "vigil_cluster_snapshot_pause_seconds")
		pauses, n = max(pauses, s), n+k
		if s, k := worst(before[i], after[i], "vigil_cluster_snapshot_pause_seconds"); k == 1 {
			r.report.set("apply_pause_full_ms", s*1000)
		}
	}
	r.report.set("apply_pause_ms", pauses*1000)
	r.report.set("apply_pauses", n)
	return nil
}

func (r *run) scrapeAll(ctx context.Context) ([]figures, error) {
	var list []figures
	for _, sv := range r.stand.servers {
		f, err := sv.scrape(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// trickle is a light load of single writes.
func (r *run) trickle(ctx context.Context, clients []*client.Client, h herd, lasting time.Duration) *tally {
	return load{8, 0, lasting}.drive(ctx, func(ctx context.Context, i int) (int, error) {
		room, role := h.role(r.tag, i%h.roles)
		_, err := vigilv1.NewFleetClient(clients[i%len(clients)]).CreateTask(ctx, &vigilv1.CreateTaskRequest{
			Room: room, Role: role, Title: "one more", By: "bench"})
		return 1, err
	})
}

// save reads a snapshot to its end and tells its size.
func save(ctx context.Context, c *client.Client) (n int64, err error) {
	stream, err := vigilv1.NewClusterClient(c).SaveSnapshot(ctx, &vigilv1.SaveSnapshotRequest{})
	if err != nil {
		return 0, fmt.Errorf("save snapshot: %w", err)
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("save snapshot: %w", err)
		}
		n += int64(len(chunk.GetData()))
	}
}

// restore kills a follower and measures how long it takes to have everything again.
func (r *run) restore(ctx context.Context) error {
	lead, err := r.stand.leader(ctx)
	if err != nil {
		return err
	}
	for _, sv := range r.stand.servers {
		if sv == lead {
			continue
		}
		r.say("killing %s and starting it again", sv.id)
		sv.kill()
		at := time.Now()
		if err := sv.start(); err != nil {
			return err
		}
		if err := r.stand.caughtUp(ctx, sv, restoreLimit); err != nil {
			return err
		}
		r.report.set("restore_seconds", time.Since(at).Seconds())
		break
	}
	return r.reportRSS(ctx, "rss_end")
}
