package people

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newAgentStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status ROOM/ROLE[.N]",
		Short: "Tell whether an agent is online, idle, busy, offline or not_found",
		Long: `Tell how an agent is seen from outside: online, idle, busy, offline or not_found, since
when, and the verdict with what it rests on. The exit code is 3 when there is no such
agent.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				s, err := c.Fleet.GetAgentStatus(ctx, &vigilv1.GetAgentStatusRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					err = a.PrintJSON(s)
				} else {
					err = printPresence(a, s)
				}
				if err == nil && s.GetStatus() == "not_found" {
					return cli.ExitWith(cli.ExitNotFound, nil)
				}
				return err
			})
		},
	}
}

func printPresence(a *cli.App, s *vigilv1.AgentStatus) error {
	if s.GetStatus() == "not_found" {
		return a.Pairs("agent", s.GetAgent(), "status", s.GetStatus())
	}
	err := a.Pairs("agent", s.GetAgent(), "status", s.GetStatus(), "offline since", a.Ago(s.GetOfflineSince()),
		"last seen", a.Ago(s.GetLastSeen()), "registered", a.Ago(s.GetRegisteredAt()), "host", s.GetHost(),
		"verdict", agent.VerdictLine(s.GetVerdict()), "stuck", ladderLine(s.GetLadder()), "unread mail",
		unreadText(s), "declared itself", agent.DeclarationText(s.GetDeclaration()),
		"terminal", screenLine(s.GetScreen(), s.GetDegraded()))
	if err != nil {
		return err
	}
	return printReasons(a, s.GetVerdict())
}

// ladderLine says what was done about a stuck agent and what comes next; "" when it is not
// stuck.
func ladderLine(l *vigilv1.Ladder) string {
	if l == nil {
		return ""
	}
	text := "nothing was done yet"
	if l.GetTaken() != nil {
		text = fmt.Sprintf("%s %s ago, rung %d", l.GetRung(), term.OrZero(term.Span(l.GetTaken())), l.GetSteps())
	}
	if len(l.GetFailed()) > 0 {
		text += " (no terminal could be used for " + strings.Join(l.GetFailed(), ", ") + ")"
	}
	switch {
	case l.GetWhy() != "":
		return text + "; nothing follows: " + l.GetWhy()
	case l.GetNextIn() != nil:
		return text + "; next: " + l.GetNext() + " in " + term.Span(l.GetNextIn())
	}
	return text + "; next: " + l.GetNext() + ", at the next look"
}

// screenLine says what stands on an agent's terminal, and whether anything can be typed there;
// "" when nobody looks and nobody knows.
func screenLine(sc *vigilv1.ScreenState, degraded string) string {
	var parts []string
	switch kind := sc.GetPrompt(); kind {
	case "":
	case "none":
		parts = append(parts, "no prompt")
	default:
		parts = append(parts, fmt.Sprintf("%s prompt for %s", strings.ReplaceAll(kind, "_", " "),
			term.OrZero(term.Span(sc.GetShown()))))
	}
	if sc.GetQuiet() {
		parts = append(parts, "nothing new for "+term.OrZero(term.Span(sc.GetQuietFor()))+" and more")
	}
	if degraded != "" {
		parts = append(parts, degraded)
	}
	return strings.Join(parts, "; ")
}

// unreadText says how much mail waits for the agent; "" when none does.
func unreadText(s *vigilv1.AgentStatus) string {
	if s.GetUnreadMessages() == 0 {
		return ""
	}
	return fmt.Sprintf("%d; `vigil mail inbox %s` lists it", s.GetUnreadMessages(), s.GetAgent())
}

// printReasons lists what a verdict rests on; "!" marks what speaks against the agent.
func printReasons(a *cli.App, v *vigilv1.Verdict) error {
	for _, r := range v.GetReasons() {
		mark, age := " ", ""
		if r.GetBad() {
			mark = "!"
		}
		if d := term.Span(r.GetAge()); d != "" {
			age = " (" + d + ")"
		}
		if err := a.Printf("  %s %s: %s%s\n", mark, r.GetEvidence(), term.OneLine(term.Tidy(r.GetText())),
			age); err != nil {
			return err
		}
	}
	return nil
}

func newAgentHealthCheckCmd(a *cli.App) *cobra.Command {
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
		if err := a.Printf("%s\n", unservedText(u)); err != nil {
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
