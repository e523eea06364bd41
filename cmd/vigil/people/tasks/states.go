package tasks

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// parseState reads a state in either case.
func parseState(text string) (vigilv1.TaskState, error) {
	name := strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(text)), "-", "_")
	if v := vigilv1.TaskState(vigilv1.TaskState_value[name]); slices.Contains(term.TaskStates[:], v) {
		return v, nil
	}
	return 0, cli.Usagef("flag --state: %q is no state: write %s", text, stateList(term.TaskStates[:]))
}

// stateCompletions are states as they are written.
func stateCompletions(states []vigilv1.TaskState) (words []cobra.Completion) {
	for _, s := range states {
		words = append(words, s.String())
	}
	return words
}

func stateList(states []vigilv1.TaskState) string {
	return strings.Join(stateCompletions(states), ", ")
}
