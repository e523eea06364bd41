package serve

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands that run servers and hosts.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newServerCmd(a),
		newAgentdCmd(a),
		newKeygenCmd(a),
		newShimCommand(a),
	}
}
