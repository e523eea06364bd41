package serve

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands that run servers and hosts.
func Commands(a *cli.App) []*cobra.Command {
	server := newServerCmd(a)
	server.AddCommand(newRecoverCmd(a))
	return []*cobra.Command{
		server,
		newAgentdCmd(a),
		newKeygenCmd(a),
		newShimCommand(a),
	}
}
