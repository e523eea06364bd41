package main

import (
	"github.com/spf13/cobra"

	"vigil/agentd/shim"
)

// newShimCommand is what agentd starts for each agent; people never do.
func newShimCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "shim",
		Short:  "Hold one agent (run by agentd)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if code := shim.Serve(a.in, shim.RealClock()); code != 0 {
				return exitWith(code, nil)
			}
			return nil
		},
	}
}
