package agent

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/gen/vigilv1"
)

// newHandoffCmd is `vigil handoff`: an overseer makes room for a fresh life of itself.
func newHandoffCmd(a *cli.App) *cobra.Command {
	var who life.Flags
	request := &vigilv1.HandOverRequest{}
	cmd := &cobra.Command{
		Use:   "handoff -s SUBJECT -m TEXT|-",
		Short: "As an overseer: leave a summary to your next life and have it started",
		Long: `Leave a mail to your next life, which gets it before any other (vigil mail read), and have
that life started in your place, afresh: without a resume value, and at no charge. Both
happen, or neither. You are stopped right after this; a task that you hold goes back to its
role. A life that is younger than the setting overseer_interval hands over nothing.`,
		Example: `  vigil handoff -s "Routine cycle" -m "20 patrols, web/builder.2 is slow since noon"
  vigil handoff -s "Routine cycle" -m - <summary.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			if request.Body == "-" {
				if request.Body, err = a.ReadFile("-"); err != nil {
					return err
				}
				request.Body = strings.TrimRight(request.Body, "\r\n")
			}
			if request.GetSubject() == "" && request.GetBody() == "" {
				return cli.Usagef("the next life needs a summary: give -s and -m")
			}
			request.Speaker = l.Speaker()
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := vigilv1.NewOverseersClient(c).HandOver(ctx, request)
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"agent": l.Agent, "mail": answer.GetMail()},
					"%s: mail %d is for its next life, which is started now; this one is being stopped",
					l.Agent, answer.GetMail())
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&request.Subject, "subject", "s", "", "one line")
	flags.StringVarP(&request.Body, "message", "m", "", "what the next life must know; - for standard input")
	who.Add(cmd, a)
	return cmd
}
