package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/usage"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ROOM/ROLE[.N]",
		Short:             "Show an agent with every known figure",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(answer.GetAgent())
				}
				return printAgent(a, answer.GetAgent())
			})
		},
	}
}

func printAgent(a *cli.App, g *vigilv1.Agent) error {
	pid, task, order := "", "", ""
	if g.GetPid() != 0 {
		pid = fmt.Sprint(g.GetPid())
	}
	if g.GetTask() != 0 {
		task = fmt.Sprint(g.GetTask())
	}
	if g.GetOrder() != "" && g.GetOrder() != "none" {
		order = fmt.Sprintf("%s, open for %s: %s", g.GetOrder(), term.OrZero(term.Span(g.GetOrderOpen())),
			g.GetOrderReason())
	}
	return a.Pairs("agent", g.GetName(), "why", term.Tidy(g.GetWhy()), "desired", intentText(a, g),
		"participant", g.GetParticipant(),
		"process", processText(g), "unkillable", g.GetStuck(), "host", g.GetHost(), "pid", pid,
		"incarnation", g.GetIncarnation(), "up", term.Span(g.GetUp()), "outdated", outdatedText(g),
		"task", task, "done", term.Plural(g.GetDone(), "task")+" in this life", "lease", term.Left(g.GetLeaseLeft()),
		"fence", term.Left(g.GetFenceLeft()),
		"order", order, "failures", failuresText(g), "start fails", g.GetStartFault(),
		"terminal", screenLine(g.GetScreen(), g.GetDegraded()),
		"used", usage.Line(g.GetUsage()),
		"patrols", agent.PatrolLine(g.GetOverseer()), "last look", agent.LookLine(g.GetOverseer()),
		"resume value", resumeText(g), "last exit", exitText(a, g.GetLastExit()), "revision", fmt.Sprint(g.GetRev()))
}

// resumeText says that the next life goes on where this one was.
func resumeText(g *vigilv1.Agent) string {
	if g.GetResumeBytes() == 0 {
		return ""
	}
	return fmt.Sprintf("%s for the next life; start or restart with --fresh forgets it",
		term.BytesText(int64(g.GetResumeBytes())))
}

func failuresText(g *vigilv1.Agent) string {
	if g.GetFailures() == 0 {
		return ""
	}
	text := fmt.Sprintf("%d in a row", g.GetFailures())
	if d := term.Span(g.GetNotBefore()); d != "" {
		text += ", no start before " + d + " from now"
	}
	return text
}

// outdatedText says that an agent lives as its role was declared before.
func outdatedText(g *vigilv1.Agent) string {
	if !g.GetOutdated() {
		return ""
	}
	return "it lives as its role was declared before; `vigil agent restart " + g.GetName() + "` renews it"
}
