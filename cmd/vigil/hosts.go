package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/gen/vigilv1"
)

func newHostCmd(a *app) *cobra.Command {
	return newGroup("host", "Worker machines: see how they are, drain them, give them up",
		newHostListCmd(a), newHostShowCmd(a), newHostExplainCmd(a), newHostDrainCmd(a), newHostUndrainCmd(a),
		newHostConfirmDeadCmd(a), newHostForgetCmd(a))
}

func newHostListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worker machines with the reason for their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				list := &vigilv1.ListHostsResponse{}
				for request := (&vigilv1.ListHostsRequest{Stale: a.stale}); ; {
					page, err := c.fleet.ListHosts(ctx, request)
					if err != nil {
						return err
					}
					list.Hosts = append(list.Hosts, page.GetHosts()...)
					if request.After = page.GetNextAfter(); request.After == 0 {
						return printHosts(a, list)
					}
				}
			})
		},
	}
}

func printHosts(a *app, list *vigilv1.ListHostsResponse) error {
	if a.json {
		return a.printJSON(list)
	}
	t := newTable("HOST~", "STATE", ">AGENTS", ">ROOM", "LEASE", "SEEN", "RUNNERS~", "LABELS~", "WHY~")
	for _, h := range list.GetHosts() {
		agents := fmt.Sprint(h.GetRunning())
		if h.GetStarting() > 0 {
			agents += fmt.Sprintf("+%d", h.GetStarting())
		}
		t.add(h.GetName(), h.GetState(), agents, fmt.Sprint(h.GetCapacity()), left(h.GetLeaseLeft()), heardText(a, h),
			strings.Join(h.GetRunners(), ","), labelText(h.GetLabels()), hostWhy(h))
	}
	return a.printTable(t, "No host has registered yet: start one with `vigil agentd`.")
}

// heardText is how long ago the host's last beat was, in cluster time.
func heardText(a *app, h *vigilv1.Host) string {
	switch d := h.GetHeard(); {
	case d == nil:
		return a.ago(h.GetSeenAt())
	case d.AsDuration() < time.Second:
		return "just now"
	default:
		return short(d.AsDuration()) + " ago"
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

func newHostShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show HOST",
		Short:             "Show a worker machine, by name or number, and its agents",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.first(hostNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				h, err := c.fleet.GetHost(ctx, &vigilv1.GetHostRequest{Host: args[0], Stale: a.stale})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(h)
				}
				err = a.pairs("host", h.GetName(), "number", fmt.Sprint(h.GetId()), "state", h.GetState(), "why", hostWhy(h),
					"version", h.GetVersion(), "agents", hostLoad(h),
					"lease", left(h.GetLeaseLeft()), "seen", heardText(a, h), "drain", drainLine(a, h),
					"runners", strings.Join(h.GetRunners(), ", "), "labels", labelText(h.GetLabels()), "terminals", h.GetTerminals(),
					"containment", containmentLine(h), "gossip", h.GetGossipAddr(), "servers", strings.Join(h.GetServers(), ", "))
				if err != nil {
					return err
				}
				return printAgentsOf(ctx, a, c, h)
			})
		},
	}
}

func hostLoad(h *vigilv1.Host) string {
	return fmt.Sprintf("%d running, %d starting, room for %d", h.GetRunning(), h.GetStarting(), h.GetCapacity())
}

// printAgentsOf prints the agents of a host, all of them.
func printAgentsOf(ctx context.Context, a *app, c *conn, h *vigilv1.Host) error {
	list := &vigilv1.ListAgentsResponse{}
	for request := (&vigilv1.ListAgentsRequest{Host: fmt.Sprint(h.GetId()), Stale: a.stale, Limit: 1000}); ; {
		page, err := c.fleet.ListAgents(ctx, request)
		if err != nil {
			return err
		}
		list.Agents = append(list.Agents, page.GetAgents()...)
		if request.After = page.GetNextAfter(); request.After == "" {
			break
		}
	}
	if len(list.GetAgents()) == 0 {
		return nil
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	return printAgents(a, list)
}
