package hosts

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// NewCommand is `vigil host`.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup("host", "Worker machines: see how they are, drain them, give them up",
		newListCmd(a), newShowCmd(a), newExplainCmd(a), newDrainCmd(a), newUndrainCmd(a),
		newConfirmDeadCmd(a), newForgetCmd(a))
}
