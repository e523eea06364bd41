package hosts

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newExplainCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "explain HOST",
		Short:             "Say on one screen how a host is heard and whether it gets starts",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(cli.HostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				h, err := c.Fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(h)
				}
				if err := printExplanation(a, h); err != nil {
					return err
				}
				return printAgentsOf(ctx, a, c, h)
			})
		},
	}
}

// printExplanation prints the answer first, then what it rests on.
func printExplanation(a *cli.App, h *vigilv1.Host) error {
	verdict := h.GetState() + ": " + verdictOf(h)
	if err := a.Printf("%s: %s\n\n", a.Screen.Bold(term.OneLine(h.GetName())), term.OneLine(verdict)); err != nil {
		return err
	}
	err := a.Pairs("to do", remedy(h), "drain", drainLine(a, h), "pressure", h.GetPressure(),
		"agents", loadText(h), "lease", term.Left(h.GetLeaseLeft()), "seen", heardText(a, h),
		"kept", keptLine(a, h), "runners", strings.Join(h.GetRunners(), ", "),
		"labels", labelText(h.GetLabels()), "version", h.GetVersion(),
		"gossip", term.OrWord(h.GetGossipAddr(), "none: servers hear it by its stream only"),
		"servers", strings.Join(h.GetServers(), ", "), "containment", containmentLine(h))
	if err != nil {
		return err
	}
	if err := printWarningsOf(a, h); err != nil {
		return err
	}
	if len(h.GetViews()) == 0 {
		return nil
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	t := term.NewTable("SERVER", "GOSSIP", "STREAM")
	for _, v := range h.GetViews() {
		t.Add(v.GetServer(), v.GetGossip(), v.GetStream())
	}
	return a.PrintTable(t, "")
}

// verdictOf says what the state means for starts.
func verdictOf(h *vigilv1.Host) string {
	if why := whyText(h); why != "" {
		return why
	}
	switch h.GetState() {
	case "ready":
		if h.GetCapacity() <= h.GetRunning()+h.GetStarting() {
			return "it is full"
		}
		return "it gets starts"
	case "suspect":
		return "it has fallen silent, and gets no starts"
	case "lost":
		if n := h.GetUnproven(); n > 0 {
			return "its lease has ended; under policy confirm " + term.Plural(n, "agent") + " can move only after its " +
				"report or your word"
		}
		return "its lease has ended; each of its agents moves when its own fence has ended"
	case "left":
		return "it said good-bye"
	}
	return "it gets no starts"
}

// remedy says what a human can do, "" when there is nothing to do.
func remedy(h *vigilv1.Host) string {
	name := h.GetName()
	switch {
	case h.GetState() == "lost" && h.GetRunning() > 0, h.GetUnproven() > 0:
		return fmt.Sprintf("bring it back; or, when the machine is certainly off, `vigil host confirm-dead %s`", name)
	case h.GetState() == "lost" || h.GetState() == "left":
		return fmt.Sprintf("start `vigil agentd` there again; or `vigil host forget %s`", name)
	case h.GetState() == "suspect" && strings.Contains(h.GetSuspectWhy(), "UDP"):
		return "let UDP and TCP through to the gossip port between it and the servers; its agents go on meanwhile"
	case h.GetState() == "suspect":
		return "nothing yet: it is trusted again when it is heard, or lost when its lease ends"
	case h.GetDrain() && h.GetRunning()+h.GetStarting() > 0:
		return fmt.Sprintf("wait (`vigil host drain %s --wait`), or end it: `vigil host undrain %s`", name, name)
	case h.GetDrain():
		return fmt.Sprintf("it is empty; `vigil host undrain %s` gives it agents again", name)
	case h.GetState() == "returning":
		return "find out why it comes and goes: its network, its load, or agentd restarting"
	case strings.HasPrefix(h.GetPressure(), "its agentd is shutting down"):
		return ""
	case h.GetPressure() != "":
		return "free memory there, or let fewer agents run on it (capacity in agentd.yaml)"
	}
	return ""
}
