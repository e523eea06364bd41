package people

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/agents"
	"vigil/cmd/vigil/people/events"
	"vigil/cmd/vigil/people/hosts"
	"vigil/cmd/vigil/people/mail"
	"vigil/cmd/vigil/people/rooms"
	"vigil/cmd/vigil/people/tasks"
	"vigil/cmd/vigil/people/terminal"
	"vigil/cmd/vigil/people/usage"
	"vigil/cmd/vigil/people/watchdog"
)

// Commands are the commands by which people see and steer a fleet.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newStatusCmd(a),
		rooms.NewApplyCommand(a),
		rooms.NewCommand(a),
		tasks.NewCommand(a),
		agents.NewCommand(a),
		terminal.NewNudgeCommand(a),
		mail.NewCommand(a),
		hosts.NewCommand(a),
		newPauseCmd(a),
		newResumeCmd(a),
		newBrakeCmd(a),
		usage.NewCommand(a), usage.NewBudgetCommand(a),
		watchdog.NewCommand(a),
		newEscalationCmd(a),
		events.NewCommand(a),
		newContextCmd(a),
	}
}
