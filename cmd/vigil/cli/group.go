package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// NewGroup makes a noun: a command that only holds others.
func NewGroup(use, short string, members ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, RunE: ChooseSubcommand}
	group.AddCommand(members...)
	return group
}

// ChooseSubcommand answers a noun without a verb, or with a wrong one.
func ChooseSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = max(cmd.SuggestionsMinimumDistance, 2)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += " (did you mean " + strings.Join(near, " or ") + "?)"
	}
	return Usagef("%s: see %s --help", msg, cmd.CommandPath())
}
