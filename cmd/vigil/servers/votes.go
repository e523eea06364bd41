package servers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

func newPromoteCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "promote ID",
		Short: "Give a standby its vote",
		Args:  cobra.ExactArgs(1),

		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := c.Cluster.PromoteServer(ctx, &vigilv1.PromoteServerRequest{Server: args[0]}); err != nil {
					return err
				}
				return a.Done(map[string]any{"server": args[0]}, "server %s is a voter now", args[0])
			})
		},
	}
}

func newDemoteCmd(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "demote ID",
		Short: "Take a server's vote and keep it as a standby",
		Args:  cobra.ExactArgs(1),

		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				_, err := c.Cluster.DemoteServer(ctx, &vigilv1.DemoteServerRequest{Server: args[0], Force: force})
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"server": args[0]}, "server %s is a standby now", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false,
		"take its vote although fewer than a majority of the others answer: nothing may be written then")
	return cmd
}

func newReplaceCmd(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "replace OLD NEW",
		Short: "Give the vote of one server to another, and remove the first",
		Long: `Give the vote of server OLD to server NEW, then remove OLD for good, with its identity.

NEW is a member already: it has joined by a token (vigil server join --standby), or was added with
vigil server add --standby. It gets its vote first, so at no time do fewer servers stand for the
state than before. To keep OLD, as the next standby, use promote and demote.`,
		Example: `  vigil server replace s1 s4`,
		Args:    cobra.ExactArgs(2),

		ValidArgsFunction: a.First(serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			gone, next := args[0], args[1]
			if gone == next {
				return cli.Usagef("server %s cannot take its own place", gone)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if err := known(ctx, c, gone); err != nil {
					return err
				}
				if _, err := c.Cluster.PromoteServer(ctx, &vigilv1.PromoteServerRequest{Server: next}); err != nil {
					return err
				}
				_, err := c.Cluster.RemoveServer(ctx, &vigilv1.RemoveServerRequest{Server: gone, Force: force})
				if err != nil {
					return fmt.Errorf("server %s has its vote, but %s is still there (vigil server remove %s): %w",
						next, gone, gone, err)
				}
				return a.Done(map[string]any{"removed": gone, "server": next},
					"server %s has taken the place of %s; the data directory of %s may be deleted, but trust/root.key, if it is there",
					next, gone, gone)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove OLD although that leaves fewer than a majority alive")
	return cmd
}

// known refuses a server that is no member, before anything is changed.
func known(ctx context.Context, c *cli.Conn, id string) error {
	list, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return err
	}
	for _, s := range list.GetServers() {
		if s.GetId() == id {
			return nil
		}
	}
	return cli.Usagef("%s", noun.AbsentServer(id))
}
