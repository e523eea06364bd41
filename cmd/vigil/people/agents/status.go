package agents

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

func newStatusCmd(a *cli.App) *cobra.Command {
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
