package cli

import "github.com/spf13/cobra"

// PauseHelp says once what a pause is.
const PauseHelp = `Nothing is started and no new task is claimed; what runs goes on and finishes its
task. A pause stays until a human ends it, or until the end that was given to it: no automation
ends it before. A later pause replaces the end; one without --for and --until takes it away.`

// WhyFlag adds the reason of an intent, which stands beside it until the next one.
func WhyFlag(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, for everybody who asks")
}
