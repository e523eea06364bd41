package terminal

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// NewScreenCommand is `vigil agent screen`: it shows a terminal from anywhere; NewAttachCommand is inside
// of it.
func NewScreenCommand(a *cli.App) *cobra.Command {
	request := &vigilv1.LookAtAgentRequest{}
	var match, text string
	cmd := &cobra.Command{
		Use:   "screen ROOM/ROLE[.N]",
		Short: "Show what an agent's terminal shows now",
		Long: `Show what the terminal of an agent shows now, from wherever you are. Only agents that
run with a runner of kind tmux have one; vigil agent logs has the output of all.

With --match it tells instead which of the prompts that a runner's file declares stands
there, by its last lines; with --text that is tried with a saved screen or output, without
any agent. The exit code is 1 when none does.`,
		Example: `  vigil agent screen web/builder
  vigil agent screen web/builder --match runners.d/claude-code-tmux.yaml
  vigil agent screen --match runners.d/claude-code-tmux.yaml --text saved.txt`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			var declared prompts
			if match != "" {
				var err error
				if declared, err = readPrompts(match); err != nil {
					return err
				}
			}
			switch {
			case (text != "") == (len(args) > 0):
				return cli.Usagef("name an agent, or a file with --text, and not both")
			case text != "" && match == "":
				return cli.Usagef("flag --text: say with --match which file declares the prompts")
			case text != "":
				saved, err := a.ReadFile(text)
				if err != nil {
					return err
				}
				return printMatched(a, declared, saved)
			}
			request.Agent = args[0]
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				screen, err := c.Fleet.LookAtAgent(ctx, request)
				if err != nil {
					return err
				}
				if declared != nil {
					return printMatched(a, declared, screen.GetText())
				}
				if a.JSON {
					return a.PrintJSON(screen)
				}
				return a.Printf("%s\n", strings.TrimRight(term.Safe(screen.GetText()), "\n "))
			})
		},
	}
	cmd.Flags().Uint32VarP(&request.Lines, "lines", "n", 0,
		"with this many lines of what has scrolled out of it, at most 10000")
	cmd.Flags().StringVar(&match, "match", "", "file of a runner: tell which of its prompts stands there")
	cmd.Flags().StringVar(&text, "text", "", "with --match, try this file instead of an agent, - for standard input")
	_ = cmd.MarkFlagFilename("match", "yaml", "yml") // the flags are there
	_ = cmd.MarkFlagFilename("text")
	return cmd
}
