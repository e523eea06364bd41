package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// purses are the budgets in bytes; history fills itself.
var purses = [...]string{"tasks", "mail", "agents", "hosts", "sessions", "history"}

func fullSpec() *Spec {
	defaults := noun.DefaultSettings()
	return &Spec{
		Name: "full", Short: "Servers whose every budget is used up",
		Long: `Gives all budgets --count MiB together, fills each of them through the API until what
is new is refused, and measures what a server then holds in terms of what the budgets
count. Then restarts every server, lets one that is full and was stopped for a while
catch up by a snapshot, takes another, and finishes, cancels and deletes: writes that
shrink must work, and make room for new ones. The servers keep few log entries, so
that the stopped one needs the snapshot.`,
		Uses: []string{"count", "conns"}, CountHelp: "MiB that all budgets have together",
		Defaults: Options{Count: int(defaults.Budget.Total() >> 20), Conns: 8},
		Own:      true, Config: "limits:\n  snapshot_entries: 4096\n  trailing_logs: 64\n",
		run: runFull,
	}
}

// fuller fills a cluster until it refuses.
type fuller struct {
	*run
	clients []*client.Client
	sent    atomic.Int64

	mu    sync.Mutex
	rooms []string // that were declared
}

func runFull(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	f := &fuller{run: r, clients: clients}
	if err := f.budget(ctx); err != nil {
		return err
	}
	begin := time.Now()
	for _, step := range []struct {
		what string
		fill func(context.Context) error
	}{{"rooms of agents", f.declare}, {"tasks", f.tasks}, {"mail", f.mail}, {"hosts", f.hosts},
		{"sessions", f.sessions}} {
		r.say("filling with %s", step.what)
		if err := step.fill(ctx); err != nil {
			return fmt.Errorf("fill with %s: %w", step.what, err)
		}
	}
	r.report.Count, r.report.Seconds = f.sent.Load(), time.Since(begin).Seconds()
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	r.quiet(ctx)
	if err := f.measure(ctx, "full"); err != nil {
		return err
	}
	if err := f.restartAll(ctx); err != nil {
		return err
	}
	if err := f.catchUp(ctx); err != nil {
		return err
	}
	r.say("taking another snapshot")
	at := time.Now()
	size, err := save(ctx, clients[0])
	if err != nil {
		return err
	}
	r.report.set("snapshot_mib", float64(size)/(1<<20))
	r.report.set("snapshot_seconds", time.Since(at).Seconds())
	return f.shrink(ctx)
}

// budget gives every budget its share of Count MiB.
func (f *fuller) budget(ctx context.Context) error {
	set := noun.DefaultSettings()
	values := map[string]string{"budget_room_share": "100", "mail_kept": "10000000", "max_sessions": "10000000",
		"max_hosts":  "1000000",
		"max_agents": "100000000", "max_rooms": "100000"}
	total := set.Budget.Total()
	for i, size := range [...]uint64{set.Budget.Tasks, set.Budget.Mail, set.Budget.Agents, set.Budget.Hosts,
		set.Budget.Sessions, set.Budget.History} {
		values["budget_"+purses[i]] = strconv.FormatUint(max(64<<10, size*uint64(f.Count)<<20/total), 10)
	}
	_, err := vigilv1.NewClusterClient(f.clients[0]).PutSettings(ctx,
		&vigilv1.PutSettingsRequest{Values: values, By: "bench"})
	if err != nil {
		return fmt.Errorf("set budgets: %w", err)
	}
	return nil
}

// untilFull repeats a write with growing numbers on all clients until one is refused as full.
func (f *fuller) untilFull(ctx context.Context, write func(ctx context.Context, c *client.Client, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	full := errors.New("full")
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range 2 * len(f.clients) {
		all.Go(func() {
			for ctx.Err() == nil {
				switch err := write(ctx, f.clients[i%len(f.clients)], int(next.Add(1)-1)); {
				case errors.Is(err, client.ErrFull):
					cancel(full)
				case err != nil:
					cancel(err)
				default:
					f.sent.Add(1)
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, full) {
		return err
	}
	return nil
}

func (f *fuller) room(i int) string { return f.rooms[i%len(f.rooms)] }

func (f *fuller) declare(ctx context.Context) error {
	if err := f.untilFull(ctx, func(ctx context.Context, c *client.Client, i int) error {
		name := fmt.Sprintf("%s-%d", f.tag, i)
		roles := []*vigilv1.RoleSpec{{Name: "a", Replicas: 900}, {Name: "b", Replicas: 100}}
		_, err := vigilv1.NewFleetClient(c).ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: name, Roles: roles,
			By: "bench"})
		if err == nil {
			f.mu.Lock()
			f.rooms = append(f.rooms, name)
			f.mu.Unlock()
		}
		return err
	}); err != nil {
		return err
	}
	if len(f.rooms) < 2 {
		return fmt.Errorf("%d MiB hold %d rooms: give more with --count", f.Count, len(f.rooms))
	}
	f.report.set("rooms", len(f.rooms))
	return nil
}

// tasks are many with short texts, and a tenth of them with long ones.
func (f *fuller) tasks(ctx context.Context) error {
	long := strings.Repeat("Read the notes and write a summary of them. ", 100)
	return f.untilFull(ctx, func(ctx context.Context, c *client.Client, i int) error {
		writes := make([]*vigilv1.Write, 100)
		for k := range writes {
			text := long[:44*(1+99*boolInt(k%10 == 0))]
			writes[k] = &vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
				Room: f.room(i), Role: "a", Title: "task " + strconv.Itoa(i*len(writes)+k), Text: text, By: "bench"}}}
		}
		_, err := batch(ctx, c, writes)
		return err
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mail goes to all agents of a role, which share one text until a server is restarted.
func (f *fuller) mail(ctx context.Context) error {
	body := strings.Repeat("x", 2000)
	return f.untilFull(ctx, func(ctx context.Context, c *client.Client, i int) error {
		_, err := vigilv1.NewMailboxClient(c).SendMail(ctx,
			&vigilv1.SendMailRequest{From: "bench", To: f.room(i) + "/b", Subject: "news", Body: body})
		return err
	})
}

func (f *fuller) hosts(ctx context.Context) error {
	return f.untilFull(ctx, func(ctx context.Context, c *client.Client, i int) error {
		_, err := vigilv1.NewHostAgentClient(c).Register(ctx,
			&vigilv1.RegisterRequest{Key: fmt.Sprintf("%s-%d", f.tag, i), Name: fmt.Sprintf("host-%d", i),
				Boot: "b1", Runners: []string{"worker", "reviewer"}})
		return err
	})
}

func (f *fuller) sessions(ctx context.Context) error {
	return f.untilFull(ctx, func(ctx context.Context, c *client.Client, _ int) error {
		_, err := vigilv1.NewWorkClient(c).OpenSession(ctx, &vigilv1.OpenSessionRequest{Client: "bench"})
		return err
	})
}

// measure reports what is used of each budget, and what the servers hold.
func (f *fuller) measure(ctx context.Context, name string) error {
	lead, err := f.stand.leader(ctx)
	if err != nil {
		return err
	}
	m, err := lead.scrape(ctx)
	if err != nil {
		return err
	}
	used := 0.0
	for _, p := range purses {
		n := m[fmt.Sprintf("vigil_budget_used_bytes{budget=%q}", p)]
		used += n
		f.report.set(name+"_"+p+"_mib", n/(1<<20))
	}
	f.report.set(name+"_used_mib", used/(1<<20))
	if err := f.reportRSS(ctx, name+"_rss"); err != nil {
		return err
	}
	f.report.set(name+"_heap_per_used", f.report.figure(name+"_rss_heap_mib")/(used/(1<<20)))
	return nil
}

// restartAll kills one server after the other and waits until each has everything again.
func (f *fuller) restartAll(ctx context.Context) error {
	var longest time.Duration
	for _, sv := range f.stand.servers {
		f.say("killing %s and starting it again", sv.id)
		sv.kill()
		at := time.Now()
		if err := sv.start(); err != nil {
			return err
		}
		if err := f.stand.caughtUp(ctx, sv, restoreLimit); err != nil {
			return err
		}
		longest = max(longest, time.Since(at))
	}
	f.report.set("restart_most_seconds", longest.Seconds())
	f.quiet(ctx)
	return f.measure(ctx, "restarted")
}

// catchUp stops a follower until the log no longer reaches back to where it is, and lets it
// go on: it holds its own state and the snapshot's at once.
func (f *fuller) catchUp(ctx context.Context) error {
	lead, err := f.stand.leader(ctx)
	if err != nil {
		return err
	}
	var late *server
	for _, sv := range f.stand.servers {
		if sv != lead {
			late = sv
		}
	}
	f.say("stopping %s until it needs a snapshot", late.id)
	if err := late.proc.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop %s: %w", late.id, err)
	}
	const rounds = 12_000 // log entries; the servers snapshot every 4,096 and keep 64
	c := vigilv1.NewFleetClient(f.clients[0])
	if err := each(ctx, rounds, 1, func(ctx context.Context, i int) error {
		_, err := c.SetAgent(ctx,
			&vigilv1.SetAgentRequest{Agent: f.room(0) + "/b", Desired: [...]string{"stopped", "running"}[i%2],
				By: "bench"})
		return err
	}); err != nil {
		return errors.Join(err, late.proc.cmd.Process.Signal(syscall.SIGCONT))
	}
	f.quiet(ctx)
	at := time.Now()
	if err := late.proc.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue %s: %w", late.id, err)
	}
	if err := f.stand.caughtUp(ctx, late, restoreLimit); err != nil {
		return err
	}
	f.report.set("install_seconds", time.Since(at).Seconds())
	return f.reportRSS(ctx, "installed_rss")
}

// shrink cancels tasks and deletes rooms in the full cluster, and sees that new work fits.
func (f *fuller) shrink(ctx context.Context) error {
	f.say("cancelling and deleting")
	fleet := vigilv1.NewFleetClient(f.clients[0])
	tasks, err := fleet.ListTasks(ctx, &vigilv1.ListTasksRequest{Room: f.room(1), Limit: 100})
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	var times samples
	for _, t := range tasks.GetTasks() {
		at := time.Now()
		if _, err := fleet.CancelTask(ctx,
			&vigilv1.CancelTaskRequest{Task: t.GetId(), By: "bench", Reason: "enough"}); err != nil {
			return fmt.Errorf("cancel task %d: %w", t.GetId(), err)
		}
		times.add(time.Since(at))
	}
	at := time.Now()
	if _, err := fleet.DeleteRoom(ctx, &vigilv1.DeleteRoomRequest{Room: f.room(0), By: "bench"}); err != nil {
		return fmt.Errorf("delete room: %w", err)
	}
	f.report.set("delete_room_ms", time.Since(at))
	f.report.set("cancelled", len(times.times))
	f.report.times(&times)
	if _, err := fleet.CreateTask(ctx,
		&vigilv1.CreateTaskRequest{Room: f.room(1), Role: "a", Title: "after", By: "bench"}); err != nil {
		return fmt.Errorf("create a task after others have ended: %w", err)
	}
	return f.measure(ctx, "end")
}
