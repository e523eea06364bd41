package trust

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands about who may speak to the cluster.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		cli.NewGroup("token", "Tokens by which servers and hosts join, and programs call", newTokenCreateCmd(a),
			newTokenListCmd(a), newTokenRevokeCmd(a)),
		cli.NewGroup("user", "People and what they may do", newUserAddCmd(a), newUserListCmd(a), newUserRemoveCmd(a)),
		cli.NewGroup("identity", "Who has certificates of the cluster", newIdentityListCmd(a), newIdentityRevokeCmd(a)),
		newGossipCmd(a),
		newRootCmd(a),
		cli.NewGroup("tls", "Certificates of the cluster", newTLSShowCmd(a)),
		newLoginCmd(a),
		newLogoutCmd(a),
	}
}
