package trust

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// newStatusCmd is the verb that shows how far the cluster is with the keys or roots of which read
// gets an answer.
func newStatusCmd[M any](a *cli.App, short string, read func(context.Context, *cli.Conn) (M, error),
	show func(*cli.App, M) error) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				answer, err := read(ctx, c)
				if err != nil {
					return err
				}
				return show(a, answer)
			})
		},
	}
}

// part is a table of a report, and what people read instead of one without rows.
type part struct {
	table *term.Table
	none  string
}

// printReport prints an answer: for people one sentence about the whole and the tables below it.
func printReport(a *cli.App, answer any, sentence string, parts ...part) error {
	if a.JSON {
		return a.PrintJSON(answer)
	}
	if err := a.Printf("%s\n", term.OneLine(sentence)); err != nil {
		return err
	}
	for _, p := range parts {
		if err := a.Printf("\n"); err != nil {
			return err
		}
		if err := a.PrintTable(p.table, p.none); err != nil {
			return err
		}
	}
	return nil
}
