package people

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newRoomCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("room", "Rooms with their roles", newRoomListCmd(a), newRoomShowCmd(a), newRoomDeadlinesCmd(a),
		newRoomPauseCmd(a, "pause", "Start no agent of a room and give it no new task; what runs goes on", true),
		newRoomPauseCmd(a, "resume", "End the pause of a room", false), newRoomReopenCmd(a),
		newRoomWatchdogCmd(a), newRoomDeleteCmd(a))
}

func newRoomListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the rooms",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list, err := c.Fleet.ListRooms(ctx, &vigilv1.ListRoomsRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(list)
				}
				t := term.NewTable("ROOM~", ">ROLES", ">LIVE", ">AGENTS", "TASKS~", "CHANGED BY~", "CREATED")
				for _, r := range list.GetRooms() {
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

func newRoomShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ROOM",
		Short:             "Show a room with its roles",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRoom,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(room)
				}
				return printRoom(a, room)
			})
		},
	}
}

func printRoom(a *cli.App, room *vigilv1.Room) error {
	state := ""
	if room.GetDeleting() {
		state = "being deleted: it goes once nothing of it runs"
	} else if room.GetPaused() {
		state = strings.TrimSpace(fmt.Sprintf("paused%s by %s %s", a.EndsText(room.GetPauseEndsIn()),
			term.OrWord(room.GetPauseBy(), "somebody"), a.Ago(room.GetPauseAt()))) +
			term.Because(room.GetPauseWhy()) + "; `vigil room resume " + room.GetName() + "` ends it"
	}
	if n := room.GetUnfinished(); n > 0 && state == "" {
		state = term.Plural(n, "agent is", "agents are") + " still to be created or changed"
	}
	err := a.Pairs("room", room.GetName(), "state", state, "created", a.Ago(room.GetCreatedAt()),
		"changed by", room.GetChangedBy(), "revision", fmt.Sprint(room.GetRev()),
		"watchdog", watchText(a, room), "canceled", canceledText(a, room))
	if err != nil {
		return err
	}
	heads := []string{"ROLE", "RUNNER", "DESIRED", "START", "PROOF", "POLICY", "TTL"}
	expect := slices.ContainsFunc(room.GetRoles(), func(r *vigilv1.Role) bool { return r.GetSpec().GetExpect() != nil })
	if expect {
		heads = append(heads, "EXPECT")
	}
	t := term.NewTable(append(heads, ">LIVE", ">AGENTS", "TASKS~")...)
	for _, r := range room.GetRoles() {
		s := r.GetSpec()
		name := s.GetName()
		if r.GetRetired() {
			name += " (retired)"
		}
		if r.GetHalfOpen() != "" {
			name += " (half-open)"
		}
		cells := []string{name, s.GetRunner(), s.GetDesired(), s.GetStart(), s.GetProof(), s.GetPolicy(),
			term.Span(s.GetTtl())}
		if expect {
			cells = append(cells, term.Span(s.GetExpect()))
		}
		t.Add(append(cells, fmt.Sprint(r.GetAgentsLive()), fmt.Sprint(r.GetAgents()), term.TaskCounts(r.GetTasks()))...)
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t, "It has no roles.")
}
