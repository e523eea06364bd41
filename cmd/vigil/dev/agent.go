package dev

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// newDevAgentCmd is `vigil dev-agent`, an agent of the demo: it waits for tasks of
// its role and does real work on files.
func newDevAgentCmd(a *cli.App) *cobra.Command {
	d := &devAgent{}
	var idle time.Duration
	cmd := &cobra.Command{
		Use:       "dev-agent checksum|words|vet",
		Short:     "An agent of the demo",
		Hidden:    true,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"checksum", "words", "vet"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := os.OpenRoot(d.files)
			if err != nil {
				return cli.Usagef("flag --files: %w", err)
			}
			defer root.Close()
			d.root, d.trade = root, map[string]trade{"checksum": d.checksum, "words": d.words, "vet": d.vet}[args[0]]
			return playAgent(cmd.Context(), a, d, idle)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&d.files, "files", ".", "folder of the files that tasks may name")
	fl.DurationVar(&d.pace, "pace", 0, "least time for a step, so that people can watch")
	fl.DurationVar(&idle, "idle", 0, "leave when no task came for so long (0: never)")
	return cmd
}

// devAgent does the work of the demo's tasks. The text of a task names a file below
// files.
type devAgent struct {
	files string
	root  *os.Root // opened on files: names cannot lead out of it
	pace  time.Duration
	trade trade
	hung  atomic.Bool
}

// trade is what an agent can do: it returns the result of a task.
type trade func(ctx context.Context, job *client.Job, name string) (string, error)

// playAgent is the life of one agent of the demo.
func playAgent(ctx context.Context, a *cli.App, d *devAgent, idle time.Duration) error {
	conf, err := client.WorkerFromEnv(a.Getenv)
	if err != nil {
		return cli.WrongUsage(err)
	}
	addrs, err := a.Addresses()
	if err != nil {
		return err
	}
	c, err := client.Open(client.Config{Addrs: addrs, File: a.ServersFile(), Name: "agent " + conf.Agent})
	if err != nil {
		return cli.WrongUsage(err)
	}
	defer c.Close()
	quiet := newIdleness(idle)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go quiet.watch(ctx, cancel)
	go d.report(ctx, vigilv1.NewWorkClient(c), conf)
	return client.Work(ctx, c, conf, func(ctx context.Context, job *client.Job) (string, error) {
		defer quiet.busy()()
		text := strings.TrimSpace(job.Task.GetText())
		if text == devHang {
			return d.hang(ctx, job)
		}
		return d.trade(ctx, job, text)
	})
}

// devHang is the text of a task at which an agent hangs.
const devHang = "hang"

// hang does nothing any more, as a program that waits for an answer that never comes: the
// lease goes on, since what beats is not what works. The next attempt is no trouble.
func (d *devAgent) hang(ctx context.Context, job *client.Job) (string, error) {
	if job.Attempt > 1 {
		return fmt.Sprintf("done with attempt %d; the life before hung", job.Attempt), nil
	}
	d.hung.Store(true)
	<-ctx.Done()
	return "", ctx.Err()
}

// report says every devHealth that the agent is healthy, until it hangs.
func (d *devAgent) report(ctx context.Context, work vigilv1.WorkClient, conf client.WorkerConfig) {
	me := &vigilv1.Speaker{Agent: conf.Agent, Incarnation: conf.Incarnation, Token: conf.Token}
	for tick := time.Tick(devHealth); !d.hung.Load(); {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		short, cancel := context.WithTimeout(ctx, devHealth)
		_, _ = work.Declare(short, &vigilv1.DeclareRequest{Speaker: me, Status: "healthy"}) // the next one follows
		cancel()
	}
}

// step notes progress and gives people time to see it.
func (d *devAgent) step(ctx context.Context, job *client.Job, format string, args ...any) error {
	if err := job.Progress(ctx, fmt.Sprintf(format, args...)); err != nil {
		return err
	}
	if d.pace <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.pace):
		return nil
	}
}

// idleness measures how long an agent has had no task.
type idleness struct {
	limit time.Duration

	mu      sync.Mutex
	working bool
	since   time.Time
}

func newIdleness(limit time.Duration) *idleness {
	return &idleness{limit: limit, since: time.Now()}
}

// busy notes that a task has begun; what it returns, that it has ended.
func (i *idleness) busy() func() {
	set := func(working bool) {
		i.mu.Lock()
		i.working, i.since = working, time.Now()
		i.mu.Unlock()
	}
	set(true)
	return func() { set(false) }
}

// watch calls leave when the limit is reached, unless there is none.
func (i *idleness) watch(ctx context.Context, leave func()) {
	if i.limit <= 0 {
		return
	}
	for {
		i.mu.Lock()
		left := i.limit - time.Since(i.since)
		if i.working {
			left = i.limit
		}
		i.mu.Unlock()
		if left <= 0 {
			leave()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}
