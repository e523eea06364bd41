package tasks

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// verb is a change that a human makes to one task, or to all that flags choose.
type verb struct {
	name, short string
	did         string // "12 tasks were ..."
	harm        string // how a plan of it is asked: "cancels"

	states []vigilv1.TaskState // that it is possible in
	usual  []vigilv1.TaskState // that are chosen when no --state is given

	reason string // for the history; only of cancel
	change func(ctx context.Context, c *cli.Conn, task, rev uint64) (*vigilv1.Task, error)
}

func newCancelCmd(a *cli.App) *cobra.Command {
	open := term.TaskStates[:4]
	v := &verb{name: "cancel", short: "Cancel tasks for good; whoever works on them is told to stop",
		did: "canceled", harm: "cancels", usual: open,
		states: append(slices.Clone(open), vigilv1.TaskState_QUARANTINED)}
	v.change = func(ctx context.Context, c *cli.Conn, task, rev uint64) (*vigilv1.Task, error) {
		return c.Fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: task, Reason: v.reason, By: a.Me(), IfRev: rev})
	}
	cmd := newVerbCmd(a, v)
	cmd.Flags().StringVar(&v.reason, "reason", "", "why, for the history")
	return cmd
}

func newRetryCmd(a *cli.App) *cobra.Command {
	return newVerbCmd(a, &verb{name: "retry",
		short: "Put failed, canceled or quarantined tasks back into the queue",
		did:   "put back into the queue", harm: "puts back into the queue",
		states: []vigilv1.TaskState{vigilv1.TaskState_FAILED, vigilv1.TaskState_QUARANTINED,
			vigilv1.TaskState_CANCELED, vigilv1.TaskState_QUEUED},
		usual: []vigilv1.TaskState{vigilv1.TaskState_FAILED, vigilv1.TaskState_QUARANTINED},
		change: func(ctx context.Context, c *cli.Conn, task, rev uint64) (*vigilv1.Task, error) {
			return c.Fleet.RetryTask(ctx, &vigilv1.RetryTaskRequest{Task: task, By: a.Me(), IfRev: rev})
		}})
}

func newUnquarantineCmd(a *cli.App) *cobra.Command {
	states := []vigilv1.TaskState{vigilv1.TaskState_QUARANTINED}
	return newVerbCmd(a, &verb{name: "unquarantine",
		short: "Put quarantined tasks back into the queue, the deaths of their agents forgiven",
		did:   "put back into the queue", harm: "puts back into the queue", states: states, usual: states,
		change: func(ctx context.Context, c *cli.Conn, task, rev uint64) (*vigilv1.Task, error) {
			return c.Fleet.UnquarantineTask(ctx,
				&vigilv1.UnquarantineTaskRequest{Task: task, By: a.Me(), IfRev: rev})
		}})
}

// newVerbCmd makes the command of a verb.
func newVerbCmd(a *cli.App, v *verb) *cobra.Command {
	var rev uint64
	many := &choice{}
	cmd := &cobra.Command{
		Use:   v.name + " [TASK]",
		Short: v.short,
		Long: v.short + `.

Without TASK the flags --room, --role, --state and --since choose the tasks, those that all of
them fit. A plan is printed, and asked for on a terminal; elsewhere it needs --yes. A task that
changes after the plan was made is left alone. The exit code is 4 when any task was left alone
or refused.

Without --state these are chosen: ` + stateList(v.usual) + `.`,
		Example: "  vigil task " + v.name + " 17\n  vigil task " + v.name +
			" --room web --since 2h --dry-run\n  vigil task " + v.name + " --room web --role builder --yes",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := many.check(cmd, v, args); err != nil {
				return err
			}
			if len(args) == 0 {
				return (&bulk{App: a, verb: v, choice: many}).run(cmd)
			}
			return v.one(a, cmd, args[0], rev)
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the task's revision")
	many.add(a, cmd, v)
	return cmd
}

// one changes the task that was named.
func (v *verb) one(a *cli.App, cmd *cobra.Command, text string, rev uint64) error {
	id, err := parseID(text)
	if err != nil {
		return err
	}
	return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		task, err := v.change(ctx, c, id, rev)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(task)
		}
		return a.Printf("task %d is %s\n", task.GetId(), term.StateText(task.GetState()))
	})
}
