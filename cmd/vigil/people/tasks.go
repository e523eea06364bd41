package people

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newTaskCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("task", "Tasks: create and follow them; start and finish them as an agent",
		newTaskCreateCmd(a), newTaskListCmd(a), newTaskShowCmd(a), newTaskCancelCmd(a), newTaskRetryCmd(a),
		newTaskUnquarantineCmd(a))
	group.AddCommand(agent.TaskWords(a)...)
	return group
}

func newTaskCreateCmd(a *cli.App) *cobra.Command {
	var request vigilv1.CreateTaskRequest
	var text, file string
	var wait bool
	var expect cli.ExpectFlag
	var in cli.DelayFlag
	cmd := &cobra.Command{
		Use:   "create ROOM/ROLE [TITLE]",
		Short: "Create a task for a role",
		Long: `Create a task for a role. Its text comes from --text, from --file (- for standard
input), or is left out. Without a title the first line of the text is the title.
With --expect it says how long an attempt should take: before that nobody calls it
stalled. With --wait the exit code is 0 when the task is completed and 1 when it is not;
while nobody takes it, it is said why, and --timeout ends the wait with exit code 6.
With --id a job that runs again makes no second task: the one that has this id in its
room is shown, or waited for, as long as it is kept. One that says something else is a conflict.
Where TRACEPARENT is set, the task is part of that trace.`,
		Example: `  vigil task create web/builder "Build the site"
  vigil task create web/builder "Port the parser" --expect 3h
  vigil task create web/builder "Look again" --in 10m
  vigil task create web/builder "Look at the night's reports" --at 07:30
  vigil task create web/builder --file brief.md --wait
  vigil task create web/builder "Build 4f2a91c" --id build-4f2a91c --wait`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.First(cli.RoleNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if request.Room, request.Role, err = cli.SplitAgent(args[0]); err != nil {
				return err
			}
			if request.Text, err = cli.TaskText(a, cmd, text, file); err != nil {
				return err
			}
			if request.Title, err = titleOf(args, request.GetText()); err != nil {
				return err
			}
			if request.Expect, err = expect.Read(cmd); err != nil {
				return err
			}
			if request.After, err = in.Read(cmd, a.Now()); err != nil {
				return err
			}
			request.By, request.Traceparent = a.Me(), traceparent(a)
			ask := a.Ask
			if wait {
				ask = a.Follow
			}
			return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				task, err := c.Fleet.CreateTask(ctx, &request)
				if err != nil {
					return err
				}
				if wait {
					return awaitTask(ctx, a, c, task)
				}
				if a.JSON {
					return a.PrintJSON(task)
				}
				return a.Printf("task %d is %s\n", task.GetId(), term.StateText(task.GetState()))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&text, "text", "", "text of the task")
	flags.StringVar(&file, "file", "", "file with the text, - for standard input")
	flags.StringVar(&request.Key, "id", "", "what names the task in its room, so that it is made once (default: each is a new one)")
	flags.Int32Var(&request.Priority, "priority", 0, "higher ones are done first")
	flags.BoolVar(&wait, "wait", false, "wait until it is completed, failed, canceled or quarantined")
	expect.Add(cmd, "how long an attempt should take from its claim, for instance 3h (default: what the role says)")
	in.Add(cmd, "in", "offer it after this time, for instance 10m (default: at once)")
	in.AddAt(cmd, "offer it at this time, not before")
	cmd.MarkFlagsMutuallyExclusive("text", "file")
	return cmd
}

// traceparent is the trace in which this command runs, if any: what is said wrong is no reason to create no task. An
// agent is told the trace of the task that its life was started for, so once it works on another one that counts.
func traceparent(a *cli.App) string {
	t, _ := noun.ParseTrace(a.Getenv(client.EnvTrace))
	l, err := (&life.Flags{}).Current(a)
	if t != "" && err == nil && l.Task != 0 && client.TraceID(l.Traceparent) != t.ID() {
		return l.Traceparent
	}
	return string(t)
}

// titleOf gives the title of a new task: its own, or the first line of its text.
func titleOf(args []string, text string) (string, error) {
	if len(args) == 2 && args[1] != "" {
		return args[1], nil
	}
	if title := term.TitleOf(text); title != "" {
		return title, nil
	}
	return "", cli.Usagef("the task needs a title or a text: vigil task create %s TITLE, or --text, or --file", args[0])
}

func newTaskListCmd(a *cli.App) *cobra.Command {
	var request vigilv1.ListTasksRequest
	var states []string
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List tasks, the newest first",
		Example: "  vigil task list --room web --state PENDING,IN_PROGRESS",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range states {
				v, err := parseState(s)
				if err != nil {
					return err
				}
				request.States = append(request.States, v)
			}
			request.NewestFirst, request.Stale = true, a.Stale
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				list := &vigilv1.ListTasksResponse{}
				for {
					page, err := c.Fleet.ListTasks(ctx, &request)
					if err != nil {
						return err
					}
					list.Tasks = append(list.Tasks, page.GetTasks()...)
					list.More, list.Next = page.GetMore(), page.GetNext()
					if request.After = page.GetNext(); !all || request.After == 0 {
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

// parseState reads a state in either case.
func parseState(text string) (vigilv1.TaskState, error) {
	name := strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(text)), "-", "_")
	if v := vigilv1.TaskState(vigilv1.TaskState_value[name]); slices.Contains(term.TaskStates[:], v) {
		return v, nil
	}
	return 0, cli.Usagef("flag --state: %q is no state: write %s", text, stateList(term.TaskStates[:]))
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

// parseTask reads a task's number.
func parseTask(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%q is not a task: give its number, see `vigil task list`", text)
	}
	return n, nil
}

func newTaskShowCmd(a *cli.App) *cobra.Command {
	var onlyResult bool
	cmd := &cobra.Command{
		Use:               "show TASK",
		Short:             "Show a task with its text, result and history",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseTask(args[0])
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
					return a.Printf("%s", a.Shown(task.GetResult()))
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

// stateOf is the state of a task, and when it is offered again.
func stateOf(t *vigilv1.Task) string {
	if left := term.Span(t.GetAgainIn()); left != "" {
		return t.GetState().String() + " (again in " + left + ")"
	}
	return t.GetState().String()
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

func printTask(a *cli.App, t *vigilv1.Task) error {
	state := stateOf(t)
	if d := term.Span(t.GetInState()); d != "" {
		state += "  for " + d
	}
	attempt, parent, kills := "", "", ""
	if t.GetAttempt() > 0 {
		attempt = fmt.Sprintf("%d, by %s (incarnation %s)", t.GetAttempt(), t.GetHolder(), t.GetHolderIncarnation())
	}
	if t.GetParent() > 0 {
		parent = fmt.Sprintf("task %d handed over to this one", t.GetParent())
	}
	if t.GetKills() > 0 {
		kills = term.Plural(t.GetKills(), "life", "lives") + " died or had to be ended while holding it"
	}
	err := a.Pairs("task", fmt.Sprint(t.GetId()), "id", t.GetKey(), "title", t.GetTitle(), "role", t.GetRoom()+"/"+t.GetRole(),
		"state", state,
		"priority", fmt.Sprint(t.GetPriority()), "attempt", attempt, "parent", parent, "deaths", kills,
		"created", strings.TrimSpace(a.Ago(t.GetCreatedAt())+" by "+t.GetCreatedBy()), "expected", expectText(t),
		"done", percentText(t), "last progress", agoText(t.GetProgressed()),
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
		head := fmt.Sprintf("result of attempt %d (incarnation %s), too late to count", late.GetAttempt(),
			late.GetIncarnation())
		if err := a.Printf("\n%s\n%s\n", a.Screen.Bold(head),
			strings.TrimRight(a.Shown(late.GetResult()), "\n")); err != nil {
			return err
		}
	}
	return nil
}
