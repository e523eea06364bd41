package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func waitersSpec() *Spec {
	return &Spec{
		Name: "waiters", Short: "Very many parked waits at once, and all of them woken",
		Long: `Parks --count waits over all servers, measures the memory of each server before and
after, creates one task for each of them in batches, and waits until every waiter
holds one. Latency is the time from sending the batch with the task to the claim.`,
		Uses: []string{"count", "conns"}, CountHelp: "waits",
		Defaults: Options{Count: 100_000, Conns: 6},
		run:      runWaiters,
	}
}

func runWaiters(ctx context.Context, r *run) error {
	writers, err := r.stand.dial(2, false)
	if err != nil {
		return err
	}
	waiters, err := r.stand.dial(max(r.Conns, len(r.stand.servers)), true)
	if err != nil {
		return err
	}
	h := herdOf(r.Count, time.Hour)
	agents, err := r.gather(ctx, writers[0], h)
	if err != nil {
		return err
	}
	before := r.memory()
	wait, stop := context.WithCancel(ctx)
	defer stop()
	x := &crowd{held: make(chan struct{}), left: int64(len(agents)), sent: make([]atomic.Int64, h.roles),
		began: time.Now()}
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	parking := time.Now()
	for i, a := range agents {
		all.Go(func() { x.wait(wait, waiters[i%len(waiters)], a, i/h.replicas) })
	}
	if err := r.parked(ctx, len(agents)); err != nil {
		return errors.Join(err, x.tally.first)
	}
	r.report.set("park_seconds", time.Since(parking).Seconds())
	r.reportMemory(before, len(agents))
	if err := x.wake(ctx, r, h, writers); err != nil {
		return err
	}
	stop()
	all.Wait()
	r.report.take(&x.tally)
	return nil
}

// memory reads what each server holds without pages of files.
func (r *run) memory() []int64 {
	var list []int64
	for _, sv := range r.stand.servers {
		_, anon := sv.proc.memory()
		list = append(list, anon)
	}
	return list
}

// reportMemory reports what n waits cost.
func (r *run) reportMemory(before []int64, n int) {
	var grown, most int64
	for i, now := range r.memory() {
		grown += now - before[i]
		most = max(most, now)
	}
	r.report.set("waiters", n)
	r.report.set("rss_mib", float64(most)/(1<<20))
	r.report.set("bytes_per_waiter", grown/int64(n))
}

// crowd is all who wait.
type crowd struct {
	mu    sync.Mutex
	tally tally
	left  int64
	held  chan struct{} // closed when nobody is left
	sent  []atomic.Int64
	began time.Time
}

func (x *crowd) wait(ctx context.Context, c *client.Client, a agent, role int) {
	for ctx.Err() == nil {
		_, err := vigilv1.NewWorkClient(c).Wait(ctx,
			&vigilv1.WaitRequest{Speaker: a.speaker, MaxWait: durationpb.New(10 * time.Minute)})
		took := time.Since(x.began) - time.Duration(x.sent[role].Load())
		x.mu.Lock()
		if err == nil {
			x.tally.ops++
			x.tally.add(took)
			if x.left--; x.left == 0 {
				close(x.held)
			}
		} else if ctx.Err() == nil {
			x.tally.fail(fmt.Errorf("wait: %w", err))
		}
		x.mu.Unlock()
		if err == nil {
			return
		}
		pause(ctx, errorPause)
	}
}

// wake creates a task for everybody and returns when all are held.
func (x *crowd) wake(ctx context.Context, r *run, h herd, writers []*client.Client) error {
	at := time.Now()
	err := each(ctx, h.roles, 2, func(ctx context.Context, i int) error {
		r.say("creating tasks: role %d of %d", i+1, h.roles)
		room, role := h.role(r.tag, i)
		writes := make([]*vigilv1.Write, h.replicas)
		for k := range writes {
			writes[k] = &vigilv1.Write{Op: &vigilv1.Write_CreateTask{
				CreateTask: &vigilv1.CreateTaskRequest{Room: room, Role: role, Title: "wake up", By: "bench"}}}
		}
		x.sent[i].Store(int64(time.Since(x.began)))
		_, err := batch(ctx, writers[i%len(writers)], writes)
		return err
	})
	if err != nil {
		return fmt.Errorf("create tasks: %w", err)
	}
	limit := time.NewTimer(readyLimit + time.Duration(h.roles)*time.Second)
	defer limit.Stop()
	select {
	case <-x.held:
	case <-limit.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tally.seconds = time.Since(at).Seconds()
	r.report.set("never_woken", x.left)
	return nil
}
