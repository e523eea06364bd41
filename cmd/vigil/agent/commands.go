package agent

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands that agents run, overseers and triage among them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newDeclareCmd(a),
		newPatrolCmd(a),
		newTriageCmd(a),
		newHandoffCmd(a),
		newWaitForTaskCmd(a),
		newBeatCmd(a),
		newRunCmd(a),
		newRememberCmd(a),
	}
}
