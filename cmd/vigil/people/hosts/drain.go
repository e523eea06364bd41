package hosts

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// drainLook is how often a drain that is waited for is looked at.
const drainLook = time.Second

func newDrainCmd(a *cli.App) *cobra.Command {
	var deadline time.Duration
	var wait bool
	var end cli.UntilFlags
	cmd := &cobra.Command{
		Use:   "drain HOST",
		Short: "Have nothing run on a host: its agents move when they hold no task",
		Long: `Have nothing run on a host. Nothing is started there any more; agents without a task
are stopped at once, the others when they give it back, all of them at the deadline.
They are started on other hosts. It stays so until vigil host undrain, or until the end that
was given to it; a later drain replaces the end, one without --for and --until takes it away.`,
		Example: `  vigil host drain w1 --deadline 30m --wait
  vigil host drain w1 --until 18:00`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(cli.HostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline < 0 {
				return cli.Usagef("flag --deadline: %s is negative; give a duration like 30m, or 0 for none", deadline)
			}
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			if span != nil && deadline >= span.AsDuration() {
				return cli.Usagef("the drain ends in %s, before its --deadline of %s", span.AsDuration(), deadline)
			}
			ask := a.Ask
			if wait {
				ask = a.Follow
			}
			return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				request := &vigilv1.DrainHostRequest{Host: args[0], By: a.Me(), For: span}
				if deadline > 0 {
					request.Deadline = durationpb.New(deadline)
				}
				h, err := c.Fleet.DrainHost(ctx, request)
				if err != nil {
					return err
				}
				if wait {
					h, err = awaitDrain(ctx, a, c, args[0])
				}
				if err != nil {
					return err
				}
				return printDone(a, h, drainText(h)+drainEnd(a, h))
			})
		},
	}
	cmd.Flags().DurationVar(&deadline, "deadline", 0, "stop agents that still hold a task after this long (0: never)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until nothing runs there")
	end.Add(cmd, "the drain")
	return cmd
}

// drainEnd says when a drain ends by itself; "" when it does not.
func drainEnd(a *cli.App, h *vigilv1.Host) string {
	if h.GetDrainEndsIn() == nil {
		return ""
	}
	return "; it is drained" + a.EndsText(h.GetDrainEndsIn())
}

func drainText(h *vigilv1.Host) string {
	if h.GetRunning()+h.GetStarting() == 0 {
		return "is drained: nothing runs there"
	}
	text := "is draining: " +
		term.Plural(h.GetRunning()+h.GetStarting(), "agent still runs", "agents still run") + " there"
	if d := term.Span(h.GetDrainLeft()); d != "" {
		text += "; all are stopped in " + d
	}
	return text
}

// awaitDrain waits until nothing runs on the host, or somebody ends the drain.
func awaitDrain(ctx context.Context, a *cli.App, c *cli.Conn, name string) (*vigilv1.Host, error) {
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	defer a.ProgressEnd()
	for {
		h, err := c.Fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: name})
		switch {
		case err != nil:
			return nil, err
		case !h.GetDrain():
			return nil, fmt.Errorf(
				"the drain of host %s was ended by somebody else or is over; `vigil events` says which", h.GetName())
		case h.GetRunning()+h.GetStarting() == 0:
			return h, nil
		}
		a.Progress("host %s %s", h.GetName(), drainText(h))
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("host %s still %s: %w", h.GetName(), drainText(h), context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// printDone prints a changed host.
func printDone(a *cli.App, h *vigilv1.Host, what string) error {
	if a.JSON {
		return a.PrintJSON(h)
	}
	return a.Printf("host %s %s\n", term.OneLine(h.GetName()), term.OneLine(what))
}

func newUndrainCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "undrain HOST",
		Short:             "End a drain: the host takes agents again",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(cli.HostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				h, err := c.Fleet.DrainHost(ctx, &vigilv1.DrainHostRequest{Host: args[0], Off: true, By: a.Me()})
				if err != nil {
					return err
				}
				return printDone(a, h, "is no longer drained; it is "+h.GetState())
			})
		},
	}
}
