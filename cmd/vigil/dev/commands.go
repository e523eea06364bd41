package dev

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands of the demo.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newDevCmd(a),
		newDevAgentCmd(a),
	}
}
