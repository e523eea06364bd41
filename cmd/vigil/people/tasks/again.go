package tasks

import (
	"context"
	"errors"
	"fmt"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// missed tells whether the task has ended in another way than was wanted.
func missed(task *vigilv1.Task) bool {
	return term.TaskEnded(task.GetState()) && task.GetState() != vigilv1.TaskState_COMPLETED
}

// askedAgain goes on with the task that has the id which was given, and ended without success long
// before: nothing that a job does again would ever make another one of it. With retry it is tried again;
// else people are told that it is, and how.
func askedAgain(ctx context.Context, a *cli.App, c *cli.Conn, task *vigilv1.Task,
	retry bool) (*vigilv1.Task, error) {
	id := task.GetId()
	if !retry {
		if !a.JSON {
			fmt.Fprintf(a.Err, "task %d, which %s %s ago, has this id; `vigil task retry %[1]d` tries it again, "+
				"and so does --retry-failed\n", id, endedText(task.GetState()), term.Short(task.GetInState().AsDuration()))
		}
		return task, nil
	}
	again, err := c.Fleet.RetryTask(ctx, &vigilv1.RetryTaskRequest{Task: id, By: a.Me(), IfRev: task.GetRev()})
	if !errors.Is(err, client.ErrConflict) {
		return again, err
	}
	// Another job may have done so meanwhile.
	if now, e := c.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: id}); e == nil && !missed(now) {
		return now, nil
	}
	return nil, err
}

// endedText is how a task has ended, as a verb.
func endedText(s vigilv1.TaskState) string {
	if s == vigilv1.TaskState_FAILED {
		return "failed"
	}
	return "was " + term.StateText(s)
}
