package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Table shows servers to people, with their roles, addresses and health, and with zones where some say theirs.
func Table(servers []*vigilv1.Server) *term.Table {
	zoned := slices.ContainsFunc(servers, func(s *vigilv1.Server) bool { return s.GetZone() != "" })
	heads := []string{"SERVER", "ROLE", "API", "RAFT", "VERSION", "HEALTH~"}
	if zoned {
		heads = slices.Insert(heads, 2, "ZONE")
	}
	t := term.NewTable(heads...)
	for _, s := range servers {
		role := "voter"
		switch {
		case s.GetLeader():
			role = "leader"
		case s.GetStandby():
			role = "standby"
		case !s.GetVoter():
			role = "learner"
		}
		health := s.GetHealth()
		if d := term.Span(s.GetSilent()); d != "" {
			health += ", not heard for " + d
		}
		if s.GetDiverged() {
			health = "diverged: its state differs from the majority's, rebuild it"
		}
		row := []string{s.GetId(), role, s.GetApiAddr(), s.GetRaftAddr(), s.GetVersion(), health}
		if zoned {
			row = slices.Insert(row, 2, s.GetZone())
		}
		t.Add(row...)
	}
	return t
}

func newListServersCmd(a *cli.App) *cobra.Command {
	var figures bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"peers"},
		Short:   "List the servers of the cluster",
		Long: "List the servers of the cluster. With --figures each of them is asked for its part in raft: term, last\n" +
			"entry of its log, entries that it has still to apply, sizes of log and snapshot, commit times of the\n" +
			"last minute where it leads, and whose API does not answer it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{Figures: figures})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(list)
				}
				if figures {
					return a.PrintTable(figuresTable(list.GetServers()), "No servers are known.")
				}
				return a.PrintTable(Table(list.GetServers()), "No servers are known.")
			})
		},
	}
	cmd.Flags().BoolVar(&figures, "figures", false, "ask each server for its part in raft")
	return cmd
}

func newAddServerCmd(a *cli.App) *cobra.Command {
	var standby bool
	cmd := &cobra.Command{
		Use:     "add ID RAFT-ADDR",
		Short:   "Add a server: it learns the log first, then it gets a vote",
		Example: `  vigil server add s4 10.0.0.14:7421`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("timeout") {
				a.Timeout = addServerLimit
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				a.Progress("waiting until server %s at %s has learned the log", args[0], args[1])
				_, err := c.Cluster.AddServer(ctx, &vigilv1.AddServerRequest{Id: args[0], RaftAddr: args[1], Standby: standby})
				a.ProgressEnd()
				if ctx.Err() != nil && errors.Is(err, client.ErrTimeout) { // else the leader says why it has ended
					return fmt.Errorf("server %s has not learned the log within %s and is taken out again: "+
						"see that it runs at %s with an empty data directory: %w", args[0], a.Timeout, args[1], err)
				}
				if err != nil {
					return err
				}
				switch {
				case standby:
					return a.Done(map[string]any{"server": args[0]}, "server %s is a standby now", args[0])
				case isStandby(ctx, c, args[0]):
					return a.Done(map[string]any{"server": args[0]}, "server %s stays a standby: `vigil server promote %s` "+
						"gives it its vote", args[0], args[0])
				}
				return a.Done(map[string]any{"server": args[0]}, "server %s is a voter now", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&standby, "standby", false, "keep it without a vote, to take the place of a server that is lost")
	return cmd
}

// isStandby tells whether a server was a standby before it was added again: adding it changes nothing then.
func isStandby(ctx context.Context, c *cli.Conn, id string) bool {
	list, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	return err == nil && slices.ContainsFunc(list.GetServers(), func(s *vigilv1.Server) bool {
		return s.GetId() == id && s.GetStandby()
	})
}

// addServerLimit is how long a new server may take to learn the log. One that learns nothing for minutes is given up
// by the leader.
const addServerLimit = 24 * time.Hour

func newRemoveServerCmd(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a server from the cluster",
		Args:  cobra.ExactArgs(1),

		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				_, err := c.Cluster.RemoveServer(ctx, &vigilv1.RemoveServerRequest{Server: args[0], Force: force})
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"server": args[0]},
					"server %s is removed; its data directory may be deleted, but trust/root.key, if it is there", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it although that leaves fewer than a majority alive")
	return cmd
}

func newTransferCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "transfer [ID]",
		Short: "Hand leadership to another server, without ID to the one most up to date",
		Args:  cobra.MaximumNArgs(1),

		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := ""
			if len(args) == 1 {
				to = args[0]
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := c.Cluster.TransferLeadership(ctx, &vigilv1.TransferLeadershipRequest{To: to})
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"leader": answer.GetLeader()}, "server %s leads now", answer.GetLeader())
			})
		},
	}
}

func serverNames(ctx context.Context, c *cli.Conn, _ string) (names []string) {
	list, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return nil
	}
	for _, s := range list.GetServers() {
		names = append(names, s.GetId())
	}
	return names
}
