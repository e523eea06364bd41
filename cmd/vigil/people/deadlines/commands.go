package deadlines

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// NewAgentCommand is `vigil agent deadlines`.
func NewAgentCommand(a *cli.App) *cobra.Command {
	cmd := deadlinesCmd(a, func(name string) *vigilv1.ListDeadlinesRequest {
		return &vigilv1.ListDeadlinesRequest{Agent: name, Stale: a.Stale}
	})
	cmd.Use, cmd.Short = "deadlines ROOM/ROLE[.N]", "Say what is due of an agent, its task, its mail and its host"
	cmd.ValidArgsFunction = a.CompleteAgent
	return cmd
}

// NewRoomCommand is `vigil room deadlines`.
func NewRoomCommand(a *cli.App) *cobra.Command {
	cmd := deadlinesCmd(a, func(name string) *vigilv1.ListDeadlinesRequest {
		return &vigilv1.ListDeadlinesRequest{Room: name, Stale: a.Stale}
	})
	cmd.Use, cmd.Short = "deadlines ROOM", "Say what is due of a room, its tasks and its agents"
	return cmd
}

func deadlinesCmd(a *cli.App, ask func(name string) *vigilv1.ListDeadlinesRequest) *cobra.Command {
	return &cobra.Command{
		Long: `Say what is due, the earliest first, at most 100: in how long (cluster time), since when its clock
runs, what holds the clock, and what happens then.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list, err := c.Fleet.ListDeadlines(ctx, ask(args[0]))
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(list)
				}
				return printDeadlines(a, list)
			})
		},
	}
}

func printDeadlines(a *cli.App, list *vigilv1.ListDeadlinesResponse) error {
	t := term.NewTable(">IN", "WHAT~", "OF~", ">SINCE", "HELD BY~", "THEN~")
	for _, d := range list.GetDeadlines() {
		in := "now"
		if left := d.GetLeft().AsDuration(); left > 0 {
			in = term.Short(left)
		}
		since := ""
		if d.GetSince() != nil {
			since = term.Short(d.GetSince().AsDuration())
		}
		held := d.GetHeldBy()
		if held != "" {
			held += ", for " + term.Short(d.GetHeldFor().AsDuration())
		}
		if absent := term.Span(d.GetAbsent()); absent != "" {
			held = fmt.Sprintf("%s%s not counted", comma(held), absent)
		}
		t.Add(in, d.GetKind(), d.GetOf(), since, held, d.GetThen())
	}
	if err := a.PrintTable(t, "Nothing is due."); err != nil {
		return err
	}
	if n := list.GetMore(); n > 0 {
		return a.Printf("and %d more that are due later\n", n)
	}
	return nil
}

// comma prepares a text for more.
func comma(text string) string {
	if text == "" {
		return ""
	}
	return text + "; "
}
