package people

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/agents"
	"vigil/cmd/vigil/servers"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the cluster on one screen: leader, servers, hosts, agents, tasks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(st)
				}
				return printStatus(a, st)
			})
		},
	}
}

func printStatus(a *cli.App, st *vigilv1.StatusResponse) error {
	leader := "none"
	if why := st.GetLeaderless(); why != "" {
		leader += ": " + term.Tidy(why)
	}
	if st.GetLeader() != "" {
		leader = fmt.Sprintf("%s (%s), term %d", st.GetLeader(), st.GetLeaderAddr(), st.GetTerm())
	}
	if err := a.Pairs(
		"cluster", st.GetClusterId(),
		"leader", leader,
		"clock", fmt.Sprintf("%s, log index %d, epoch %d", term.Short(st.GetClock().AsDuration()), st.GetIndex(),
			st.GetEpoch()),
		"paused", pausedLine(a, st),
		"brake", term.Tidy(st.GetBrake()),
		"escalations", escalationCounts(st),
		"hosts", hostCounts(st),
		"agents", fmt.Sprintf("%d should run, %d run; %d live of %d, in %s",
			st.GetAgentsWanted(), st.GetAgentsRunning(), st.GetAgentsLive(), st.GetAgents(), term.Plural(st.GetRooms(), "room")),
		"tasks", term.TaskCounts(st.GetTasks()),
		"waiting calls", fmt.Sprint(st.GetWaiters()),
	); err != nil {
		return err
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	if err := a.PrintTable(servers.Table(st.GetServers()), "No servers are known."); err != nil {
		return err
	}
	for _, u := range st.GetUnserved()[:min(len(st.GetUnserved()), unservedLines)] {
		if err := a.Printf("\n%s %s\n", a.Screen.Paint("33", "warning:"), agents.UnservedText(u)); err != nil {
			return err
		}
	}
	if more := len(st.GetUnserved()) + int(st.GetUnservedMore()) - unservedLines; more > 0 {
		if err := a.Printf("\n%s %s more with waiting tasks and nobody for them; "+
			"`vigil agent health-check ROOM` lists those of a room\n",
			a.Screen.Paint("33", "warning:"), term.Plural(more, "role")); err != nil {
			return err
		}
	}
	for _, w := range st.GetWarnings() {
		if err := a.Printf("\n%s %s\n", a.Screen.Paint("33", "warning:"), term.OneLine(w)); err != nil {
			return err
		}
	}
	return nil
}

// pausedLine says who paused everything; "" when nobody did.
func pausedLine(a *cli.App, st *vigilv1.StatusResponse) string {
	if !st.GetPaused() {
		return ""
	}
	who := strings.TrimSpace(fmt.Sprintf("by %s %s", term.OrWord(st.GetPauseBy(), "somebody"), a.Ago(st.GetPauseAt())))
	return "everything" + a.EndsText(st.GetPauseEndsIn()) + ", " + who + term.Because(st.GetPauseWhy()) +
		"; no starts, no task is claimed; `vigil resume` ends it"
}

// escalationCounts says "2 open, 1 of them acknowledged"; "" when nothing needs a human.
func escalationCounts(st *vigilv1.StatusResponse) string {
	open, alone := st.GetEscalationsOpen(), st.GetEscalationsUnacknowledged()
	switch {
	case open == 0:
		return ""
	case open == alone:
		return fmt.Sprintf("%d open", open)
	}
	return fmt.Sprintf("%d open, %d of them acknowledged", open, open-alone)
}

// hostCounts says "2 ready of 4 (1 suspect, 1 lost)".
func hostCounts(st *vigilv1.StatusResponse) string {
	text := fmt.Sprintf("%d ready of %d", st.GetHostsReady(), st.GetHosts())
	var others []string
	for _, state := range [...]string{"suspect", "lost", "returning", "draining", "left"} {
		if n := st.GetHostStates()[state]; n > 0 {
			others = append(others, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(others) == 0 {
		return text
	}
	return text + " (" + strings.Join(others, ", ") + ")"
}

// unservedLines is how many roles without an agent a status shows.
const unservedLines = 10
