package people

import (
	"context"
	"fmt"
	"strings"

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
					": no starts, no task is claimed; what runs goes on. `vigil resume` ends it"
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

// newRoomPauseCmd makes a verb about whole rooms.
func newRoomPauseCmd(a *cli.App, verb, short string, pause bool) *cobra.Command {
	var why string
	var end cli.UntilFlags
	cmd := &cobra.Command{
		Use:               verb + " ROOM...",
		Short:             short,
		Long:              short + ".\n\n" + cli.PauseHelp,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.Every(cli.RoomNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if strings.Contains(name, "/") {
					return cli.Usagef("%q is not a room: for an agent write vigil agent %s %s", name, verb, name)
				}
			}
			span, err := end.Read(cmd, a.Now())
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListRoomsResponse{}
				for _, name := range args {
					if _, err := c.Fleet.SetPause(ctx, &vigilv1.SetPauseRequest{Scope: name, Pause: new(pause),
						By: a.Me(), Reason: why, For: span}); err != nil {
						return err
					}
					room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: name})
					if err != nil {
						return err
					}
					list.Rooms = append(list.Rooms, room)
					if a.JSON {
						continue
					}
					what := "is resumed"
					if room.GetPaused() {
						what = "is paused" + a.EndsText(room.GetPauseEndsIn()) +
							": no starts, no task is claimed; what runs goes on"
					}
					if err := a.Printf("room %s %s\n", name, what); err != nil {
						return err
					}
				}
				if a.JSON {
					return a.PrintJSON(list)
				}
				return nil
			})
		},
	}
	cli.WhyFlag(cmd, &why)
	if pause {
		end.Add(cmd, "the pause")
	}
	return cmd
}

// newAgentPauseCmd makes a verb about single agents.
func newAgentPauseCmd(a *cli.App, verb, short string, pause bool) *cobra.Command {
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
			return eachAgent(a, cmd, args, false,
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
