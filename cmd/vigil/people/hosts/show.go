package hosts

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/agents"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "show HOST",
		Short:             "Show a worker machine, by name or number, and its agents",
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
				err = a.Pairs("host", h.GetName(), "number", fmt.Sprint(h.GetId()), "state", h.GetState(),
					"why", whyText(h),
					"version", h.GetVersion(), "agents", loadText(h),
					"lease", term.Left(h.GetLeaseLeft()), "seen", heardText(a, h), "drain", drainLine(a, h),
					"runners", strings.Join(h.GetRunners(), ", "), "labels", labelText(h.GetLabels()),
					"terminals", h.GetTerminals(),
					"containment", containmentLine(h), "kept", keptLine(a, h), "gossip", h.GetGossipAddr(),
					"servers", strings.Join(h.GetServers(), ", "))
				if err != nil {
					return err
				}
				if err := printWarningsOf(a, h); err != nil {
					return err
				}
				return printAgentsOf(ctx, a, c, h)
			})
		},
	}
}

// printAgentsOf prints the agents of a host, all of them.
func printAgentsOf(ctx context.Context, a *cli.App, c *cli.Conn, h *vigilv1.Host) error {
	list := &vigilv1.ListAgentsResponse{}
	for request := (&vigilv1.ListAgentsRequest{Host: fmt.Sprint(h.GetId()), Stale: a.Stale, Limit: 1000}); ; {
		page, err := c.Fleet.ListAgents(ctx, request)
		if err != nil {
			return err
		}
		list.Agents = append(list.Agents, page.GetAgents()...)
		if request.After = page.GetNext(); request.After == "" {
			break
		}
	}
	if len(list.GetAgents()) == 0 {
		return nil
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return agents.Print(a, list)
}
