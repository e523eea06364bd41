package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
)

func newRunCmd(a *cli.App) *cobra.Command {
	r := &wrapper{App: a}
	cmd := &cobra.Command{
		Use:   "run [flags] -- CMD [ARG]...",
		Short: "As an agent: run a program and prove to be alive while it runs",
		Long: `Join the room, run CMD, beat while it runs, and leave the room when it has ended.
Signals are passed on, the exit code is that of CMD. When this life of the agent is
over because a newer one has begun, CMD is stopped and the exit code is 7. There is
no shell in between. CMD finds VIGIL_ADDR, VIGIL_ROOM, VIGIL_ROLE, VIGIL_AGENT and
VIGIL_INCARNATION in its environment.`,
		Example: "  vigil run --agent web/builder -- ./agent.sh --fast",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.args = args
			return a.Follow(cmd, r.run)
		},
	}
	cmd.Flags().SetInterspersed(false)
	r.who.Add(cmd, a)
	cmd.Flags().DurationVar(&r.grace, "grace", 5*time.Second, "between TERM and KILL when CMD has to stop")
	return cmd
}

// wrapper is one run of the command.
type wrapper struct {
	*cli.App
	who     life.Flags
	grace   time.Duration
	args    []string
	servers []string // that the program is told of
}

func (r *wrapper) run(ctx context.Context, c *cli.Conn) error {
	r.servers = c.Servers()
	return inRoom(ctx, r.App, c, &r.who, r.args[0], func(w *client.Worker, program, token string) error {
		return r.supervise(ctx, w, program, token)
	})
}

// inRoom joins the room as the agent that flags and environment name, does what is to be done
// with the program called name, and leaves.
func inRoom(ctx context.Context, a *cli.App, c *cli.Conn, who *life.Flags, name string,
	do func(w *client.Worker, program, token string) error) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return cli.WrongUsage(fmt.Errorf("%w: name a program that can be run, after --", err))
	}
	l, err := who.Given(a)
	if err != nil {
		return err
	}
	if l.Agent == "" {
		return cli.Usagef("it is not known which agent this is: " +
			"run it inside a managed agent, or name it with --agent room/role")
	}
	w, err := client.Join(ctx, c.Client, client.WorkerConfig{Agent: l.Agent, Incarnation: l.Incarnation,
		Token: l.Token})
	if err != nil {
		return err
	}
	err = do(w, program, l.Token)
	var e error
	if l.Incarnation == 0 { // it has begun this life, and ends it
		e = life.Goodbye(ctx, w, leaveRun(err))
	} else {
		_, e = life.Part(ctx, a, c, w, l, false, leaveRun(err))
	}
	if e != nil {
		cli.Report(a.Err, e, a.JSON)
	}
	return err
}

func leaveRun(err error) string {
	if err == nil {
		return "its program has ended"
	}
	return term.Cut(term.OneLine(fmt.Sprintf("its program has ended: %v", err)), 200)
}

// supervise runs the program until it ends, and ends it when the life is over.
func (r *wrapper) supervise(ctx context.Context, w *client.Worker, program, token string) error {
	// From here on the program decides what a signal means.
	signals := make(chan os.Signal, 16)
	passed := passedOn[:]
	signal.Reset(passed...)
	signal.Notify(signals, passed...)
	defer signal.Stop(signals)

	cmd := &exec.Cmd{Path: program, Args: r.args, Env: r.environment(w, token),
		Stdin: r.In, Stdout: r.Out, Stderr: r.Err, SysProcAttr: life.Mortal(), WaitDelay: r.grace}
	g := &group{cmd: cmd}
	// On a terminal it has to stay in the group in front; of a managed life agentd stops all.
	if !w.Managed() && !term.OnTerminal(r.In) {
		cmd.SysProcAttr, g.own = ownGroup(cmd.SysProcAttr)
	}
	ended := make(chan error, 1)
	started := make(chan error, 1)
	go func() {
		// The program is to die with the thread that started it, so the thread stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start program: %w", err)
	}
	return r.attend(ctx, w, g, signals, ended)
}

// attend passes signals on and stops the program when it has to.
func (r *wrapper) attend(ctx context.Context, w *client.Worker, g *group, signals <-chan os.Signal,
	ended <-chan error) error {
	var over error // why the program has to stop
	stop := func(reason error) {
		if over == nil {
			over = reason
			g.stop(r.grace)
		}
	}
	life, outside := w.Context().Done(), ctx.Done()
	if sig, ok := context.Cause(ctx).(cli.SignalError); ok {
		outside = nil
		g.signal(sig.Sig) // it came before the program was started
	}
	for {
		select {
		case err := <-ended:
			g.end(r.grace)
			if over != nil {
				return over
			}
			return exitOf(err)
		case sig := <-signals:
			// A terminal has sent this one to the program too.
			if (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && term.OnTerminal(r.In) {
				continue
			}
			g.signal(sig)
		case <-life:
			life = nil
			stop(context.Cause(w.Context()))
		case <-outside:
			outside = nil
			if sig, ok := context.Cause(ctx).(cli.SignalError); ok {
				g.signal(sig.Sig)
				continue
			}
			stop(context.Cause(ctx))
		case <-g.kill:
			g.murder()
		}
	}
}

// exitOf turns the end of a program into ours.
func exitOf(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("wait for program: %w", err)
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return cli.ExitWith(128+int(ws.Signal()), nil)
	}
	return cli.ExitWith(exit.ExitCode(), nil)
}

// environment is ours with the life that the program has.
func (r *wrapper) environment(w *client.Worker, token string) []string {
	room, slot, _ := strings.Cut(w.Agent(), "/")
	role, _, _ := strings.Cut(slot, ".") // a role's name has no dot
	env := []string{"VIGIL_ROOM=" + room, "VIGIL_ROLE=" + role, "VIGIL_AGENT=" + w.Agent(),
		"VIGIL_INCARNATION=" + client.FormatIncarnation(w.Incarnation())}
	if !w.Managed() { // it has begun this life: what was for the one that runs it is not for this one
		env = append(env, life.EnvTask+"=", life.EnvAttempt+"=", client.EnvSpool+"=")
	}
	if !strings.HasPrefix(r.servers[0], "unix:") { // else our environment has both
		env = append(env, "VIGIL_ADDR="+strings.Join(r.servers, ","))
	}
	if said, _ := client.TokenFromEnv(os.Getenv); said != token {
		env = append(env, client.EnvToken+"="+token)
	}
	return override(os.Environ(), env)
}
