package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newListCmd(a *cli.App) *cobra.Command {
	var request vigilv1.ListTasksRequest
	var states []string
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List tasks, the newest first",
		Example: "  vigil task list --room web --state PENDING,IN_PROGRESS",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := proto.CloneOf(&request) // with --watch this runs again and again
			for _, s := range states {
				v, err := parseState(s)
				if err != nil {
					return err
				}
				r.States = append(r.States, v)
			}
			r.NewestFirst, r.Stale = true, a.Stale
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListTasksResponse{}
				for {
					page, err := c.Fleet.ListTasks(ctx, r)
					if err != nil {
						return err
					}
					list.Tasks = append(list.Tasks, page.GetTasks()...)
					list.More, list.Next = page.GetMore(), page.GetNext()
					if r.After = page.GetNext(); !all || r.After == 0 {
						return printTasks(a, list)
					}
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Room, "room", "", "only of this room")
	flags.StringVar(&request.Role, "role", "", "only of this role")
	flags.StringSliceVar(&states, "state", nil, "only in these states, for instance PENDING,IN_PROGRESS")
	flags.Uint32Var(&request.Limit, "limit", 100, "at most this many, up to 1000")
	flags.Uint64Var(&request.After, "after", 0, "continue below this task")
	flags.BoolVar(&all, "all", false, "all pages")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateCompletions(term.TaskStates[:]),
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printTasks(a *cli.App, list *vigilv1.ListTasksResponse) error {
	if a.JSON {
		return a.PrintJSON(list)
	}
	heads, planned := []string{">TASK", "ROOM/ROLE~", "STATE", "FOR", ">PRIO", ">TRY"},
		slices.ContainsFunc(list.GetTasks(), planned)
	if planned {
		heads = append(heads, ">DONE", "EXPECTED")
	}
	t := term.NewTable(append(heads, "HOLDER~", "TITLE~")...)
	for _, k := range list.GetTasks() {
		cells := []string{fmt.Sprint(k.GetId()), k.GetRoom() + "/" + k.GetRole(), stateOf(k), term.Span(k.GetInState()),
			fmt.Sprint(k.GetPriority()), fmt.Sprint(k.GetAttempt())}
		if planned {
			cells = append(cells, percentText(k), expectShort(k))
		}
		t.Add(append(cells, k.GetHolder(), k.GetTitle())...)
	}
	if err := a.PrintTable(t, "There are no such tasks."); err != nil {
		return err
	}
	if list.GetNext() != 0 {
		return a.Printf("%s\n", a.Screen.Faint(fmt.Sprintf("more: --after %d, or --all", list.GetNext())))
	}
	return nil
}

// stateOf is the state of a task, and when it is offered again.
func stateOf(t *vigilv1.Task) string {
	if left := term.Span(t.GetAgainIn()); left != "" {
		return t.GetState().String() + " (again in " + left + ")"
	}
	return t.GetState().String()
}
