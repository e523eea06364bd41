package people

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// newAgentAttachCmd tells where `vigil agent attach` is to be run.
func newAgentAttachCmd(*cli.App) *cobra.Command {
	return cli.Elsewhere("attach AGENT", "On its host: attach to the terminal of an agent",
		"hosts run Linux: `vigil agent screen` shows the terminal from here")
}

// prompts are those that the file of a runner declares.
type prompts []struct{}

// readPrompts tells where they are to be read.
func readPrompts(string) (prompts, error) {
	return nil, cli.Usagef("flag --match: runners are for hosts, which run Linux: try their prompts there")
}

// printMatched is never called: there are no prompts here.
func printMatched(*cli.App, prompts, string) error { return nil }
