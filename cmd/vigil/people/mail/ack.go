package mail

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/gen/vigilv1"
)

func newAckCmd(a *cli.App) *cobra.Command {
	var who life.Flags
	cmd := &cobra.Command{
		Use:   "ack MAIL...",
		Short: "As an agent: acknowledge mail, so that no later life gets it again",
		Long: `Say that the agent has taken note of mails. Nobody is reminded of them any more, and no
later life gets them again. Saying it twice changes nothing.`,
		Example: "  vigil mail ack 12 13",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []uint64
			for _, arg := range args {
				id, err := parseID(arg)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error { return ackAll(ctx, a, c, l, ids) })
		},
	}
	who.Add(cmd, a)
	return cmd
}

// ackAll acknowledges one after the other, and tells of each as it is done: an error
// leaves the later ones as they are.
func ackAll(ctx context.Context, a *cli.App, c *cli.Conn, l *life.Life, ids []uint64) error {
	for _, id := range ids {
		answer, err := c.Mail.AckMail(ctx, &vigilv1.AckMailRequest{Speaker: l.Speaker(), Mail: id})
		if err != nil {
			return err
		}
		what := "is acknowledged"
		if !answer.GetApplied() {
			what = "was acknowledged before"
		}
		if err := a.Done(map[string]any{"mail": id, "agent": l.Agent, "applied": answer.GetApplied()},
			"mail %d %s", id, what); err != nil {
			return err
		}
	}
	return nil
}
