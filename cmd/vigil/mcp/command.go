package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/client"
)

// Limits of `vigil mcp`.
const (
	// defaultMCPWait stays below the minute after which many clients give a call up.
	defaultMCPWait = 45 * time.Second
	// MaxWait is the longest that one call of wait_for_task may last.
	MaxWait = time.Hour
)

// NewCommand is `vigil mcp`.
func NewCommand(a *cli.App) *cobra.Command {
	var who life.Flags
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "As an agent: serve the agent's words as MCP tools on standard input and output",
		Long: `Serve the Model Context Protocol on standard input and output, for the AI tool that
starts this program: wait for tasks, start, progress, complete, hand off, fail, declare,
remember, mail, and see colleagues, as tools. It joins the room at once and beats while it
runs; when the client closes its end it leaves the room (a managed agent that holds a
task stays, its supervisor vouches for it).

Inside a managed agent no flags are needed: VIGIL_AGENT, VIGIL_INCARNATION and
VIGIL_TOKEN_FILE say who speaks. By hand name the agent. In a program that ` + "`vigil task exec`" + `
runs for a task (VIGIL_TASK) it serves that task only, and takes no other. --timeout bounds every
call but the wait. What happens is logged on standard error, never the text of a task or a mail.`,
		Example: `  vigil mcp
  vigil mcp --agent 'web/builder.*' --wait 10m
  claude mcp add vigil -- vigil mcp --agent web/builder`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait < time.Second || wait > MaxWait {
				return cli.Usagef("flag --wait: %s; give between 1s and %s", wait, MaxWait)
			}
			getenv := a.Getenv
			a.Getenv = func(name string) string { return expanded(getenv(name)) }
			return serveMCP(cmd.Context(), a, &who, wait)
		},
	}
	who.Add(cmd, a)
	cmd.Flags().DurationVar(&wait, "wait", defaultMCPWait,
		"how long one call of wait_for_task lasts when the model does not say; below the time-out of the client")
	return cmd
}

// serveMCP is the command: it serves until the client closes its end, a signal comes,
// or the process that started it is gone.
func serveMCP(ctx context.Context, a *cli.App, who *life.Flags, wait time.Duration) error {
	l, managed, err := who.Joining(a, life.Owner())
	if err != nil {
		return err
	}
	only, err := l.RunsFor(a)
	if err != nil {
		return err
	}
	conn, err := a.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer a.KeepRenewed(ctx, conn)()
	for _, p := range []life.Process{life.ProcessOf(os.Getppid()), l.Owner} {
		go life.WhenGone(ctx, p, func() { stop(agent.ErrParentGone) })
	}
	d := newDesk(a, conn, l, managed, wait)
	d.only = only
	err = d.serve(ctx, stop, &mcp.IOTransport{Reader: io.NopCloser(a.In), Writer: unclosed{a.Out}})
	if sig, ok := context.Cause(ctx).(cli.SignalError); ok {
		return sig
	}
	return err
}

// expanded is a value of the environment, "" for one that a client's configuration names
// and its environment does not have: some clients pass the name on then.
func expanded(value string) string {
	if strings.HasPrefix(value, "$") || strings.HasPrefix(value, "{env:") {
		return ""
	}
	return value
}

// unclosed is standard output: whoever started us closes it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// serve joins the room, serves one client, and leaves.
func (d *mcpDesk) serve(ctx context.Context, stop context.CancelCauseFunc, t mcp.Transport) error {
	d.gone = ctx
	server := mcp.NewServer(&mcp.Implementation{Name: "vigil", Title: "vigil", Version: cli.Version()},
		&mcp.ServerOptions{Instructions: d.instructions(), Capabilities: &mcp.ServerCapabilities{}})
	offer := newOffer(server, d)
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		d.enter(ctx)
		offer.settle(ctx)
	}()
	err := server.Run(ctx, t)
	stop(errClientGone)
	<-entered
	if e := d.leave(context.WithoutCancel(ctx)); e != nil {
		d.log.Warn("the room was not left; the lease ends by itself", "error", e)
	}
	if context.Cause(ctx) != errClientGone || errors.Is(err, context.Canceled) {
		err = nil // it was ended on purpose
	}
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "invalid character"): // the library's decoder has no error of its own
		return cli.Usagef("what came on standard input is not MCP (%w): a client such as Claude Code starts this "+
			"command and speaks to it; on a terminal use `vigil wait-for-task`", err)
	}
	return fmt.Errorf("serve MCP: %w", err)
}

// errClientGone is why everything ends when the client has closed its end.
var errClientGone = errors.New("the MCP client is gone")

// joinPause is between two attempts to join; the first ones come sooner.
const joinPause = 5 * time.Second

// enter joins the room, however long it takes: the tools answer meanwhile that it has
// not happened yet, and why.
func (d *mcpDesk) enter(ctx context.Context) {
	pause := joinPause / 16
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, d.callLimit())
		d.began = d.life.Incarnation == 0
		worker, err := client.Join(call, d.conn.Client,
			client.WorkerConfig{Agent: d.life.Agent, Incarnation: d.life.Incarnation, Token: d.life.Token,
				Spool: d.Getenv(client.EnvSpool)})
		cancel()
		if err == nil {
			d.entered(worker)
			return
		}
		if ctx.Err() != nil {
			return
		}
		// What was kept of an earlier life by hand is out of date: begin a new one.
		if !d.managed && d.life.Incarnation != 0 &&
			(errors.Is(err, client.ErrSuperseded) || errors.Is(err, client.ErrNotFound)) {
			d.mu.Lock()
			d.life.Incarnation = 0
			d.mu.Unlock()
			continue
		}
		if d.refused(err) {
			return
		}
		pause = min(2*pause, joinPause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// entered takes note of the join.
func (d *mcpDesk) entered(w *client.Worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.worker = w
	d.life.Agent, d.life.AgentID, d.life.Incarnation = w.Agent(), w.ID(), w.Incarnation()
	// A task that a command or another process of this life has claimed stays noted.
	if kept := life.KeptOf(d.App, d.life); kept == nil || kept.Task == 0 || kept.Task != w.Held() {
		d.keep(nil)
	}
	close(d.settled)
	d.log.Info("joined the room", "agent", w.Agent(), "life", client.FormatIncarnation(w.Incarnation()),
		"managed", w.Managed())
}

// refused takes note of a join that failed and tells whether no other would succeed. A
// slot that is started by hand may be free later.
func (d *mcpDesk) refused(err error) bool {
	final := errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrDenied) ||
		d.managed && (errors.Is(err, client.ErrSuperseded) || errors.Is(err, client.ErrNotFound) ||
			errors.Is(err, client.ErrStopped))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.outside == nil || d.outside.Error() != err.Error() {
		d.log.Warn("not in the room yet", "error", err)
	}
	d.outside = err
	if final {
		d.over = err
		close(d.settled)
	}
	return final
}

// leave ends this process's part in the room. A managed agent that holds a task stays: the AI tool may
// only have started this program again, and if it has ended its supervisor says so. Who has not begun
// the life does not end it, and who has not claimed the task that it holds does not give it back: an AI
// tool that runs another one in the same life has two of these processes.
func (d *mcpDesk) leave(ctx context.Context) error {
	d.mu.Lock()
	w, job, waited := d.worker, d.job, d.waits > 0
	d.mu.Unlock()
	working := job != nil && job.Context().Err() == nil
	const why = "its MCP client is gone"
	switch {
	case w == nil:
		return nil
	case working && d.managed:
		w.Detach()
		d.log.Info("stays in the room with its task", about(job)...)
		return nil
	case d.only.Task != 0 && !d.began: // whoever runs this for a task goes on with the life
		w.Detach()
		d.log.Info("stays in the room: this was for one task only")
		return nil
	case d.began || working && job.Task.GetId() != w.Held():
		err := life.Goodbye(ctx, w, why)
		if d.began {
			life.Forget(d.App, d.life)
		}
		d.log.Info("left the room")
		return err
	case !w.Managed():
		w.Detach()
		d.log.Info("stays in the room: another process has begun this life")
		return nil
	}
	left, err := life.Part(ctx, d.App, d.conn, w, d.life, waited, why)
	switch {
	case left:
		life.Forget(d.App, d.life)
		d.log.Info("left the room")
	case err == nil:
		d.log.Info("stays in the room: another process of this life works on its task")
	}
	return err
}

// keep notes what is held, nil for nothing, where hooks and commands of the same AI tool find it.
func (d *mcpDesk) keep(job *client.Job) {
	d.life.Task, d.life.Attempt, d.life.Traceparent = 0, 0, ""
	if job != nil {
		d.life.Task, d.life.Attempt, d.life.Traceparent = job.Task.GetId(), job.Attempt, job.Traceparent()
	}
	if err := life.Save(d.App, d.life); err != nil {
		d.log.Warn("hooks and commands beside this one will not know the life", "error", err)
	}
}

// about is what a log line says of a task: nothing that anybody has written.
func about(job *client.Job) []any {
	line := []any{"task", job.Task.GetId(), "attempt", job.Attempt}
	if id := client.TraceID(job.Traceparent()); id != "" {
		line = append(line, "trace", id)
	}
	return line
}

func newMCPLog(a *cli.App) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "vigil mcp", Output: a.Err, Level: hclog.Info})
}
