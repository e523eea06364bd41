//go:build !unix || client

package main

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// servingCommands tell where what they are called after is to be run: servers and hosts need Linux.
func servingCommands(*cli.App) []*cobra.Command {
	const there = "it runs on Linux: install vigil there (docs/guide/install.md)"
	return []*cobra.Command{
		cli.Elsewhere("server", "Run a server, or ask about servers", there),
		cli.Elsewhere("agentd", "Run the daemon of a worker host", there),
		cli.Elsewhere("keygen", "Make a key that encrypts gossip", there),
		cli.Elsewhere("dev", "Run a whole fleet on this machine, to try things out", there),
		cli.Elsewhere("backup", "List, check and restore the backups that servers make", there),
		cli.Elsewhere("bench", "Measure vigil on this machine", there),
	}
}

// beOther is nothing here: a client is no shim.
func beOther() {}
