package people

import (
	"context"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newTaskCancelCmd(a *cli.App) *cobra.Command {
	var reason string
	var rev uint64
	cmd := &cobra.Command{
		Use:               "cancel TASK",
		Short:             "Cancel a task for good; whoever works on it is told to stop",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTask(a, cmd, args[0],
				func(ctx context.Context, c *cli.Conn, id uint64) (*vigilv1.Task, error) {
					return c.Fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: id, Reason: reason, By: a.Me(),
						IfRev: rev})
				})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the task's revision")
	return cmd
}

func newTaskRetryCmd(a *cli.App) *cobra.Command {
	var rev uint64
	cmd := &cobra.Command{
		Use:               "retry TASK",
		Short:             "Put a failed, canceled or quarantined task back into the queue",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTask(a, cmd, args[0],
				func(ctx context.Context, c *cli.Conn, id uint64) (*vigilv1.Task, error) {
					return c.Fleet.RetryTask(ctx, &vigilv1.RetryTaskRequest{Task: id, By: a.Me(), IfRev: rev})
				})
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the task's revision")
	return cmd
}

func newTaskUnquarantineCmd(a *cli.App) *cobra.Command {
	var rev uint64
	cmd := &cobra.Command{
		Use:               "unquarantine TASK",
		Short:             "Put a quarantined task back into the queue, the deaths of its agents forgiven",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeTask(a, cmd, args[0],
				func(ctx context.Context, c *cli.Conn, id uint64) (*vigilv1.Task, error) {
					return c.Fleet.UnquarantineTask(ctx, &vigilv1.UnquarantineTaskRequest{Task: id, By: a.Me(),
						IfRev: rev})
				})
		},
	}
	cmd.Flags().Uint64Var(&rev, "if-rev", 0, "only when this is the task's revision")
	return cmd
}

func changeTask(a *cli.App, cmd *cobra.Command, text string,
	change func(context.Context, *cli.Conn, uint64) (*vigilv1.Task, error)) error {
	id, err := parseTask(text)
	if err != nil {
		return err
	}
	return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		task, err := change(ctx, c, id)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(task)
		}
		return a.Printf("task %d is %s\n", task.GetId(), term.StateText(task.GetState()))
	})
}
