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

func newListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worker machines with the reason for their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				all, err := c.Hosts(ctx, a.Stale)
				if err != nil {
					return err
				}
				return printHosts(a, &vigilv1.ListHostsResponse{Hosts: all})
			})
		},
	}
}

func printHosts(a *cli.App, list *vigilv1.ListHostsResponse) error {
	if a.JSON {
		return a.PrintJSON(list)
	}
	t := term.NewTable("HOST~", "STATE", "AGENTS", "LEASE", "SEEN", "RUNNERS~", "LABELS~", "WHY~")
	for _, h := range list.GetHosts() {
		agents := fmt.Sprint(h.GetRunning())
		if h.GetStarting() > 0 {
			agents += fmt.Sprintf("+%d", h.GetStarting())
		}
		agents += fmt.Sprintf(" of %d", h.GetCapacity())
		t.Add(h.GetName(), h.GetState(), agents, term.Left(h.GetLeaseLeft()), heardText(a, h),
			strings.Join(h.GetRunners(), ","), labelText(h.GetLabels()), whyText(h))
	}
	return a.PrintTable(t, "No host has registered yet: start one with `vigil agentd`.")
}
