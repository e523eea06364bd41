package serve

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands that run servers and hosts.
func Commands(a *cli.App) []*cobra.Command {
	server := newServerCmd(a)
	server.AddCommand(newRecoverCmd(a), newInitCmd(a), newJoinCmd(a), newConvertLogCmd(a), newSkipEntryCmd(a), newInspectCmd(a))
	agentd := newAgentdCmd(a)
	agentd.AddCommand(newAgentdJoinCmd(a))
	return []*cobra.Command{
		server,
		agentd,
		newKeygenCmd(a),
	}
}
