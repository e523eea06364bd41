package rooms

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/deadlines"
	"vigil/cmd/vigil/people/watchdog"
)

// NewCommand is `vigil room`.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup("room", "Rooms with their roles", newListCmd(a), newShowCmd(a), deadlines.NewRoomCommand(a),
		newPauseCmd(a, "pause", "Start no agent of a room and give it no new task; what runs goes on", true),
		newPauseCmd(a, "resume", "End the pause of a room", false), watchdog.NewReopenCommand(a),
		watchdog.NewRoomCommand(a), newDeleteCmd(a))
}
