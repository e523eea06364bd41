package main

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/rpc/gen/vigilv1"
)

func newBrakeCmd(a *app) *cobra.Command {
	return newGroup("brake", "The mass-failure brake: no starts elsewhere when many agents are lost at once",
		newBrakeShowCmd(a), newBrakeReleaseCmd(a))
}

func newBrakeShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Say whether the brake is set, and why",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				st, err := c.cluster.Status(ctx, &vigilv1.StatusRequest{Stale: a.stale})
				if err != nil {
					return err
				}
				object := map[string]any{"set": st.GetBrake() != "", "why": st.GetBrake()}
				if st.GetBrake() == "" {
					return a.done(object, "the brake is not set")
				}
				return a.done(object, "the brake is set: %s; `vigil brake release` ends it", tidy(st.GetBrake()))
			})
		},
	}
}

func newBrakeReleaseCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "release",
		Short: "End the brake: agents that were lost with their hosts are started elsewhere at once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, c *conn) error {
				if _, err := c.fleet.ReleaseBrake(ctx, &vigilv1.ReleaseBrakeRequest{By: a.me()}); err != nil {
					return err
				}
				return a.done(map[string]any{"set": false}, "the brake is released")
			})
		},
	}
}
