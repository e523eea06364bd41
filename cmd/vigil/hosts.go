package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/rpc/gen/vigilv1"
)

func newHostCmd(a *app) *cobra.Command {
	return newGroup("host", "Worker machines", newHostListCmd(a), newHostShowCmd(a))
}

func newHostListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worker machines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				list, err := c.fleet.ListHosts(ctx, &vigilv1.ListHostsRequest{Stale: a.stale})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(list)
				}
				t := newTable("HOST", "STATE", ">RUNNING", ">STARTING", ">CAPACITY", "LEASE", "SEEN", "RUNNERS~", "LABELS~")
				for _, h := range list.GetHosts() {
					t.add(h.GetName(), h.GetState(), fmt.Sprint(h.GetRunning()), fmt.Sprint(h.GetStarting()), fmt.Sprint(h.GetCapacity()),
						left(h.GetLeaseLeft()), a.ago(h.GetSeenAt()), strings.Join(h.GetRunners(), ","), labelText(h.GetLabels()))
				}
				return t.print(a, "No host has registered yet: start one with `vigil agentd`.")
			})
		},
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
		Short:             "Show a worker machine, by name or stable id, and its agents",
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
				err = a.pairs("host", h.GetName(), "id", h.GetKey(), "state", h.GetState(), "boot", h.GetBoot(), "version", h.GetVersion(),
					"agents", fmt.Sprintf("%d running, %d starting, room for %d", h.GetRunning(), h.GetStarting(), h.GetCapacity()),
					"lease", left(h.GetLeaseLeft()), "seen", a.ago(h.GetSeenAt()),
					"runners", strings.Join(h.GetRunners(), ", "), "labels", labelText(h.GetLabels()))
				if err != nil {
					return err
				}
				list, err := c.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Host: args[0], Stale: a.stale, Limit: 1000})
				if err != nil || len(list.GetAgents()) == 0 {
					return err
				}
				if err := a.printf("\n"); err != nil {
					return err
				}
				return a.printAgents(list)
			})
		},
	}
}
