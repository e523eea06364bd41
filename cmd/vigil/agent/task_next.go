package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// addNext gives a verb that ends a task the flag that goes on with the next one.
func (w *word) addNext(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.next, "next", false,
		"take the next task in the same step and print it, as `vigil wait-for-task` does: wait for one where there is none")
	cmd.MarkFlagsMutuallyExclusive("next", "best-effort")
}

// follow ends the task as say sets it, and goes on with the next one: it prints the one that came with
// the answer, or waits for one. ended tells whether the task has ended, whatever became of the rest.
func (w *word) follow(cmd *cobra.Command, say func(*vigilv1.NextRequest) error) (ended bool, err error) {
	l, err := w.about()
	if err != nil {
		return false, err
	}
	managed := l.Managed
	wait := &waitForTask{App: w.App, who: w.who, caller: life.ProcessOf(os.Getppid())}
	if managed {
		l.Owner = wait.owner()
	}
	var answer *vigilv1.NextResponse
	err = w.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		if err := l.FindTask(ctx, c); err != nil {
			return err
		}
		r := &vigilv1.NextRequest{Speaker: l.Speaker(), Task: l.Task, Attempt: l.Attempt}
		if err := say(r); err != nil {
			return err
		}
		var err error
		answer, err = c.Work.Next(ctx, r)
		if over(err) {
			w.finished(l, err == nil)
		}
		if err != nil || answer.GetClaim() == nil {
			return err
		}
		ended = true
		job := &client.Job{Task: answer.GetClaim().GetTask(), Attempt: answer.GetClaim().GetAttempt()}
		w.ended(l, answer)
		if err = wait.hand(l, job, managed); err != nil { // nobody works on it
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), life.LeaveLimit)
			defer cancel()
			_, e := c.Work.Leave(bye, &vigilv1.LeaveRequest{Speaker: l.Speaker(), Reason: leaveReason(err)})
			if e != nil && !IsGone(e) {
				err = errors.Join(err, e)
			}
		}
		return err
	})
	if err != nil || ended {
		return ended, err
	}
	w.ended(l, answer)
	return true, w.Follow(cmd, wait.run)
}

// ended says for people how the task has ended; what is printed is the next one.
func (w *word) ended(l *life.Life, answer *vigilv1.NextResponse) {
	if w.JSON {
		return
	}
	line := fmt.Sprintf("task %d is %s", l.Task, term.StateText(answer.GetState()))
	if made := answer.GetNextTask(); made != 0 {
		line += fmt.Sprintf("; task %d follows", made)
	}
	fmt.Fprintln(w.Err, line)
}
