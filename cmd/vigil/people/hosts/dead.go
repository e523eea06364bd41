package hosts

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newConfirmDeadCmd(a *cli.App) *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use:   "confirm-dead HOST",
		Short: "Say that nothing of a host runs any more: its agents start elsewhere at once",
		Long: `Say that nothing of a host runs any more, so that its agents are started elsewhere at
once, without waiting for the end of their fences. For agents whose role says policy: confirm it
is the only way but the report of the host itself.

Do it only when the machine is off. If an agent still runs there, it runs twice: vigil
cannot tell, and takes your word. A host that is heard is refused, unless --force.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(cli.HostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
				h, err := c.Fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: args[0]})
				if err != nil {
					return err
				}
				if !yes {
					if !term.OnTerminal(a.In) {
						return cli.Usagef("without a terminal, add --yes: agents that still run on host %s would run twice", h.GetName())
					}
					if err := a.Confirm(deadQuestion(h), h.GetName()); err != nil {
						return err
					}
				}
				// The answer may have taken minutes: this host is meant, not one that got its name.
				h, err = c.Fleet.ConfirmDead(ctx, &vigilv1.ConfirmDeadRequest{Host: fmt.Sprint(h.GetId()),
					Force: force, By: a.Me()})
				if err != nil {
					return err
				}
				return printDone(a, h, "is taken for dead; its agents start elsewhere")
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "although the host is heard")
	cmd.Flags().BoolVar(&yes, "yes", false, "yes, nothing of it runs any more")
	return cmd
}

func deadQuestion(h *vigilv1.Host) string {
	return fmt.Sprintf("Host %s is %s; %s may still run there, and would run twice.\n"+
		"Is the machine off? Type its name to say so: ",
		h.GetName(), h.GetState(), term.Plural(h.GetRunning()+h.GetStarting()+h.GetUnproven(), "agent"))
}

func newForgetCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "forget HOST",
		Short: "Remove a lost or left host on which no life is left",
		Long: `Remove a host that is lost or has left and on which no life is left. After a week without
a beat (setting forget_hosts) that happens by itself, unless a life may come back with it or a
human drains it. One with agents that are unproven (policy: confirm) is refused: confirm-dead first.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(cli.HostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := c.Fleet.ForgetHost(ctx,
					&vigilv1.ForgetHostRequest{Host: args[0], By: a.Me()}); err != nil {
					return err
				}
				return a.Done(map[string]any{"host": args[0], "forgotten": true}, "host %s is forgotten", args[0])
			})
		},
	}
}
