package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newBeatCmd(a *cli.App) *cobra.Command {
	b := &beater{App: a}
	cmd := &cobra.Command{
		Use:   "beat",
		Short: "As an agent: prove once to be alive, or again and again",
		Long: `Renew the agent's lease. Once, and say whether it was renewed; with --every until
interrupted. A life that is over gives exit code 7. The agent must have joined:
` + "`vigil wait-for-task` and `vigil run`" + ` do that and beat by themselves.`,
		Example: "  vigil beat\n  vigil beat --every 15s --follow-pid $$",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.every == 0 && b.follow == 0 && !b.untilDone {
				return a.Ask(cmd, b.once)
			}
			return a.Follow(cmd, b.loop)
		},
	}
	b.who.Add(cmd, a)
	a.BestEffort(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&b.every, "every", 0, "beat in this interval (0: once)")
	flags.IntVar(&b.follow, "follow-pid", 0, "while this process lives; then leave the room")
	flags.BoolVar(&b.untilDone, "until-done", false, "until the task that is held is over")
	flags.Uint32Var(&b.agentID, "agent-id", 0, "the agent's number, to spare a question")
	flags.Uint64Var(&b.task, "task", 0, "the task that is held")
	flags.Uint32Var(&b.attempt, "attempt", 0, "its attempt")
	flags.StringVar(&b.followStart, "follow-start", "", "when that process was started, in ticks")
	flags.BoolVar(&b.detached, "detached", false, "nobody watches: say nothing")
	for _, hidden := range []string{"agent-id", "follow-start", "detached"} {
		_ = flags.MarkHidden(hidden) // the flags are there
	}
	return cmd
}

// beater is one run of the command.
type beater struct {
	*cli.App
	who         life.Flags
	every       time.Duration
	follow      int
	followStart string
	untilDone   bool
	detached    bool
	agentID     uint32
	task        uint64
	attempt     uint32
}

// identify says for whom it beats.
func (b *beater) identify(ctx context.Context, c *cli.Conn) (*life.Life, error) {
	l, err := b.who.Current(b.App)
	if err != nil {
		return nil, err
	}
	if b.task != 0 {
		l.Task, l.Attempt = b.task, b.attempt
	}
	if b.agentID != 0 {
		l.AgentID = b.agentID
	}
	if l.AgentID != 0 {
		return l, nil
	}
	answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: l.Agent})
	if err != nil {
		return nil, err
	}
	l.AgentID = answer.GetAgent().GetId()
	return l, nil
}

// renew beats once.
func renew(ctx context.Context, c *cli.Conn, l *life.Life) error {
	answer, err := c.Work.Beat(ctx, &vigilv1.BeatRequest{Agents: []uint32{l.AgentID},
		Incarnations: []uint64{l.Incarnation}, Kinds: []uint32{client.BeatLease}, Tokens: []string{l.Token}})
	if err != nil {
		return err
	}
	for _, x := range answer.GetExceptions() {
		switch x.GetVerdict() {
		case "rejoin":
			return &client.Error{Code: "rejoin",
				Message: fmt.Sprintf("the lease of %s has ended: join again with `vigil wait-for-task`", l.Agent)}
		case "superseded":
			return &client.Error{Code: "superseded", Message: fmt.Sprintf("life %s of %s is over: stop",
				client.FormatIncarnation(l.Incarnation), l.Agent)}
		case "unknown":
			return &client.Error{Code: "not_found", Message: fmt.Sprintf("there is no agent %s any more", l.Agent)}
		case "denied":
			return &client.Error{Code: "denied",
				Message: fmt.Sprintf("the token is not that of life %s of %s: use its own "+
					"VIGIL_TOKEN_FILE (was this started in another agent's environment?)",
					client.FormatIncarnation(l.Incarnation), l.Agent)}
		}
	}
	return nil
}

func (b *beater) once(ctx context.Context, c *cli.Conn) error {
	l, err := b.identify(ctx, c)
	if err != nil {
		return err
	}
	if err := renew(ctx, c, l); err != nil {
		return err
	}
	return b.Done(map[string]any{"agent": l.Agent, "incarnation": client.FormatIncarnation(l.Incarnation),
		"renewed": true},
		"%s lives (life %s)", l.Agent, client.FormatIncarnation(l.Incarnation))
}

// loop beats until its life, its owner or its task is over. Beats that fail are
// sent again after a second, or sooner when they are frequent.
func (b *beater) loop(ctx context.Context, c *cli.Conn) error {
	l, err := b.identify(ctx, c)
	if err != nil {
		return err
	}
	owner := life.Process{PID: b.follow, Start: b.followStart}
	if b.follow > 0 && b.followStart == "" {
		owner = life.ProcessOf(b.follow)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if b.follow > 0 {
		go life.WhenGone(ctx, owner, func() { stop(ErrParentGone) })
	}
	every := b.every
	if every == 0 {
		every = b.interval(ctx, c, l)
	}
	err = b.beats(ctx, c, l, every)
	if context.Cause(ctx) == ErrParentGone {
		return b.leave(ctx, c, l)
	}
	// A lease that has ended is no end of the life: docs/decisions/cmd.md#who-beats-for-a-task-does-not-join-again.
	if errors.Is(err, client.ErrSuperseded) || errors.Is(err, client.ErrNotFound) {
		life.Forget(b.App, l)
	}
	if b.detached {
		return cli.ExitWith(cli.ExitCode(err), nil)
	}
	return err
}

// interval is a quarter of the lease of this life. That of its role may have been changed since it began, and serves
// only where the life cannot be renewed now.
func (b *beater) interval(ctx context.Context, c *cli.Conn, l *life.Life) time.Duration {
	renewed, err := c.Work.Renew(ctx, &vigilv1.RenewRequest{Speaker: l.Speaker()})
	if ttl := renewed.GetTtl().AsDuration(); err == nil && ttl > 0 {
		return ttl / 4
	}
	answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: l.Agent, Stale: true})
	if ttl := answer.GetRole().GetTtl().AsDuration(); err == nil && ttl > 0 {
		return ttl / 4
	}
	return 15 * time.Second
}

func (b *beater) beats(ctx context.Context, c *cli.Conn, l *life.Life, every time.Duration) error {
	again := max(min(time.Second, every*4/10), 10*time.Millisecond) // a tenth of the TTL
	look := time.NewTicker(min(life.LookEvery, again))
	defer look.Stop()
	due := b.Now()
	for {
		if !b.Now().Before(due) {
			err := renew(ctx, c, l)
			switch {
			case err == nil:
				due = b.Now().Add(every)
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case isOver(err):
				return err
			default:
				due = b.Now().Add(again)
			}
			if err == nil && b.untilDone && b.over(ctx, c, l) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		if b.untilDone && b.moved(l) {
			return nil
		}
	}
}

// isOver tells whether the error ends the life, or the time in its room: more beats change nothing.
func isOver(err error) bool {
	return errors.Is(err, client.ErrSuperseded) || errors.Is(err, client.ErrRejoin) ||
		errors.Is(err, client.ErrNotFound) ||
		errors.Is(err, client.ErrStopped) || errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrDenied)
}

// over tells whether the attempt has come to its end.
func (b *beater) over(ctx context.Context, c *cli.Conn, l *life.Life) bool {
	task, err := c.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: l.Task, Stale: true})
	if err != nil {
		return errors.Is(err, client.ErrNotFound)
	}
	// A follower may be behind the claim: only a later state counts.
	return term.TaskEnded(task.GetState()) && task.GetAttempt() >= l.Attempt || task.GetAttempt() > l.Attempt
}

// moved tells whether a command of the same agent has finished the task or begun
// the next one; that one has its own process that beats.
func (b *beater) moved(l *life.Life) bool {
	kept := life.KeptOf(b.App, l)
	return kept != nil && kept.Task != l.Task
}

// leave takes the agent out of the room: whoever it was for is gone.
func (b *beater) leave(ctx context.Context, c *cli.Conn, l *life.Life) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*life.LeaveLimit)
	defer cancel()
	_, err := c.Work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: l.Speaker(), Reason: "its process has ended"})
	life.Forget(b.App, l)
	if err != nil && !isOver(err) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}
