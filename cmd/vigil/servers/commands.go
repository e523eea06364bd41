package servers

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands about what all servers share; AddVerbs adds those about servers.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newSettingsCmd(a), newUpgradeCmd(a)}
}

// AddVerbs adds the verbs about servers to the command that runs one.
func AddVerbs(root *cobra.Command, a *cli.App) {
	verbs := []*cobra.Command{newListServersCmd(a), newAddServerCmd(a), newRemoveServerCmd(a), newTransferCmd(a),
		newPromoteCmd(a), newDemoteCmd(a), newReplaceCmd(a),
		newSnapshotCmd(a)}
	for _, cmd := range root.Commands() {
		if cmd.Name() == "server" {
			cmd.AddCommand(verbs...)
			return
		}
	}
	root.AddCommand(cli.NewGroup("server", "Servers of the cluster", verbs...))
}
