package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func wakeSpec() *Spec {
	return &Spec{
		Name: "wake", Short: "From the creation of a task until a parked agent holds it",
		Long: `Parks --count agents in waits, spread over all servers, and creates --rate tasks a
second, each in a call of its own at its own time whatever became of the ones before.
Latency is the time from sending the creation to the moment when a waiting agent has
its claim in hand. Agents complete the task, take the next one in the
same write if there is one, and wait again.`,
		Uses: []string{"count", "duration", "rate", "conns"}, CountHelp: "agents that wait",
		// One identity plays all of them, and may have 1,024 calls under way at a server.
		Defaults: Options{Count: 800, Rate: 1000, Duration: 10 * time.Second, Conns: 3},
		run:      runWake,
	}
}

// waking is a run of wake.
type waking struct {
	h     herd
	tag   string
	sent  []atomic.Int64 // since began, by number of the task
	began time.Time
	skip  time.Duration // tasks sent before are warm-up

	mu     sync.Mutex
	tally  tally
	create samples
	book   *taskBook
}

func runWake(ctx context.Context, r *run) error {
	creators, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	waiters, err := r.stand.dial(max(r.Conns, len(r.stand.servers)), true)
	if err != nil {
		return err
	}
	warm := warmUp(r.Duration)
	total := int((warm+r.Duration).Seconds()*float64(r.Rate)) + 1
	h := herd{roles: max(1, r.Count/20), replicas: min(20, r.Count), ttl: time.Hour}
	w := &waking{h: h, tag: r.tag, sent: make([]atomic.Int64, total), skip: warm, book: newTaskBook()}
	agents, err := r.gather(ctx, creators[0], h)
	if err != nil {
		return err
	}
	waitCtx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i, a := range agents {
		all.Go(func() { w.wait(waitCtx, waiters[i%len(waiters)], a) })
	}
	if err := r.parked(ctx, len(agents)); err != nil {
		return err
	}
	before, err := r.begin(ctx)
	if err != nil {
		return err
	}
	r.say("creating %d tasks a second for %s", r.Rate, r.Duration)
	w.began = time.Now()
	n, late := paced(ctx, r.Rate, warm+r.Duration, func(i int) { w.make(ctx, creators[i%len(creators)], i) })
	if err := r.measureAfter(ctx, before); err != nil {
		return err
	}
	w.drain(ctx)
	if after, err := r.measure(ctx); err == nil {
		r.reportWaking(before, after, n)
	}
	stop()
	all.Wait()
	w.report(r, n, &late)
	return w.book.verify(ctx, r, creators[0], h)
}

// make creates the i-th task.
func (w *waking) make(ctx context.Context, c *client.Client, i int) {
	room, role := w.h.role(w.tag, i%w.h.roles)
	at := time.Since(w.began)
	w.sent[i].Store(int64(at))
	t, err := vigilv1.NewFleetClient(c).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: room, Role: role,
		Title: strconv.Itoa(i), By: "bench"})
	took := time.Since(w.began) - at
	if err == nil {
		w.book.created(t.GetId())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.tally.fail(fmt.Errorf("create: %w", err))
	case at >= w.skip:
		w.create.add(took)
	}
}

// wait is the life of one agent, as client.Work leads it.
func (w *waking) wait(ctx context.Context, c *client.Client, a agent) {
	work := vigilv1.NewWorkClient(c)
	var in *vigilv1.ClaimResponse // hand
	for ctx.Err() == nil {
		var err error
		if in, err = w.next(ctx, work, a, in); err == nil {
			w.note(in, time.Now())
		} else if ctx.Err() == nil {
			w.mu.Lock()
			w.tally.fail(err)
			w.mu.Unlock()
			pause(ctx, errorPause)
		}
	}
}

// next completes what is in hand, if anything is, and gives the next task, which it waits for if there is none yet.
func (w *waking) next(
	ctx context.Context, work vigilv1.WorkClient, a agent, in *vigilv1.ClaimResponse,
) (*vigilv1.ClaimResponse, error) {
	if in != nil {
		answer, err := work.Next(ctx, &vigilv1.NextRequest{Speaker: a.speaker, Task: in.GetTask().GetId(),
			Attempt: in.GetAttempt(), End: &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{}}})
		if err != nil {
			return nil, fmt.Errorf("complete: %w", err)
		}
		w.book.completed(in.GetTask().GetId())
		if answer.GetClaim() != nil {
			return answer.GetClaim(), nil
		}
	}
	claim, err := work.Wait(ctx, &vigilv1.WaitRequest{Speaker: a.speaker, MaxWait: durationpb.New(5 * time.Minute)})
	if err != nil {
		return nil, fmt.Errorf("wait: %w", err)
	}
	return claim, nil
}

func (w *waking) note(claim *vigilv1.ClaimResponse, held time.Time) {
	i, err := strconv.Atoi(claim.GetTask().GetTitle())
	if err != nil || i >= len(w.sent) {
		return
	}
	at := time.Duration(w.sent[i].Load())
	w.mu.Lock()
	defer w.mu.Unlock()
	if at >= w.skip {
		w.tally.ops++
		w.tally.add(held.Sub(w.began) - at)
	}
}

// drain lets the waiters finish what was created.
func (w *waking) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for ctx.Err() == nil && w.book.open() > 0 {
		pause(ctx, 10*time.Millisecond)
	}
}

func (w *waking) report(r *run, n int, late *samples) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally.seconds = r.Duration.Seconds()
	r.report.take(&w.tally)
	r.report.set("waiters", w.h.roles*w.h.replicas)
	r.report.set("rate", r.Rate)
	r.report.set("created", n)
	r.report.set("create_p50_ms", w.create.percentile(0.50))
	r.report.set("create_p99_ms", w.create.percentile(0.99))
	r.report.set("send_late_p99_ms", late.percentile(0.99))
}

// parked waits until the servers hold so many waits.
func (r *run) parked(ctx context.Context, n int) error {
	limit := readyLimit + time.Duration(n)*time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		sum := 0
		for _, sv := range r.stand.servers {
			st, err := sv.status(ctx)
			if err == nil {
				sum += int(st.GetWaiters())
			}
		}
		r.say("parking: %d of %d", sum, n)
		if sum >= n {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("park waits: only %d of %d after %s", sum, n, limit)
		}
		pause(ctx, 50*time.Millisecond)
	}
}
