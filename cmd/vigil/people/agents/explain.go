package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/events"
	"vigil/cmd/vigil/people/tasks"
	"vigil/cmd/vigil/people/usage"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newExplainCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "explain ROOM/ROLE[.N]",
		Short:             "Say on one screen why an agent runs, or why it does not",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(answer)
				}
				return printExplanation(a, answer)
			})
		},
	}
}

// printExplanation prints the answer first, then what it rests on.
func printExplanation(a *cli.App, answer *vigilv1.GetAgentResponse) error {
	g := answer.GetAgent()
	verdict := fmt.Sprintf("%s: %s", a.Screen.Bold(g.GetName()), term.OneLine(term.Tidy(g.GetWhy())))
	if d := term.Span(g.GetWhyLeft()); d != "" && endsByItself(g.GetWhyCode()) {
		verdict += "; in " + d
	}
	if err := a.Printf("%s\n\n", verdict); err != nil {
		return err
	}
	role := answer.GetRole()
	declared := strings.TrimSpace(fmt.Sprintf("%s, start %s", role.GetDesired(), role.GetStart()))
	runner := role.GetRunner()
	if runner == "" {
		runner = "none: it is started by hand"
	}
	err := a.Pairs("verdict", agent.VerdictLine(g.GetVerdict()), "stuck", ladderLine(g.GetLadder()),
		"patrols", agent.PatrolLine(g.GetOverseer()), "last look", agent.LookLine(g.GetOverseer()),
		"declared itself", agent.DeclarationText(g.GetDeclaration()),
		"terminal", screenLine(g.GetScreen(), g.GetDegraded()),
		"used", usage.Line(g.GetUsage()),
		"to do", remedy(g), "outdated", outdatedText(g),
		"wanted", intentText(a, g), "declared", declared, "runner", runner,
		"process", processLine(a, g), "in the room", participantLine(g), "task", tasks.Line(answer.GetTask()),
		"order", orderLine(g), "failures", failuresText(g), "parked", term.Tidy(g.GetParkedWhy()),
		"start fails", g.GetStartFault(), "unkillable", g.GetStuck(), "fence", term.Left(g.GetFenceLeft()),
		"resume value", resumeText(g))
	if err != nil {
		return err
	}
	if err := printReasons(a, g.GetVerdict()); err != nil {
		return err
	}
	if err := printExit(a, g.GetLastExit()); err != nil {
		return err
	}
	if err := printFits(a, answer.GetHosts()); err != nil {
		return err
	}
	return printRecent(a, answer.GetEvents())
}

// endsByItself tells whether a start follows when the reason's time is up.
func endsByItself(code string) bool {
	switch code {
	case "back_off", "parked", "fence", "brake", "hold":
		return true
	}
	return false
}

// remedy says what a human can do about the state of an agent; "" when its
// sentence names a command already, or nothing is to be done.
func remedy(g *vigilv1.Agent) string {
	if strings.Contains(g.GetWhy(), "`vigil ") {
		return ""
	}
	switch g.GetWhyCode() {
	case "paused":
		if strings.HasPrefix(g.GetWhy(), "declared as paused") {
			return "" // by its role: its sentence says how to end that
		}
		return "`vigil agent resume " + g.GetName() + "`"
	case "room_paused":
		return "`vigil room resume " + g.GetRoom() + "`"
	case "all_paused":
		return "`vigil resume`"
	case "stopped":
		return "`vigil agent start " + g.GetName() + "`"
	case "brake":
		return "wait, or when the losses are explained: `vigil brake release`"
	case "fence":
		return "wait; when the machine is certainly off: `vigil host confirm-dead " +
			term.OrWord(g.GetHost(), "HOST") + "`"
	case "unheard":
		return "`vigil host explain " + g.GetHost() +
			"`: it starts elsewhere when that host is certain not to run it any more"
	case "parked", "back_off":
		return "wait, or `vigil agent unpark " + g.GetName() + "`"
	case "unkillable":
		return "look at host " + g.GetHost() +
			": a process that outlives KILL usually hangs in the kernel, on a disk or a network file system"
	case "no_host":
		if strings.Contains(g.GetWhy(), " is drained ") {
			return "end a drain (`vigil host undrain HOST`), or start `vigil agentd` with that runner on another machine"
		}
		return "start `vigil agentd` with that runner, or make room: the table below says what each host lacks"
	case "no_task":
		return "`vigil task create " + g.GetRoom() + "/" + g.GetRole() + " TITLE`"
	}
	return ""
}

func processLine(a *cli.App, g *vigilv1.Agent) string {
	text := processText(g)
	if g.GetIncarnation() != "" {
		text += ", life " + g.GetIncarnation()
	}
	if g.GetHost() != "" {
		text += " on " + g.GetHost()
	}
	if g.GetPid() != 0 {
		text += fmt.Sprintf(", pid %d", g.GetPid())
	}
	if d := term.Span(g.GetUp()); d != "" {
		text += ", up " + d
	}
	return text
}

func participantLine(g *vigilv1.Agent) string {
	text := g.GetParticipant()
	if d := term.Left(g.GetLeaseLeft()); d != "" && text != "DISCONNECTED" {
		text += ", lease " + d
	}
	return text
}

func orderLine(g *vigilv1.Agent) string {
	if g.GetOrder() == "" || g.GetOrder() == "none" {
		return "none open"
	}
	text := fmt.Sprintf("%s, open for %s", g.GetOrder(), term.OrZero(term.Span(g.GetOrderOpen())))
	if g.GetOrderReason() != "" {
		text += ": " + g.GetOrderReason()
	}
	return text
}

func printFits(a *cli.App, fits []*vigilv1.HostFit) error {
	if len(fits) == 0 {
		return nil
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	t := term.NewTable("HOST", "NEXT START", "BECAUSE~")
	for _, f := range fits {
		word := "no"
		if f.GetFits() {
			word = "possible"
		}
		t.Add(f.GetHost(), word, f.GetReason())
	}
	return a.PrintTable(t, "")
}

func printRecent(a *cli.App, recent []*vigilv1.Event) error {
	if len(recent) == 0 {
		return nil
	}
	if err := a.Printf("\n%s\n", a.Screen.Bold("recent events")); err != nil {
		return err
	}
	for _, e := range recent[max(0, len(recent)-10):] {
		if err := events.Print(a, e); err != nil {
			return err
		}
	}
	return nil
}
