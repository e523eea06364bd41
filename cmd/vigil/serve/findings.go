package serve

import (
	"fmt"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
)

// printFindings prints what a look at a configuration has found, one line each, and gives
// exit code 1 when something is wrong.
func printFindings(a *cli.App, wrong []error, notes []string) error {
	for _, err := range wrong {
		if err := a.Printf("%s\n", term.Safe(conf.InOneLine(err))); err != nil {
			return err
		}
	}
	for _, note := range notes {
		if err := a.Printf("note: %s\n", term.Safe(note)); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("findings: %d; nothing was started or changed", len(wrong)))
	}
	return a.Printf("Nothing wrong was found.\n")
}
