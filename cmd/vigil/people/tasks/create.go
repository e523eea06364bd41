package tasks

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newCreateCmd(a *cli.App) *cobra.Command {
	var request vigilv1.CreateTaskRequest
	var text, file string
	var wait, retry bool
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
With --retry-failed one that failed, was canceled or quarantined is tried again.
Where TRACEPARENT is set, the task is part of that trace.`,
		Example: `  vigil task create web/builder "Build the site"
  vigil task create web/builder "Port the parser" --expect 3h
  vigil task create web/builder "Look again" --in 10m
  vigil task create web/builder "Look at the night's reports" --at 07:30
  vigil task create web/builder --file brief.md --wait
  vigil task create web/builder "Build 4f2a91c" --id build-4f2a91c --retry-failed --wait`,
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
			if retry && request.Key == "" {
				return cli.Usagef("flag --retry-failed: without --id each task is a new one; name it with --id")
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
				if missed(task) { // it was there before
					if task, err = askedAgain(ctx, a, c, task, retry); err != nil {
						return err
					}
				}
				if wait {
					return await(ctx, a, c, task)
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
	flags.StringVar(&request.Key, "id", "",
		"what names the task in its room, so that it is made once (default: each is a new one)")
	flags.Int32Var(&request.Priority, "priority", 0, "higher ones are done first")
	flags.BoolVar(&wait, "wait", false, "wait until it is completed, failed, canceled or quarantined")
	flags.BoolVar(&retry, "retry-failed", false, "with --id: try the task that has it again when it failed, "+
		"was canceled or quarantined")
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
