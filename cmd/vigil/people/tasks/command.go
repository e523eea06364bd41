package tasks

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
)

// NewCommand is `vigil task`.
func NewCommand(a *cli.App) *cobra.Command {
	group := cli.NewGroup("task", "Tasks: create and follow them; start and finish them as an agent",
		newCreateCmd(a), newListCmd(a), newShowCmd(a), newCancelCmd(a), newRetryCmd(a),
		newUnquarantineCmd(a))
	group.AddCommand(agent.TaskWords(a)...)
	return group
}

// parseID reads a task's number.
func parseID(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%q is not a task: give its number, see `vigil task list`", text)
	}
	return n, nil
}
