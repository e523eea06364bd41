package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/triage"
)

const (
	// triageOutput is how much a program may print before it counts as babbling, in bytes.
	triageOutput = 64 << 10
	// terminalLines and terminalText bound what triage gets of the overseer's terminal, and
	// terminalLimit how long that may take.
	terminalLines = 50
	terminalText  = 16 << 10
	terminalLimit = 5 * time.Second
)

// newTriageExecCmd makes a triage agent of any program.
func newTriageExecCmd(a *cli.App) *cobra.Command {
	t := &triageExec{App: a}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- CMD [ARG]...",
		Short: "As a triage agent: let a program answer one look, and end",
		Long: `Join the room, wait for a look, and run CMD with the facts as JSON on standard input; what
stands on the overseer's terminal is one of them, so that CMD needs no command of vigil. CMD
prints one JSON object, {"decision":"START|WAKE|NUDGE|NOTHING","reason":"..."}, and ends; a
fence of three backquotes around it does no harm. That is the answer, and this agent ends
too, so that each look gets a fresh one. There is no shell in between. When CMD fails, prints
something else or more than 64 KiB, or takes longer than --limit, the look is failed and the
mechanical rule decides at once.`,
		Example: `  vigil triage exec -- claude -p "You triage a watchdog. Answer with the JSON that is asked for."`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.args = args
			return a.Follow(cmd, t.run)
		},
	}
	cmd.Flags().SetInterspersed(false)
	t.who.Add(cmd, a)
	cmd.Flags().DurationVar(&t.limit, "limit", 4*time.Minute, "for CMD; below the setting triage_limit")
	return cmd
}

// triageExec is one run of the command.
type triageExec struct {
	*cli.App
	who   life.Flags
	limit time.Duration
	args  []string
}

func (t *triageExec) run(ctx context.Context, c *cli.Conn) error {
	return inRoom(ctx, t.App, c, &t.who, t.args[0], func(w *client.Worker, program, _ string) error {
		return t.look(ctx, c, w, program)
	})
}

// look answers one look.
func (t *triageExec) look(ctx context.Context, c *cli.Conn, w *client.Worker, program string) error {
	job, err := w.Wait(ctx)
	if err != nil {
		return err
	}
	if err := job.Start(ctx); err != nil {
		return err
	}
	answer, err := t.decision(job, program, withTerminal(job.Context(), c.Fleet, job.Task.GetText()))
	if err == nil {
		return job.Complete(ctx, answer)
	}
	if job.Context().Err() != nil {
		return context.Cause(job.Context())
	}
	reason := term.Cut(term.OneLine(err.Error()), 200)
	if e := job.Fail(context.WithoutCancel(ctx), reason, false); e != nil {
		cli.Report(t.Err, e, t.JSON)
	}
	return err
}

// withTerminal adds to the facts what stands on the overseer's terminal, when it has one.
func withTerminal(ctx context.Context, fleet vigilv1.FleetClient, text string) string {
	var facts map[string]any
	numbers := json.NewDecoder(strings.NewReader(text))
	numbers.UseNumber() // they are passed on as they are
	if numbers.Decode(&facts) != nil {
		return text
	}
	overseer, ok := facts["overseer"].(string)
	if !ok {
		return text
	}
	ctx, cancel := context.WithTimeout(ctx, terminalLimit)
	defer cancel()
	screen, err := fleet.LookAtAgent(ctx, &vigilv1.LookAtAgentRequest{Agent: overseer, Lines: terminalLines})
	if err != nil {
		return text // the facts say whether it has a terminal
	}
	shown := term.Safe(screen.GetText())
	facts["terminal"] = strings.ToValidUTF8(shown[max(0, len(shown)-terminalText):], "")
	whole, err := json.Marshal(facts)
	if err != nil {
		return text
	}
	return string(whole)
}

// decision runs the program with the facts, in the trace of the look, and gives the JSON object that it prints.
func (t *triageExec) decision(job *client.Job, program, facts string) (string, error) {
	ctx, cancel := context.WithTimeout(job.Context(), t.limit)
	defer cancel()
	out := &bounded{most: triageOutput, full: cancel}
	cmd := exec.CommandContext(ctx, program, t.args[1:]...)
	cmd.Args[0], cmd.Env = t.args[0], append(os.Environ(), job.Environ()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr, cmd.WaitDelay = strings.NewReader(facts), out, t.Err,
		life.Mortal(), time.Second
	done := make(chan error, 1)
	go func() {
		// The program is to die with the thread that started it, so the thread stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	err := <-done
	switch {
	case out.over:
		return "", fmt.Errorf("triage program prints more than %s", term.BytesText(triageOutput))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("triage program has given no answer within %s", t.limit)
	case err != nil:
		return "", fmt.Errorf("triage program: %w", err)
	}
	answer := unfenced(out.text.String())
	if _, _, ok := triage.Parse(answer); !ok {
		return "", errors.New("what the triage program prints is no decision")
	}
	return answer, nil
}

// unfenced takes the fence of Markdown away that models like to put around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		if rest, ok = strings.CutSuffix(rest, "```"); ok {
			return strings.TrimSpace(strings.TrimPrefix(rest, "json"))
		}
	}
	return text
}

// bounded keeps what is written up to a limit, and says when it is exceeded.
type bounded struct {
	text bytes.Buffer // not embedded: a copy must pass through Write
	most int
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.most {
		b.over = true
		b.full()
		return len(p), nil
	}
	return b.text.Write(p)
}
