package people

import "vigil/cmd/vigil/cli"

// agentdFolder is nowhere.
func agentdFolder() string { return "" }

// attachHere finds no agent: hosts run Linux.
func attachHere(*cli.App, string, string, bool) (elsewhere bool, err error) {
	return true, cli.Usagef("hosts run Linux: attach without --data-dir")
}

// agentsHere are the agents of this host: none.
func agentsHere(string) []string { return nil }

// prompts are those that the file of a runner declares.
type prompts []struct{}

// readPrompts tells where they are to be read.
func readPrompts(string) (prompts, error) {
	return nil, cli.Usagef("flag --match: runners are for hosts, which run Linux: try their prompts there")
}

// printMatched is never called: there are no prompts here.
func printMatched(*cli.App, prompts, string) error { return nil }
