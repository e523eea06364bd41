package serve

import (
	"github.com/spf13/cobra"

	"vigil/agentd/shim"
	"vigil/cmd/vigil/cli"
)

// newShimCommand is what agentd starts for each agent; people never do.
func newShimCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "shim",
		Short:  "Hold one agent (run by agentd)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if code := shim.Serve(a.In, shim.RealClock()); code != 0 {
				return cli.ExitWith(code, nil)
			}
			return nil
		},
	}
}
