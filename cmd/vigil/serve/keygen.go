package serve

import (
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
)

// newKeygenCmd is `vigil keygen`.
func newKeygenCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key that encrypts gossip",
		Long: `Make a random key and write it to a new file that only its owner can read. Copy the
file to all servers and hosts and name it there as gossip.key_file.`,
		Example: "  vigil keygen /etc/vigil/gossip.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := gossip.WriteKey(args[0]); err != nil {
				return cli.ExitWith(cli.ExitFailed, err)
			}
			_, err := fmt.Fprintf(a.Out,
				"%s written: copy it to all servers and hosts, and let nobody else read it\n", args[0])
			return err
		},
	}
}
