package cli

import (
	"fmt"

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
	near := cmd.SuggestionsFor(args[0])
	if len(near) == 0 {
		near = deeper(cmd, args[0])
	}
	msg += perhaps(near)
	return Usagef("%s: see %s --help", msg, cmd.CommandPath())
}

// deeper finds nouns that have such a verb, for whoever has left out the noun.
func deeper(cmd *cobra.Command, verb string) (found []string) {
	for _, noun := range cmd.Commands() {
		for _, one := range noun.Commands() {
			if (one.Name() == verb || one.HasAlias(verb)) && !one.Hidden && !noun.Hidden && len(found) < 4 {
				found = append(found, "vigil "+noun.Name()+" "+one.Name())
			}
		}
	}
	return found
}
