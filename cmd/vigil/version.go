package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

func newVersionCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				return a.PrintJSON(map[string]string{"version": cli.Version(), "commit": cli.Commit(), "date": cli.Date(),
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			return a.Printf("%s\n", versionLine())
		},
	}
}

// versionLine is what `vigil version` and `vigil --version` print.
func versionLine() string {
	built := runtime.Version()
	if date := cli.Date(); date != "" {
		built = cli.Commit() + " of " + date + ", " + built
	}
	return fmt.Sprintf("vigil %s (%s, %s/%s)", cli.Version(), built, runtime.GOOS, runtime.GOARCH)
}
