package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newWaitForTaskCmd(a *cli.App) *cobra.Command {
	w := &waitForTask{App: a}
	cmd := &cobra.Command{
		Use:   "wait-for-task",
		Short: "As an agent: wait until there is a task, claim it, print it",
		Long: `Join the room, prove to be alive while waiting, claim the first task of the role,
print it and exit with code 0. Whatever else ends the wait (a signal, --timeout, an
error, nobody reading the output any more, the end of the parent process) leaves the
room at once.

Inside a managed agent no flags are needed: VIGIL_AGENT, VIGIL_INCARNATION and
VIGIL_TOKEN_FILE say who speaks. By hand name the agent, here and in the commands that follow,
or export VIGIL_AGENT=room/role once for all commands of the terminal. Its lease then goes
on after the claim while the calling process lives, until the task is over.`,
		Example: `  vigil wait-for-task
  vigil wait-for-task --agent web/builder --json
  vigil wait-for-task --agent 'web/builder.*' --timeout 10m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.Follow(cmd, w.run) },
	}
	w.who.Add(cmd, a)
	flags := cmd.Flags()
	flags.DurationVar(&w.patience, "patience", 0,
		"give up when no server answers for this long (0: never for a managed agent, 5m by hand)")
	flags.IntVar(&w.follow, "follow-pid", 0, "by hand: the process whose life this is (default: the caller)")
	flags.BoolVar(&w.start, "start", false, "also say that work has begun, as `vigil task start` does")
	return cmd
}

// waitForTask is one run of the command.
type waitForTask struct {
	*cli.App
	who      life.Flags
	patience time.Duration
	follow   int
	start    bool

	// caller waits for us; it may be a shell that only runs this line for the owner.
	caller life.Process
}

// Reasons for leaving that are not errors of a call.
var (
	ErrParentGone = errors.New("the calling process has ended: nobody would work on a task")
	ErrReaderGone = errors.New("nobody reads the output any more")
)

func (w *waitForTask) run(ctx context.Context, c *cli.Conn) error {
	w.caller = life.ProcessOf(os.Getppid())
	if w.follow > 0 {
		w.caller = life.ProcessOf(w.follow)
	}
	l, managed, err := w.identify()
	if err != nil {
		return err
	}
	// From the first call on: without a server to be had, joining can last for ever.
	attended, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, p := range []life.Process{w.caller, l.Owner} {
		go life.WhenGone(attended, p, func() { stop(ErrParentGone) })
	}
	worker, err := client.Join(attended, c.Client, client.WorkerConfig{Agent: l.Agent, Incarnation: l.Incarnation,
		Token: l.Token, Patience: w.patienceOf(managed), Spool: w.Getenv(client.EnvSpool)})
	began := l.Incarnation == 0
	if err != nil && !managed && l.Incarnation != 0 &&
		(errors.Is(err, client.ErrSuperseded) || errors.Is(err, client.ErrNotFound)) {
		// What was kept of an earlier life is out of date: begin a new one.
		l.Incarnation, began = 0, true
		worker, err = client.Join(attended, c.Client, client.WorkerConfig{Agent: l.Agent, Token: l.Token,
			Patience: w.patienceOf(managed)})
	}
	if context.Cause(attended) == ErrParentGone && err != nil {
		return ErrParentGone
	}
	if err != nil {
		return err
	}
	l.Agent, l.AgentID, l.Incarnation = worker.Agent(), worker.ID(), worker.Incarnation()
	if job, err := w.wait(attended, worker, l, managed); err != nil {
		if sig, ok := context.Cause(ctx).(cli.SignalError); ok {
			err = sig
		}
		var e error
		// What this wait has claimed goes back with it, what another one has claimed does not.
		if began || job != nil && job.Task.GetId() != worker.Held() {
			e = life.Goodbye(ctx, worker, leaveReason(err))
		} else {
			_, e = life.Part(ctx, w.App, c, worker, l, job == nil, leaveReason(err))
		}
		if e != nil && !IsGone(err) {
			cli.Report(w.Err, e, w.JSON)
		}
		return err
	}
	worker.Detach()
	return nil
}

// IsGone tells whether the error says that no server can be reached, so that a
// failed good-bye is no news.
func IsGone(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrNoLeader) ||
		errors.Is(err, client.ErrAgentdAway) || errors.Is(err, client.ErrSuperseded)
}

// leaveReason is what the history shows.
func leaveReason(err error) string {
	return term.Cut(term.OneLine(fmt.Sprintf("its wait has ended: %v", err)), 200)
}

// identify says who waits, and whether a supervisor has started it.
func (w *waitForTask) identify() (*life.Life, bool, error) { return w.who.Joining(w.App, w.owner()) }

// owner is the process whose life it is.
func (w *waitForTask) owner() life.Process {
	if w.follow > 0 {
		return life.ProcessOf(w.follow)
	}
	return life.Owner()
}

func (w *waitForTask) patienceOf(managed bool) time.Duration {
	if w.patience == 0 && !managed {
		return 5 * time.Minute
	}
	return w.patience
}

// wait claims a task and hands it to the caller; it gives what was claimed with an error, too.
func (w *waitForTask) wait(ctx context.Context, worker *client.Worker, l *life.Life,
	managed bool) (*client.Job, error) {
	look, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go WhenUnread(look, w.App, func() { stop(ErrReaderGone) })
	job, err := worker.Wait(look)
	if err != nil {
		if cause := context.Cause(look); cause == ErrParentGone || cause == ErrReaderGone {
			return nil, cause
		}
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(err, client.ErrTimeout) {
			return nil, &client.Error{Code: "timeout", Message: fmt.Sprintf("no task came within %s", w.Timeout)}
		}
		return nil, err
	}
	if w.start {
		if err := job.Start(look); err != nil {
			return job, err
		}
	}
	return job, w.hand(l, job, managed)
}

// hand gives the caller a task that was claimed, and sees to it that the lease goes on.
func (w *waitForTask) hand(l *life.Life, job *client.Job, managed bool) error {
	l.Task, l.Attempt, l.Traceparent = job.Task.GetId(), job.Attempt, job.Traceparent()
	if !l.Owner.Alive() || !w.caller.Alive() {
		return ErrParentGone
	}
	if err := life.TakeUp(w.App, l); err != nil {
		return err
	}
	if err := w.print(l, job, managed); err != nil {
		return fmt.Errorf("print task: %w", err)
	}
	if !managed {
		if err := keepBeating(w.App, l); err != nil {
			return err
		}
	}
	return nil
}

// WhenUnread calls fn when standard output is a pipe that nobody reads.
func WhenUnread(ctx context.Context, a *cli.App, fn func()) {
	f, ok := a.Out.(*os.File)
	if !ok {
		return
	}
	tick := time.NewTicker(life.LookEvery)
	defer tick.Stop()
	for !life.ReaderGone(f) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	fn()
}

// print writes the task; one write, so that a reader gets all of it or an error.
func (w *waitForTask) print(l *life.Life, job *client.Job, managed bool) error {
	var out bytes.Buffer
	if w.JSON {
		b, err := taskJSON(l, job.Task)
		if err != nil {
			return err
		}
		out.Write(append(b, '\n'))
	} else {
		fmt.Fprintf(&out, "task %d, attempt %d, for %s: %s\n", job.Task.GetId(), job.Attempt, l.Agent,
			term.OneLine(job.Task.GetTitle()))
		if text := strings.TrimRight(w.Shown(job.Task.GetText()), "\n"); text != "" {
			fmt.Fprintf(&out, "\n%s\n", text)
		}
	}
	if _, err := w.Out.Write(out.Bytes()); err != nil {
		return err
	}
	if managed || w.JSON {
		return nil
	}
	// For people: which commands come next. A terminal that is this agent needs no flag.
	if w.Getenv("VIGIL_AGENT") == l.Agent {
		fmt.Fprintf(w.Err, "next: vigil task start, vigil task progress NOTE, then vigil task complete RESULT\n")
		return nil
	}
	fmt.Fprintf(w.Err,
		"next: vigil task start --agent %s, vigil task progress --agent %[1]s NOTE, "+
			"then vigil task complete --agent %[1]s RESULT\n"+
			"or, for all commands of this terminal: export VIGIL_AGENT=%[1]s\n", l.Agent)
	return nil
}

// taskJSON is the task with the life that claimed it.
func taskJSON(l *life.Life, task *vigilv1.Task) ([]byte, error) {
	b, err := term.Marshal(task)
	if err != nil {
		return nil, err
	}
	extra, err := json.Marshal(struct {
		Agent       string `json:"agent"`
		Incarnation string `json:"incarnation"`
	}{l.Agent, client.FormatIncarnation(l.Incarnation)})
	if err != nil {
		return nil, fmt.Errorf("print task: %w", err)
	}
	return append(append(bytes.TrimSuffix(b, []byte("}")), ','), extra[1:]...), nil
}

// keepBeating starts a process of its own that proves for the agent that it lives,
// while its owner does and the task is not over.
func keepBeating(a *cli.App, l *life.Life) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	args := []string{"beat", "--detached", "--until-done", "--agent", l.Agent,
		"--incarnation", client.FormatIncarnation(l.Incarnation), "--agent-id", fmt.Sprint(l.AgentID),
		"--task", fmt.Sprint(l.Task), "--attempt", fmt.Sprint(l.Attempt),
		"--follow-pid", fmt.Sprint(l.Owner.PID), "--follow-start", l.Owner.Start}
	// Else its environment says more than this.
	if a.ServersFile() == "" && a.Getenv(client.EnvSocket) == "" {
		addrs, err := a.Addresses()
		if err != nil {
			return err
		}
		args = append(args, "--addr", strings.Join(addrs, ","))
	}
	if a.Spawn != nil {
		return a.Spawn(args)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = os.Environ()
	if said, _ := client.TokenFromEnv(a.Getenv); said != l.Token {
		cmd.Env = append(cmd.Env, client.EnvToken+"="+l.Token)
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = life.Detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the process that beats: %w", err)
	}
	return cmd.Process.Release()
}
