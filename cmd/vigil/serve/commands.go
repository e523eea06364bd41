package serve

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/serve/disk"
)

// Commands are the commands that run servers and hosts.
func Commands(a *cli.App) []*cobra.Command {
	server := newServerCmd(a)
	server.AddCommand(newInitCmd(a), newJoinCmd(a))
	server.AddCommand(disk.Commands(a)...)
	agentd := newAgentdCmd(a)
	agentd.AddCommand(newAgentdJoinCmd(a))
	return []*cobra.Command{
		server,
		agentd,
		newKeygenCmd(a),
	}
}
