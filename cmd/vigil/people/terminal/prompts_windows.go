package terminal

import "vigil/cmd/vigil/cli"

// prompts are those that the file of a runner declares.
type prompts []struct{}

// readPrompts tells where they are to be read.
func readPrompts(string) (prompts, error) {
	return nil, cli.Usagef("flag --match: runners are for hosts, which run Linux: try their prompts there")
}

// printMatched is never called: there are no prompts here.
func printMatched(*cli.App, prompts, string) error { return nil }
