package terminal

import "vigil/cmd/vigil/cli"

// agentdFolder is nowhere.
func agentdFolder() string { return "" }

// attachHere finds no agent: hosts run Linux.
func attachHere(*cli.App, string, string, bool) (elsewhere bool, err error) {
	return true, cli.Usagef("hosts run Linux: attach without --data-dir")
}

// agentsHere are the agents of this host: none.
func agentsHere(string) []string { return nil }
