package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// newPauseCmd makes a verb about single agents.
func newPauseCmd(a *cli.App, verb, short string, pause bool) *cobra.Command {
	var why string
	var end cli.UntilFlags
	cmd := &cobra.Command{
		Use:               verb + " ROOM/ROLE[.N]...",
		Short:             short,
		Long:              short + ".\n\n" + cli.PauseHelp,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.Every(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if _, _, err := cli.SplitAgent(name); err != nil {
					if !strings.Contains(name, "/") {
						err = fmt.Errorf("%w: for a whole room write vigil room %s %s", err, verb, name)
					}
					return cli.WrongUsage(err)
				}
			}
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			return each(a, cmd, args, false,
				func(ctx context.Context, c *cli.Conn, name string) (*vigilv1.Agent, error) {
					if _, err := c.Fleet.SetPause(ctx, &vigilv1.SetPauseRequest{Scope: name, Pause: new(pause),
						By: a.Me(), Reason: why, For: span}); err != nil {
						return nil, err
					}
					answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: name})
					return answer.GetAgent(), err
				})
		},
	}
	cli.WhyFlag(cmd, &why)
	if pause {
		end.Add(cmd, "the pause")
	}
	return cmd
}
