package people

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the commands by which people see and steer a fleet.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newStatusCmd(a),
		newApplyCmd(a),
		newRoomCmd(a),
		newTaskCmd(a),
		newAgentCmd(a),
		newNudgeCmd(a),
		newMailCmd(a),
		newHostCmd(a),
		newPauseCmd(a),
		newResumeCmd(a),
		newBrakeCmd(a), newUsageCmd(a), newBudgetCmd(a),
		newWatchdogCmd(a),
		newEscalationCmd(a),
		newEventsCmd(a),
		newContextCmd(a),
	}
}
