package rooms

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the rooms",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				rooms, err := c.Rooms(ctx, a.Stale)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(&vigilv1.ListRoomsResponse{Rooms: rooms})
				}
				t := term.NewTable("ROOM~", ">ROLES", ">LIVE", ">AGENTS", "TASKS~", "CHANGED BY~", "CREATED")
				for _, r := range rooms {
					addRoom(a, t, r)
				}
				return a.PrintTable(t, "There are no rooms yet: create one with `vigil apply -f configs/room.yaml`.")
			})
		},
	}
}

func addRoom(a *cli.App, t *term.Table, r *vigilv1.Room) {
	var live, agents, roles uint32
	tasks := map[string]uint32{}
	for _, role := range r.GetRoles() {
		live, agents = live+role.GetAgentsLive(), agents+role.GetAgents()
		if !role.GetRetired() {
			roles++
		}
		for state, n := range role.GetTasks() {
			tasks[state] += n
		}
	}
	name := r.GetName()
	if r.GetDeleting() {
		name += " (deleting)"
	} else if d := term.Span(r.GetPauseEndsIn()); d != "" {
		name += " (paused, " + d + " left)"
	} else if r.GetPaused() {
		name += " (paused)"
	} else if r.GetCanceled() != nil && !r.GetCanceled().GetResumed() {
		name += " (canceled)"
	} else if r.GetQuiet().GetState() == "stalling" {
		name += " (stalling)"
	} else if r.GetQuiet().GetState() == "untaken" {
		name += " (untaken)"
	}
	t.Add(name, fmt.Sprint(roles), fmt.Sprint(live), fmt.Sprint(agents), term.TaskCounts(tasks), r.GetChangedBy(),
		a.Ago(r.GetCreatedAt()))
}
