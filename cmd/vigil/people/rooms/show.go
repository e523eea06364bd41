package rooms

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/watchdog"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newShowCmd(a *cli.App) *cobra.Command {
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
		"watchdog", watchdog.Text(a, room), "canceled", watchdog.CanceledText(a, room))
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
