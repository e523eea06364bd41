package watchdog

import (
	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// NewCommand is `vigil watchdog`: what the conversation watchdog sees and has done.
func NewCommand(a *cli.App) *cobra.Command {
	group := cli.NewGroup("watchdog", "Rooms in which nothing happens: who was warned, who was canceled",
		newStatusCmd(a), newHistoryCmd(a))
	group.Long = `The conversation watchdog warns of rooms with open tasks in which nothing is done or said
for longer than their limit, and then cancels their tasks and stops the agents that hold
them. A canceled room is brought back with vigil room reopen. Its settings begin with
watchdog_ (vigil settings show); a room has its own limit, a deadline or no watchdog with
vigil room watchdog or in its file. A room is exempt while an agent that holds a task of it
has declared itself busy, in a tool, sleeping or waiting for a human, and while it is paused.
A room that nobody serves is not canceled, a human is told so (setting watchdog_untaken): its
agents wait for a host, or no agent has lived in it and it has no limits of its own.`
	return group
}
