package rooms

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

func newDeleteCmd(a *cli.App) *cobra.Command {
	var rev uint64
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "delete ROOM",
		Short: "Stop a room's agents, cancel its tasks and remove it",
		Long: `Stop a room's agents, cancel its tasks and remove it. When agents of it run or it has
open tasks, that has to be confirmed: by an answer on a terminal, or by --yes.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRoom,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, plans := &vigilv1.DeleteRoomRequest{Room: args[0], By: a.Me(), IfRev: rev, DryRun: true},
				&changePlan{}
			planned := uint64(0) // revision of the room that the plan is of
			err := a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: args[0]})
				if err != nil {
					return err
				}
				planned = room.GetRev() // of before the plan: a change in between is a conflict as well
				answer, err := c.Fleet.DeleteRoom(ctx, request)
				if err == nil {
					plans.add(&vigilv1.Room{Name: args[0]}, answer.GetPlan())
				}
				return err
			})
			switch {
			case err != nil:
				return err
			case dryRun && a.JSON:
				return a.PrintJSON(plans.rooms[0].GetPlan())
			case dryRun:
				return a.Printf("%sNothing was changed.\n", plans.text())
			}
			sure, err := a.ConfirmPlan(plans.text(), plans.ofDeletion(), yes)
			if err != nil {
				return err
			}
			request.DryRun, request.Gentle = false, !sure
			if sure && !yes { // a person has said yes to this plan, and to no other
				request.IfRev, request.Gentle = planned, !plans.harms(0)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if err := deleteRoom(ctx, a, c, request); err != nil {
					return lookAgain("delete", args[0], err)
				}
				return nil
			})
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the room's revision")
	cmd.Flags().BoolVar(&yes, "yes", false,
		"go on without a question although agents end or tasks are canceled")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would happen and change nothing")
	return cmd
}

// deleteRoom deletes a room and says so.
func deleteRoom(ctx context.Context, a *cli.App, c *cli.Conn, r *vigilv1.DeleteRoomRequest) error {
	answer, err := c.Fleet.DeleteRoom(ctx, r)
	if err != nil {
		return err
	}
	what := "is deleted"
	if answer.GetPending() {
		what = "is being deleted; it goes once its agents have stopped"
	}
	return a.Done(map[string]any{"room": r.GetRoom(), "pending": answer.GetPending()}, "room %s %s", r.GetRoom(), what)
}
