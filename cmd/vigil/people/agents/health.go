package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newHealthCheckCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "health-check [ROOM]",
		Short: "List the agents that are not fine, and roles that have work and no agent; exit code 1 when there is one",
		Long: `List the agents that are not fine, one line each, and the roles with waiting tasks and no
agent that could take one. The exit code is 1 when there is one of either. Agents that wait,
work, have declared why they are silent, or are off on purpose are fine; one that was
started by hand and ended with a task is not, for 10 minutes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list, err := unwell(ctx, a, c, cli.FirstOf(args))
				if err != nil {
					return err
				}
				roles, more, err := unservedRoles(ctx, a, c, cli.FirstOf(args))
				if err != nil {
					return err
				}
				if err := printUnwell(a, list, roles, more); err != nil || len(list.GetAgents())+len(roles) == 0 {
					return err
				}
				return cli.ExitWith(cli.ExitFailed, nil)
			})
		},
	}
}

// unwell gives the agents whose verdict says that somebody has to look.
func unwell(ctx context.Context, a *cli.App, c *cli.Conn, room string) (*vigilv1.ListAgentsResponse, error) {
	request := &vigilv1.ListAgentsRequest{Room: room, Stale: a.Stale, Limit: 1000}
	list := &vigilv1.ListAgentsResponse{}
	for {
		page, err := c.Fleet.ListAgents(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, g := range page.GetAgents() {
			if !g.GetVerdict().GetFine() || endedWithTask(g) {
				list.Agents = append(list.Agents, g)
			}
		}
		if request.After = page.GetNext(); request.After == "" {
			return list, nil
		}
	}
}

func printUnwell(a *cli.App, list *vigilv1.ListAgentsResponse, roles []*vigilv1.UnservedRole, more int) error {
	if a.JSON {
		b, err := unwellJSON(list.GetAgents(), roles, more)
		if err != nil {
			return err
		}
		return a.Printf("%s\n", b)
	}
	for _, u := range roles {
		if err := a.Printf("%s\n", UnservedText(u)); err != nil {
			return err
		}
	}
	if more > 0 {
		if err := a.Printf("%s more with waiting tasks and nobody for them\n", term.Plural(more, "role")); err != nil {
			return err
		}
	}
	switch {
	case len(list.GetAgents()) == 0 && len(roles) == 0:
		return a.Printf("All agents are fine.\n")
	case len(list.GetAgents()) == 0:
		return nil
	}
	t := term.NewTable("AGENT~", "VERDICT", "HOST~", ">TASK", "BECAUSE~")
	for _, g := range list.GetAgents() {
		task, because := "", g.GetWhy()
		if g.GetTask() != 0 {
			task = fmt.Sprint(g.GetTask())
		}
		var bad []string
		for _, r := range g.GetVerdict().GetReasons() {
			if r.GetBad() {
				bad = append(bad, r.GetText())
			}
		}
		if endedWithTask(g) {
			bad = append(bad, fmt.Sprintf("started by hand, it ended %s ago with task %d: %s",
				term.OrZero(term.Span(g.GetLastExit().GetAgo())), g.GetLastExit().GetTask(),
				g.GetLastExit().GetReason()))
		}
		if len(bad) > 0 {
			because = strings.Join(bad, "; ")
		}
		t.Add(g.GetName(), strings.ReplaceAll(g.GetVerdict().GetKind(), "_", " "), g.GetHost(), task,
			term.Tidy(because))
	}
	return a.PrintTable(t, "All agents are fine.")
}

// justDied is how long an agent by hand that ended with a task is news.
const justDied = 10 * time.Minute

// endedWithTask tells that the last life was begun by hand and has just ended with a task in
// its hands, by nobody's wish.
func endedWithTask(g *vigilv1.Agent) bool {
	x := g.GetLastExit()
	return x.GetKind() == "gone" && x.GetIncarnation() == g.GetIncarnation() && g.GetParticipant() == "DISCONNECTED" &&
		g.GetDesired() == "running" && !g.GetRetired() && x.GetAgo().AsDuration() < justDied
}

// unservedRoles are the roles of a room, or of all, with waiting tasks and nobody for them; and how
// many more there are.
func unservedRoles(ctx context.Context, a *cli.App, c *cli.Conn, room string) ([]*vigilv1.UnservedRole, int, error) {
	st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: a.Stale, Room: room})
	return st.GetUnserved(), int(st.GetUnservedMore()), err
}

// UnservedText says that a role has work and nobody to do it, and why, or that most of it fails.
func UnservedText(u *vigilv1.UnservedRole) string {
	if u.GetWhyCode() == "half_open" {
		return "most tasks of a role fail: " + term.OneLine(term.Tidy(u.GetWhy()))
	}
	what := fmt.Sprintf("%d tasks of %s/%s wait, the first", u.GetWaiting(), u.GetRoom(), u.GetRole())
	if u.GetWaiting() == 1 {
		what = fmt.Sprintf("1 task of %s/%s waits,", u.GetRoom(), u.GetRole())
	}
	return fmt.Sprintf("%s for %s, and nobody can do it: %s", what, term.OrZero(term.Span(u.GetSince())),
		term.OneLine(term.Tidy(u.GetWhy())))
}

// unwellJSON is the answer of a health check: agents that are not fine, and roles without any.
func unwellJSON(list []*vigilv1.Agent, roles []*vigilv1.UnservedRole, more int) ([]byte, error) {
	agents, err := marshalAll(list)
	if err != nil {
		return nil, err
	}
	unserved, err := marshalAll(roles)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"agents": agents, "unserved": unserved, "unserved_more": more})
}

// marshalAll is a JSON array of messages; empty, not null, without any.
func marshalAll[M proto.Message](list []M) ([]json.RawMessage, error) {
	raws := make([]json.RawMessage, 0, len(list))
	for _, m := range list {
		b, err := term.Marshal(m)
		if err != nil {
			return nil, err
		}
		raws = append(raws, b)
	}
	return raws, nil
}
