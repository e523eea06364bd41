package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/usage"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newShowCmd(a *cli.App) *cobra.Command {
	var onlyResult bool
	cmd := &cobra.Command{
		Use:               "show TASK",
		Short:             "Show a task with its text, result and history",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				task, err := c.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: id, Stale: a.Stale})
				if err != nil {
					return err
				}
				switch {
				case onlyResult:
					if err := a.Printf("%s", a.Shown(task.GetResult())); err != nil {
						return err
					}
					return resultLost(task)
				case a.JSON:
					return a.PrintJSON(task)
				}
				return printTask(a, task)
			})
		},
	}
	cmd.Flags().BoolVar(&onlyResult, "result", false, "print the result and nothing else")
	return cmd
}

// droppedText says what of a task is gone for want of space; "" when nothing is.
func droppedText(t *vigilv1.Task) string {
	switch {
	case t.GetDropped() == 0 && !t.GetTextGone():
		return ""
	case t.GetTextGone():
		return fmt.Sprintf("%d bytes: its text and result went since a budget was full", t.GetDropped())
	}
	return fmt.Sprintf("%d bytes of what was said of it were cut since a budget was full", t.GetDropped())
}

// resultLost is the error of whoever wants a result of which something is gone: an empty one, or the beginning of one,
// would pass for what the worker said. nil: it is whole.
func resultLost(t *vigilv1.Task) error {
	n := t.GetResultDropped()
	if n == 0 {
		return nil
	}
	return cli.ExitWith(cli.ExitFailed, fmt.Errorf("the result of task %d is not whole: %s of it went since the budget "+
		"for tasks was full (budget_tasks, budget_room_share)", t.GetId(), term.Plural(n, "byte", "bytes")))
}

func printTask(a *cli.App, t *vigilv1.Task) error {
	state := stateOf(t)
	if d := term.Span(t.GetInState()); d != "" {
		state += "  for " + d
	}
	attempt, parent, next, hops, kills := "", "", "", "", ""
	if t.GetAttempt() > 0 {
		attempt = fmt.Sprintf("%d, by %s (incarnation %s)", t.GetAttempt(), t.GetHolder(), t.GetHolderIncarnation())
	}
	if t.GetParent() > 0 {
		parent = fmt.Sprintf("task %d handed over to this one", t.GetParent())
	}
	if t.GetNext() > 0 {
		next = fmt.Sprintf("this one handed over to task %d", t.GetNext())
	}
	if t.GetHops() > 0 {
		hops = term.Plural(t.GetHops(), "time", "times") + " in a row"
	}
	if t.GetKills() > 0 {
		kills = term.Plural(t.GetKills(), "life", "lives") + " died or had to be ended while holding it"
	}
	err := a.Pairs("task", fmt.Sprint(t.GetId()), "id", t.GetKey(), "title", t.GetTitle(),
		"role", t.GetRoom()+"/"+t.GetRole(), "state", state,
		"priority", fmt.Sprint(t.GetPriority()), "attempt", attempt, "parent", parent, "next", next,
		"handed on", hops, "deaths", kills,
		"created", strings.TrimSpace(a.Ago(t.GetCreatedAt())+" by "+t.GetCreatedBy()), "expected", expectText(t),
		"done", percentText(t), "used", usage.Text(t.GetUsage()), "last progress", agoText(t.GetProgressed()),
		"progress", t.GetNote(), "waits", term.Tidy(t.GetWhy()), "dropped", droppedText(t),
		"revision", fmt.Sprint(t.GetRev()))
	if err != nil {
		return err
	}
	for _, part := range [...]struct{ head, text string }{{"text", t.GetText()}, {"result", t.GetResult()}} {
		if part.text != "" {
			err = a.Printf("\n%s\n%s\n", a.Screen.Bold(part.head), strings.TrimRight(a.Shown(part.text), "\n"))
		}
		if err != nil {
			return err
		}
	}
	for _, f := range t.GetFailed() {
		if err := a.Printf("\nattempt %d failed %s: %s\n", f.GetAttempt(), a.Ago(f.GetAt()),
			a.Shown(f.GetReason())); err != nil {
			return err
		}
	}
	for _, late := range t.GetLateResults() {
		head := fmt.Sprintf("result of attempt %d (incarnation %s), which does not count", late.GetAttempt(),
			late.GetIncarnation())
		if err := a.Printf("\n%s\n%s\n", a.Screen.Bold(head),
			strings.TrimRight(a.Shown(late.GetResult()), "\n")); err != nil {
			return err
		}
	}
	return nil
}
