package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

// Elsewhere is a command that this build of the program does not have; what it says, whatever
// arguments it gets, ends with the remedy.
func Elsewhere(use, short, remedy string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short + " (not in this build)",
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Usagef("%s: this is the client of vigil for %s: %s", cmd.CommandPath(), runtime.GOOS, remedy)
		},
	}
}
