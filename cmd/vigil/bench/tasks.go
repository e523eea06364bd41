package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func tasksSpec() *Spec {
	return &Spec{
		Name: "tasks", Short: "Whole lives of tasks: create, claim, start, complete",
		Long: `Every client speaks for --batch agents of a role of its own. It creates as many
tasks in one call, lets each agent claim one in the next, start it in the third and
complete it in the fourth: four acknowledged, durable writes a task. With --batch 1
it makes single calls, as a Go client does: two a task, one that creates the next task and
one (Next) that completes the one in hand, takes the next and starts it. Latency is that of
a whole round. At the end every task is read back: each must be completed, by exactly one
completion.`,
		Uses:     []string{"duration", "clients", "batch", "conns"},
		Defaults: Options{Clients: []int{12}, Batch: 512, Duration: 10 * time.Second, Conns: 4},
		run:      runTasks,
	}
}

// rounds drives the agents of one role, in batches or one by one.
type rounds struct {
	c      *client.Client
	agents []agent
	book   *taskBook
	held   *vigilv1.WorkRequest // with single calls: the task in hand, claimed and started
}

func runTasks(ctx context.Context, r *run) error {
	callers := r.Clients[len(r.Clients)-1]
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	h := herd{roles: callers, replicas: r.Batch, ttl: time.Hour}
	agents, err := r.gather(ctx, clients[0], h)
	if err != nil {
		return err
	}
	book := newTaskBook()
	drivers := make([]*rounds, callers)
	for i := range drivers {
		drivers[i] = &rounds{c: clients[i%len(clients)], agents: agents[i*r.Batch:][:r.Batch], book: book}
	}
	before, err := r.begin(ctx)
	if err != nil {
		return err
	}
	r.say("working for %s", r.Duration)
	t := load{callers, warmUp(r.Duration), r.Duration}.drive(ctx, func(ctx context.Context, i int) (int, error) {
		if r.Batch == 1 {
			return 1, drivers[i].single(ctx)
		}
		return r.Batch, drivers[i].round(ctx)
	})
	r.report.take(t)
	r.report.set("clients", callers)
	r.report.set("batch", r.Batch)
	writes := 4.0
	if r.Batch == 1 {
		writes = 2
	}
	r.report.set("commands_per_second", writes*r.report.PerSecond)
	if err := r.measureAfter(ctx, before); err != nil {
		return err
	}
	if err := finish(ctx, drivers); err != nil {
		return err
	}
	return book.verify(ctx, r, clients[0], h)
}

// round takes as many tasks as there are agents through their lives.
func (d *rounds) round(ctx context.Context) error {
	writes := make([]*vigilv1.Write, len(d.agents))
	for i, a := range d.agents {
		writes[i] = &vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
			Room: a.room, Role: a.role, Title: "task", Text: "a small task of the benchmark", By: "bench"}}}
	}
	made, err := batch(ctx, d.c, writes)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	for _, m := range made {
		d.book.created(m.GetTask())
	}
	for i, a := range d.agents {
		writes[i] = &vigilv1.Write{Op: &vigilv1.Write_Claim{Claim: &vigilv1.ClaimRequest{Speaker: a.speaker}}}
	}
	claims, err := batch(ctx, d.c, writes)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	words := make([]*vigilv1.WorkRequest, len(d.agents))
	for i, a := range d.agents {
		words[i] = &vigilv1.WorkRequest{Speaker: a.speaker, Task: claims[i].GetTask(), Attempt: claims[i].GetAttempt()}
		writes[i] = &vigilv1.Write{Op: &vigilv1.Write_StartTask{StartTask: words[i]}}
	}
	if _, err := batch(ctx, d.c, writes); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for i, w := range words {
		writes[i] = &vigilv1.Write{Op: &vigilv1.Write_CompleteTask{CompleteTask: completion(w)}}
	}
	if _, err := batch(ctx, d.c, writes); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	for _, w := range words {
		d.book.completed(w.GetTask())
	}
	return nil
}

// completion ends the task that a word is about.
func completion(w *vigilv1.WorkRequest) *vigilv1.CompleteTaskRequest {
	return &vigilv1.CompleteTaskRequest{Speaker: w.GetSpeaker(), Task: w.GetTask(), Attempt: w.GetAttempt()}
}

// single takes one task through its life in single calls: it creates the next one, and completes the one in
// hand and takes the next in one.
func (d *rounds) single(ctx context.Context) error {
	a, work := d.agents[0], vigilv1.NewWorkClient(d.c)
	if d.held == nil {
		if err := d.create(ctx); err != nil {
			return err
		}
		claim, err := work.Claim(ctx, &vigilv1.ClaimRequest{Speaker: a.speaker, Start: true})
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		d.held = wordOn(a, claim)
	}
	if err := d.create(ctx); err != nil {
		return err
	}
	w := d.held
	d.held = nil
	next, err := work.Next(ctx, &vigilv1.NextRequest{Speaker: a.speaker, Task: w.GetTask(), Attempt: w.GetAttempt(),
		Start: true, End: &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{}}})
	if err != nil {
		return fmt.Errorf("complete and take the next: %w", err)
	}
	d.book.completed(w.GetTask())
	if next.GetClaim() == nil {
		return fmt.Errorf("take the next: %s", next.GetNone().GetMessage())
	}
	d.held = wordOn(a, next.GetClaim())
	return nil
}

// create makes a task of the driver's role.
func (d *rounds) create(ctx context.Context) error {
	a := d.agents[0]
	t, err := vigilv1.NewFleetClient(d.c).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: a.room, Role: a.role,
		Title: "task", Text: "a small task of the benchmark", By: "bench"})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	d.book.created(t.GetId())
	return nil
}

func wordOn(a agent, claim *vigilv1.ClaimResponse) *vigilv1.WorkRequest {
	return &vigilv1.WorkRequest{Speaker: a.speaker, Task: claim.GetTask().GetId(), Attempt: claim.GetAttempt()}
}

// finish completes what is in hand at the end.
func finish(ctx context.Context, drivers []*rounds) error {
	var all errgroup.Group
	for _, d := range drivers {
		if d.held == nil {
			continue
		}
		all.Go(func() error {
			if _, err := vigilv1.NewWorkClient(d.c).CompleteTask(ctx, completion(d.held)); err != nil {
				return fmt.Errorf("complete what is in hand: %w", err)
			}
			d.book.completed(d.held.GetTask())
			return nil
		})
	}
	return all.Wait()
}

// taskBook keeps what the cluster has acknowledged, to compare it with what the
// cluster says at the end. Safe for concurrent use.
type taskBook struct {
	mu    sync.Mutex
	tasks map[uint64]uint32 // completions by acknowledged task
}

func newTaskBook() *taskBook { return &taskBook{tasks: map[uint64]uint32{}} }

func (b *taskBook) created(id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[id] += 0
}

func (b *taskBook) completed(id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[id]++
}

// open counts the acknowledged tasks that have no completion yet.
func (b *taskBook) open() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, times := range b.tasks {
		if times == 0 {
			n++
		}
	}
	return n
}

// verdict is what became of the tasks.
type verdict struct {
	created, completed int64
	lost               int64 // acknowledged and not there, or completed and not so in the end
	twice              int64 // with more than one acknowledged completion
	unfinished         int64 // there, and nobody was told that it is completed
}

// verify reads all tasks back.
func (b *taskBook) verify(ctx context.Context, r *run, c *client.Client, h herd) error {
	done := map[uint64]bool{}
	read := 0
	for _, room := range h.rooms(r.tag) {
		after := uint64(0)
		for {
			page, err := vigilv1.NewFleetClient(c).ListTasks(ctx,
				&vigilv1.ListTasksRequest{Room: room.Room, After: after, Limit: 1000})
			if err != nil {
				return fmt.Errorf("read tasks back: %w", err)
			}
			for _, t := range page.GetTasks() {
				done[t.GetId()] = t.GetState() == vigilv1.TaskState_COMPLETED
			}
			read += len(page.GetTasks())
			r.say("reading tasks back: %d", read)
			if after = page.GetNext(); after == 0 {
				break
			}
		}
	}
	v := b.judge(done)
	r.report.set("tasks_created", v.created)
	r.report.set("tasks_completed", v.completed)
	r.report.set("tasks_lost", v.lost)
	r.report.set("tasks_twice", v.twice)
	r.report.set("tasks_unfinished", v.unfinished)
	return nil
}

// judge compares the book with the tasks that the cluster has, by whether they are
// completed.
func (b *taskBook) judge(done map[uint64]bool) (v verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, times := range b.tasks {
		v.created++
		switch ok, there := done[id]; {
		case !there, !ok && times > 0:
			v.lost++
		case !ok:
			v.unfinished++
		}
		if times > 1 {
			v.twice++
		}
	}
	for _, ok := range done {
		if ok {
			v.completed++
		}
	}
	return v
}
