package agents

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/deadlines"
	"vigil/cmd/vigil/people/terminal"
)

// NewCommand is `vigil agent`.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup("agent", "Agents: see why they run or not, stop, pause and start them",
		newListCmd(a), newShowCmd(a), newStatusCmd(a), newHealthCheckCmd(a),
		newExplainCmd(a), deadlines.NewAgentCommand(a), newStartCmd(a), newStopCmd(a),
		newRestartCmd(a),
		newPauseCmd(a, "pause", "Start an agent no more and give it no new task; what it does goes on", true),
		newPauseCmd(a, "resume", "End the pause of an agent", false), newUnparkCmd(a),
		newLogsCmd(a), terminal.NewScreenCommand(a), terminal.NewAttachCommand(a))
}
