package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func failoverSpec() *Spec {
	return &Spec{
		Name: "failover", Short: "Kill the leader again and again, and see how soon writes go on",
		Long: `Kills the leader with SIGKILL --count times. Latency is the time from the kill to the
acknowledgement of the first write that was begun after it. All the time --clients
agents wait, work and beat, and --rate tasks a second are created. A killed server is
started again and has everything before the next kill. At the end no lease of a
beating agent may have ended, and each task must be completed exactly once.`,
		Uses: []string{"count", "clients", "rate", "ttl"}, CountHelp: "kills",
		Defaults: Options{Count: 20, Clients: []int{30}, Rate: 50, TTL: 10 * time.Second, Conns: 3},
		Own:      true, run: runFailover,
	}
}

// calm is how long a cluster is left alone between a restart and the next kill.
const calm = time.Second

func runFailover(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	probe, err := r.stand.dial(1, false)
	if err != nil {
		return err
	}
	workers := r.Clients[len(r.Clients)-1]
	h := herd{roles: 1, replicas: workers, ttl: r.TTL}
	if err := r.declare(ctx, probe[0], h); err != nil {
		return err
	}
	start, err := vigilv1.NewClusterClient(probe[0]).Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return fmt.Errorf("ask status: %w", err)
	}
	x := &crew{book: newTaskBook()}
	x.room, x.role = h.role(r.tag, 0)
	work, stop := context.WithCancel(ctx)
	create, enough := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	defer enough()
	for i := range workers {
		all.Go(func() { x.work(work, clients[i%len(clients)], agentName(x.room, x.role, i+1)) })
	}
	var creating sync.WaitGroup
	creating.Go(func() {
		paced(create, r.Rate, time.Hour, func(i int) { x.create(work, clients[i%len(clients)], i) })
	})
	began := time.Now()
	rounds, err := x.kills(ctx, r, probe[0])
	enough()
	creating.Wait()
	if err != nil {
		return err
	}
	x.drain(ctx)
	stop()
	all.Wait()

	r.report.take(rounds)
	r.report.Seconds = time.Since(began).Seconds()
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	r.report.fail(x.failed.Load(), x.reason())
	r.report.set("workers", workers)
	r.report.set("ttl_seconds", r.TTL.Seconds())
	if err := r.afterKills(ctx, probe[0], start, int(rounds.ops)); err != nil {
		return err
	}
	return x.book.verify(ctx, r, probe[0], h)
}

// afterKills reads from the history what the kills have done.
func (r *run) afterKills(ctx context.Context, c *client.Client, start *vigilv1.StatusResponse, kills int) error {
	ended, err := countEvents(ctx, c, start.GetLastEvent(), "agent.lease_ended")
	if err != nil {
		return err
	}
	r.report.set("leases_ended", ended)
	end, err := vigilv1.NewClusterClient(c).Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return fmt.Errorf("ask status: %w", err)
	}
	r.report.set("elections_beyond_kills", int(end.GetTerm()-start.GetTerm())-kills)
	return nil
}

// crew is the agents that work while leaders die.
type crew struct {
	room, role string
	book       *taskBook
	failed     atomic.Int64
	first      atomic.Pointer[error]
}

func (x *crew) fail(err error) {
	x.failed.Add(1)
	x.first.CompareAndSwap(nil, &err)
}

func (x *crew) reason() error {
	if p := x.first.Load(); p != nil {
		return *p
	}
	return nil
}

// kills is the rounds of the benchmark; their times are from kill to write.
func (x *crew) kills(ctx context.Context, r *run, c *client.Client) (*tally, error) {
	t := &tally{}
	fleet := vigilv1.NewFleetClient(c)
	for i := range r.Count {
		pause(ctx, calm)
		if err := x.create(ctx, c, -i); err != nil { // the client knows the leader now
			return t, err
		}
		lead, err := r.stand.leader(ctx)
		if err != nil {
			return t, err
		}
		r.say("kill %d of %d: %s", i+1, r.Count, lead.id)
		at := time.Now()
		lead.kill()
		task, err := fleet.CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: x.room, Role: x.role,
			Title: "after kill " + strconv.Itoa(i+1), By: "bench"})
		took := time.Since(at)
		if err != nil {
			return t, fmt.Errorf("write after kill %d: %w", i+1, err)
		}
		x.book.created(task.GetId())
		t.ops++
		t.add(took)
		if err := lead.start(); err != nil {
			return t, err
		}
		if err := r.stand.caughtUp(ctx, lead, readyLimit); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (x *crew) create(ctx context.Context, c *client.Client, i int) error {
	t, err := vigilv1.NewFleetClient(c).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: x.room, Role: x.role,
		Title: "task " + strconv.Itoa(i), By: "bench"})
	if err != nil {
		if ctx.Err() == nil {
			x.fail(fmt.Errorf("create: %w", err))
		}
		return err
	}
	x.book.created(t.GetId())
	return nil
}

// work is the life of one agent: it beats from beginning to end.
func (x *crew) work(ctx context.Context, c *client.Client, name string) {
	w, err := client.Join(ctx, c, client.WorkerConfig{Agent: name})
	if err != nil {
		x.fail(fmt.Errorf("join: %w", err))
		return
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
		defer cancel()
		_ = w.Leave(bye, "the benchmark is over") // the servers are about to end
	}()
	for ctx.Err() == nil {
		job, err := w.Wait(ctx)
		if err == nil {
			err = x.do(ctx, job)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		x.fail(fmt.Errorf("work: %w", err))
		if w.Context().Err() != nil {
			return
		}
		pause(ctx, errorPause)
	}
}

func (x *crew) do(ctx context.Context, job *client.Job) error {
	if err := job.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := job.Complete(ctx, "done"); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	x.book.completed(job.Task.GetId())
	return nil
}

// drain lets the agents finish what was created.
func (x *crew) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for ctx.Err() == nil && x.book.open() > 0 {
		pause(ctx, 20*time.Millisecond)
	}
}

// countEvents counts the events of a kind behind an event.
func countEvents(ctx context.Context, c *client.Client, after uint64, kind string) (n int, err error) {
	stream, err := vigilv1.NewFleetClient(c).WatchEvents(ctx, &vigilv1.WatchEventsRequest{After: after, NoFollow: true})
	if err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("read events: %w", err)
		}
		if e.GetKind() == kind {
			n++
		}
	}
}
