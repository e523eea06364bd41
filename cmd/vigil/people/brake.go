package people

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newBrakeCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("brake", "The mass-failure brake: no starts elsewhere when many agents are lost at once",
		newBrakeShowCmd(a), newBrakeReleaseCmd(a))
}

func newBrakeShowCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Say whether the brake is set, and why",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				object := map[string]any{"set": st.GetBrake() != ""}
				if why := st.GetBrake(); why != "" {
					object["why"] = why
				}
				if st.GetBrake() == "" {
					return a.Done(object, "the brake is not set")
				}
				return a.Done(object, "the brake is set: %s; `vigil brake release` ends it", term.Tidy(st.GetBrake()))
			})
		},
	}
}

func newBrakeReleaseCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "release",
		Short: "End the brake: agents that were lost with their hosts are started elsewhere at once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				st, err := c.Cluster.Status(ctx, &vigilv1.StatusRequest{})
				if err != nil {
					return err
				}
				if st.GetBrake() == "" {
					return a.Done(map[string]any{"set": false}, "there is nothing to release: the brake is not set")
				}
				if _, err := c.Fleet.ReleaseBrake(ctx, &vigilv1.ReleaseBrakeRequest{By: a.Me()}); err != nil {
					return err
				}
				return a.Done(map[string]any{"set": false}, "the brake is released")
			})
		},
	}
}
