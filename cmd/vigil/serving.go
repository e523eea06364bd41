//go:build unix && !client

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vigil/agentd/proc"
	"vigil/cmd/vigil/backups"
	"vigil/cmd/vigil/bench"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/dev"
	"vigil/cmd/vigil/serve"
)

// servingCommands are the commands that run, or measure, servers and hosts on this machine.
func servingCommands(a *cli.App) []*cobra.Command {
	return append(append(serve.Commands(a), dev.Commands(a)...), backups.NewCommand(a),
		bench.NewCommand(a), bench.NewAgentCommand(a), bench.NewSessionsCommand(a))
}

// beOther is the whole process where it is the first one of a container, or a shim.
func beOther() {
	if os.Getpid() == 1 { // of a container
		program, err := os.Executable()
		code := 0
		if err == nil {
			code, err = proc.RunAsInit(program, os.Args)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = cli.ExitFailed
		}
		os.Exit(code)
	}
	if code, is := serve.BeShim(os.Args[1:]); is {
		os.Exit(code)
	}
}
