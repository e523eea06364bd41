package rooms

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// newPauseCmd makes a verb about whole rooms.
func newPauseCmd(a *cli.App, verb, short string, pause bool) *cobra.Command {
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
