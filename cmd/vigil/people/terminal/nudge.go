package terminal

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// NewNudgeCommand is `vigil nudge`: a word to an agent that seems to hang at a prompt.
func NewNudgeCommand(a *cli.App) *cobra.Command {
	var file, why, dialog string
	var answer bool
	cmd := &cobra.Command{
		Use:   "nudge ROOM/ROLE[.N] [TEXT...]",
		Short: "Type a line into an agent's terminal, to wake one that hangs at a prompt",
		Long: `Type a line, and then Enter, into the terminal of an agent that runs with a runner of
kind tmux. Without a text it is asked how it is getting on. The text is in no event or
log; that somebody nudged it, by whom and why, is an event. Nothing is typed while the agent
is frozen, nor, without --answer, at a permission prompt, whose Enter takes what is highlighted
there. With --answer it is typed only there, or where something else is to be chosen: one line,
key by key, and Enter only while that prompt still stands and shows the answer. Without a text
--answer presses Enter alone, for a prompt that asks for it. Look at the effect with
vigil agent screen.`,
		Example: `  vigil nudge web/builder
  vigil nudge web/builder --answer 2
  vigil nudge web/builder --file question.txt --why "idle for an hour"`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.First(cli.AgentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := cli.SplitAgent(args[0]); err != nil {
				return err
			}
			text := strings.Join(args[1:], " ")
			if file != "" {
				if text != "" {
					return cli.Usagef("the text is given twice: as arguments and with --file; leave one out")
				}
				var err error
				if text, err = a.ReadFile(file); err != nil {
					return err
				}
				text = strings.TrimRight(text, "\r\n")
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				g, err := c.Fleet.NudgeAgent(ctx, &vigilv1.NudgeAgentRequest{Agent: args[0], Text: text,
					By: a.Me(), Reason: why, Answer: answer, IfDialog: dialog})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(g)
				}
				return a.Printf("%s is nudged; `vigil agent screen %s` shows its terminal\n", g.GetName(), g.GetName())
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "file with the text, - for standard input")
	cmd.Flags().BoolVar(&answer, "answer", false, "the text answers a permission prompt that stands there")
	cmd.Flags().StringVar(&dialog, "if-dialog", "",
		"with --answer: only while the prompt stands that had this `MARK` (dialog of vigil agent screen --json)")
	cli.WhyFlag(cmd, &why)
	return cmd
}
