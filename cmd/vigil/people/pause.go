package people

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

func newPauseCmd(a *cli.App) *cobra.Command {
	return newPauseAllCmd(a, "pause", "Pause the whole fleet: no starts, no task is claimed; what runs goes on",
		cli.PauseHelp, true)
}

func newResumeCmd(a *cli.App) *cobra.Command {
	return newPauseAllCmd(a, "resume", "End the pause of the whole fleet",
		"End the pause of the whole fleet. Rooms and agents that are paused by themselves stay so.", false)
}

// newPauseAllCmd makes a verb about everything.
func newPauseAllCmd(a *cli.App, verb, short, long string, pause bool) *cobra.Command {
	var why string
	var end cli.UntilFlags
	cmd := &cobra.Command{
		Use:   verb,
		Short: short,
		Long:  long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Fleet.SetPause(ctx, &vigilv1.SetPauseRequest{Pause: new(pause), By: a.Me(),
					Reason: why, For: span})
				if err != nil {
					return err
				}
				line := "everything is paused" + a.EndsText(span) +
					": no starts, no task is claimed; what runs goes on, until `vigil agent stop --all` ends " +
					"that. `vigil resume` ends the pause"
				if !pause {
					line = "the fleet is resumed"
				}
				return a.Done(map[string]any{"paused": pause, "rev": answer.GetRev()}, "%s", line)
			})
		},
	}
	cli.WhyFlag(cmd, &why)
	if pause {
		end.Add(cmd, "the pause")
	}
	return cmd
}
