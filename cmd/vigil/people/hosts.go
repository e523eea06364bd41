package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newHostCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("host", "Worker machines: see how they are, drain them, give them up",
		newHostListCmd(a), newHostShowCmd(a), newHostExplainCmd(a), newHostDrainCmd(a), newHostUndrainCmd(a),
		newHostConfirmDeadCmd(a), newHostForgetCmd(a))
}

func newHostListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worker machines with the reason for their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListHostsResponse{}
				for request := (&vigilv1.ListHostsRequest{Stale: a.Stale}); ; {
					page, err := c.Fleet.ListHosts(ctx, request)
					if err != nil {
						return err
					}
					list.Hosts = append(list.Hosts, page.GetHosts()...)
					if request.After = page.GetNext(); request.After == 0 {
						return printHosts(a, list)
					}
				}
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
			strings.Join(h.GetRunners(), ","), labelText(h.GetLabels()), hostWhy(h))
	}
	return a.PrintTable(t, "No host has registered yet: start one with `vigil agentd`.")
}

// heardText is how long ago the host's last beat was, in cluster time.
func heardText(a *cli.App, h *vigilv1.Host) string {
	switch d := h.GetHeard(); {
	case d == nil:
		return a.Ago(h.GetSeenAt())
	case d.AsDuration() < time.Second:
		return "just now"
	default:
		return term.Short(d.AsDuration()) + " ago"
	}
}

func labelText(labels map[string]string) string {
	var parts []string
	for k, v := range labels {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func newHostShowCmd(a *cli.App) *cobra.Command {
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
					"why", hostWhy(h),
					"version", h.GetVersion(), "agents", hostLoad(h),
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

func hostLoad(h *vigilv1.Host) string {
	return fmt.Sprintf("%d running, %d starting, capacity %d", h.GetRunning(), h.GetStarting(), h.GetCapacity())
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
	return printAgents(a, list)
}
