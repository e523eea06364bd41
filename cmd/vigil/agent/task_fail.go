package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/gen/vigilv1"
)

func newTaskFailCmd(a *cli.App) *cobra.Command {
	w := &word{App: a}
	var retryable bool
	var after cli.DelayFlag
	cmd := &cobra.Command{
		Use:     "fail REASON",
		Short:   "As an agent: give the task up",
		Example: `  vigil task fail --retryable "the test machine is down"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wait, err := after.Read(cmd, a.Now())
			switch {
			case err != nil:
				return err
			case wait != nil && !retryable:
				return cli.Usagef("flag --after goes with --retryable: what is not tried again needs no time for it")
			}
			f, ended := life.Failure{Reason: args[0], Retryable: retryable, After: wait.AsDuration()}, false
			if w.next {
				ended, err = w.follow(cmd, func(r *vigilv1.NextRequest) error {
					r.End = &vigilv1.NextRequest_Fail{Fail: &vigilv1.Failure{Reason: args[0], Retryable: retryable, After: wait}}
					return nil
				})
			} else {
				err = w.fail(cmd, f)
			}
			if ended {
				return err
			}
			return w.noteFailure(f, err)
		},
	}
	w.add(cmd)
	w.addNext(cmd)
	w.addUnless(cmd)
	cmd.Flags().BoolVar(&retryable, "retryable", false, "another attempt may succeed")
	after.Add(cmd, "after", "with --retryable: when it may, for instance 30s (default: after a while that grows)")
	return cmd
}

// fail gives the task up, with the reason of an earlier word where that was not heard.
func (w *word) fail(cmd *cobra.Command, f life.Failure) error {
	return w.say(cmd, true, func(ctx context.Context, c *cli.Conn, l *life.Life) (vigilv1.TaskState,
		map[string]any, error) {
		if noted := w.givenUp(l); noted != nil {
			return fail(ctx, c, l, noted)
		}
		return fail(ctx, c, l, &f)
	})
}

func fail(ctx context.Context, c *cli.Conn, l *life.Life, f *life.Failure) (vigilv1.TaskState, map[string]any, error) {
	r := &vigilv1.WorkRequest{Speaker: l.Speaker(), Task: l.Task, Attempt: l.Attempt, Text: f.Reason,
		Retryable: f.Retryable}
	if f.After > 0 {
		r.After = durationpb.New(f.After)
	}
	answer, err := c.Work.FailTask(ctx, r)
	return answer.GetState(), nil, err
}

// givenUp gives the failure of the attempt that this life has noted, for a script that would end it in another way; nil
// where there is none, and where what is said now counts.
func (w *word) givenUp(l *life.Life) *life.Failure {
	if !w.unless {
		return nil
	}
	return life.GivenUp(w.App, l, l.Task, l.Attempt)
}

// noteFailure notes a failure that no server has heard for who speaks about the attempt next; err is why it was not
// heard. In every other case it gives err back.
func (w *word) noteFailure(f life.Failure, err error) error {
	if !Unheard(err) {
		return err
	}
	l, e := w.about()
	if e != nil {
		return err
	}
	if noted := w.givenUp(l); noted != nil {
		f = *noted // the first reason is that of who has worked on it
	}
	f.Attempt = life.Attempt{Task: l.Task, Attempt: l.Attempt}
	switch noted, e := life.GiveUp(w.App, l, f); {
	case e != nil:
		return errors.Join(err, e)
	case noted:
		return fmt.Errorf("%w; it is kept that attempt %d of task %d is given up: `vigil task complete` and "+
			"`vigil task fail` of this life say so with --unless-ended", err, l.Attempt, l.Task)
	}
	return err
}
