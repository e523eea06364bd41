package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// TaskWords are the verbs by which an agent speaks about the task it holds.
func TaskWords(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newTaskStartCmd(a), newTaskExecCmd(a), newTaskProgressCmd(a), newTaskCompleteCmd(a),
		newTaskFailCmd(a), newTaskHandoffCmd(a)}
}

// word is one thing that an agent says about its task.
type word struct {
	*cli.App
	who     life.Flags
	task    uint64
	attempt uint32
	next    bool // the next task is taken in the same step
	unless  bool // an attempt that this life has ended itself already is no error
}

func (w *word) add(cmd *cobra.Command) {
	w.who.Add(cmd, w.App)
	w.BestEffort(cmd)
	cmd.Flags().Uint64Var(&w.task, "task", 0,
		"the task (default $VIGIL_TASK, else the one that is held)")
	cmd.Flags().Uint32Var(&w.attempt, "attempt", 0,
		"its attempt (default $VIGIL_ATTEMPT, else the one that was claimed)")
}

// addUnless gives a verb that ends a task the flag of scripts that run a tool which may end it itself.
func (w *word) addUnless(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.unless, "unless-ended", false,
		"succeed and change nothing when this very life has ended the attempt already, by whichever word; say that it is "+
			"given up where that was said and no server has heard it")
	cmd.MarkFlagsMutuallyExclusive("next", "unless-ended")
}

// say finds out who speaks about which task, and lets send say it. With last the
// word ends the attempt.
func (w *word) say(cmd *cobra.Command, last bool, send func(ctx context.Context, c *cli.Conn,
	l *life.Life) (state vigilv1.TaskState, extra map[string]any, err error)) error {
	l, err := w.about()
	if err != nil {
		return err
	}
	if w.unless && life.HasEnded(w.App, l, l.Task, l.Attempt) {
		return w.ends(l)
	}
	return w.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		if err := l.FindTask(ctx, c); err != nil {
			return err
		}
		state, extra, err := send(ctx, c, l)
		// An attempt that was given up and is over: only the answer to that was lost, or it was taken away before.
		gone := errors.Is(err, client.ErrSuperseded) && w.givenUp(l) != nil
		if last && over(err) {
			w.finished(l, err == nil || gone)
		}
		if gone {
			return w.ends(l)
		}
		if err != nil {
			return err
		}
		object := map[string]any{"task": l.Task, "attempt": l.Attempt, "state": state.String()}
		for k, v := range extra {
			object[k] = v
		}
		line := fmt.Sprintf("task %d is %s", l.Task, term.StateText(state))
		if next := extra["next_task"]; next != nil {
			line += fmt.Sprintf("; task %d follows", next)
		}
		return w.Done(object, "%s", line)
	})
}

// ends is the answer to a word about an attempt that this life has ended before.
func (w *word) ends(l *life.Life) error {
	return w.Done(map[string]any{"task": l.Task, "attempt": l.Attempt, "ended": true},
		"task %d: this life has ended the attempt already, nothing was changed", l.Task)
}

// about gives the life that speaks, with the task that is meant: the one that flags name, else the one for which this
// is run, else the one that is held.
func (w *word) about() (*life.Life, error) {
	l, err := w.who.Current(w.App)
	if err != nil {
		return nil, err
	}
	held := life.Attempt{Task: l.Task, Attempt: l.Attempt}
	runs, err := l.RunsFor(w.App)
	if err != nil && w.task == 0 {
		return nil, err
	}
	meant := held
	switch {
	case w.task == 0 && runs.Task != 0:
		if held.Task != 0 && held.Task != runs.Task && !w.unless &&
			life.HasEnded(w.App, l, runs.Task, runs.Attempt) {
			return nil, &client.Error{Code: "conflict", Message: fmt.Sprintf("this is run for task %d, which %s has "+
				"ended, and it holds task %d now: say --task %[3]d where that one is meant", runs.Task, l.Agent, held.Task)}
		}
		meant = runs
	case w.task != 0 && w.task == runs.Task:
		meant = runs
	case w.task != 0 && w.task != held.Task:
		meant = life.Attempt{Task: w.task}
	}
	if w.attempt != 0 {
		meant.Attempt = w.attempt
	}
	if !meant.Is(held.Task, held.Attempt) {
		l.Traceparent = ""
	}
	l.Task, l.Attempt = meant.Task, meant.Attempt
	return l, nil
}

// over tells whether the attempt is over after a last word that was answered so.
func over(err error) bool {
	return err == nil || errors.Is(err, client.ErrLate) || errors.Is(err, client.ErrSuperseded)
}

// finished notes for the next command, and for the process that beats, that the task is over; counts: by what this
// life has said.
func (w *word) finished(l *life.Life, counts bool) {
	kept := life.KeptOrNew(w.App, l)
	if kept == nil {
		return
	}
	if counts {
		kept.NoteEnded(l.Task, l.Attempt)
	}
	if kept.Task == l.Task {
		kept.Task, kept.Attempt, kept.Traceparent = 0, 0, ""
	}
	if err := life.Save(w.App, kept); err != nil { // at worst the process that beats notices later by itself
		fmt.Fprintf(w.Err, "vigil: who runs this will not know that task %d has ended: %v\n", l.Task, err)
	}
}

// plain makes a verb that says how the work goes on.
func (w *word) plain(cmd *cobra.Command, text string,
	send func(context.Context, *cli.Conn, *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error)) error {
	return w.say(cmd, false, func(ctx context.Context, c *cli.Conn, l *life.Life) (vigilv1.TaskState,
		map[string]any, error) {
		answer, err := send(ctx, c, &vigilv1.WorkRequest{Speaker: l.Speaker(), Task: l.Task, Attempt: l.Attempt, Text: text})
		return answer.GetState(), nil, err
	})
}

// complete ends the task with a result, or as it was given up before.
func (w *word) complete(cmd *cobra.Command, result string) error {
	return w.say(cmd, true, func(ctx context.Context, c *cli.Conn, l *life.Life) (vigilv1.TaskState,
		map[string]any, error) {
		if f := w.givenUp(l); f != nil {
			state, extra, err := fail(ctx, c, l, f)
			if err == nil && !w.JSON && !w.Effort {
				fmt.Fprintf(w.Err, "vigil: task %d was given up while no server answered, so this was said now, and not the "+
					"result: %s\n", l.Task, term.OneLine(f.Reason))
			}
			return state, extra, err
		}
		answer, err := c.Work.CompleteTask(ctx, &vigilv1.CompleteTaskRequest{Speaker: l.Speaker(), Task: l.Task,
			Attempt: l.Attempt, Result: result})
		return answer.GetState(), nil, err
	})
}

func newTaskStartCmd(a *cli.App) *cobra.Command {
	w := &word{App: a}
	cmd := &cobra.Command{
		Use:   "start",
		Short: "As an agent: say that work on the claimed task has begun",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.plain(cmd, "",
				func(ctx context.Context, c *cli.Conn, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
					return c.Work.StartTask(ctx, r)
				})
		},
	}
	w.add(cmd)
	return cmd
}

func newTaskProgressCmd(a *cli.App) *cobra.Command {
	w := &word{App: a}
	var expect cli.ExpectFlag
	var percent uint32
	cmd := &cobra.Command{
		Use:   "progress [NOTE]",
		Short: "As an agent: say that the work goes on, how far it is and how long the rest takes",
		Long: `Say that work on the task goes on, with a note for people. Without a note the last one
stays; so do --percent and --expect.`,
		Example: `  vigil task progress "tests pass, now the documentation"
  vigil task progress --percent 60 --expect 40m "the parser is ported"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rest, err := expect.Read(cmd)
			if err != nil {
				return err
			}
			if percent > 100 {
				return cli.Usagef("flag --percent: %d is not possible, give 0 to 100", percent)
			}
			if l, err := w.who.Current(a); err == nil && a.Effort && life.Nested(a, l, false) {
				return nil // another tool's work
			}
			return w.plain(cmd, cli.FirstOf(args),
				func(ctx context.Context, c *cli.Conn, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
					if r.Expect = rest; cmd.Flags().Changed("percent") {
						r.Percent = &percent
					}
					if len(args) == 0 {
						task, err := c.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: r.GetTask()})
						if err != nil {
							return nil, err
						}
						if task.GetAttempt() == r.GetAttempt() {
							r.Text = task.GetNote()
						}
					}
					return c.Work.ProgressTask(ctx, r)
				})
		},
	}
	w.add(cmd)
	cmd.Flags().Uint32Var(&percent, "percent", 0, "how much of the work is done, 0 to 100")
	expect.Add(cmd, "how long the rest takes from now, for instance 40m")
	return cmd
}

func newTaskCompleteCmd(a *cli.App) *cobra.Command {
	w, result := &word{App: a}, &cli.ResultFlag{}
	cmd := &cobra.Command{
		Use:   "complete [RESULT]",
		Short: "As an agent: finish the task",
		Long: `Finish the task that this agent holds. When no server answers and the agent was
started by agentd, the result is left with agentd, which delivers it as soon as one
does, before it reports the end of the agent; then --next takes nothing.`,
		Example: "  vigil task complete \"see branch fix-12\"\n  vigil task complete --result-file report.md\n" +
			"  vigil task complete --next \"see branch fix-12\"",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := result.Read(a, cmd, cli.FirstOf(args))
			if err != nil {
				return err
			}
			ended := false
			if w.next {
				ended, err = w.follow(cmd, func(r *vigilv1.NextRequest) error {
					r.End = &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{Result: text}}
					return nil
				})
			} else {
				err = w.complete(cmd, text)
			}
			if ended {
				return err
			}
			return w.leaveBehind(text, err)
		},
	}
	w.add(cmd)
	w.addNext(cmd)
	w.addUnless(cmd)
	result.Add(cmd)
	return cmd
}

func newTaskHandoffCmd(a *cli.App) *cobra.Command {
	w, result := &word{App: a}, &cli.ResultFlag{}
	var text, file, resultText string
	var priority int32
	cmd := &cobra.Command{
		Use:     "handoff ROLE [TITLE]",
		Short:   "As an agent: finish the task and create the next role's, in one step",
		Example: `  vigil task handoff reviewer "Review the fix" --text "branch fix-12" --result "fixed"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := cli.TaskText(a, cmd, text, file)
			if err != nil {
				return err
			}
			res, err := result.Read(a, cmd, resultText)
			if err != nil {
				return err
			}
			title := cli.FirstOf(args[1:])
			if title == "" {
				title = term.TitleOf(body)
			}
			if title == "" {
				return cli.Usagef("the next task needs a title or a text")
			}
			if w.next {
				_, err := w.follow(cmd, func(r *vigilv1.NextRequest) error {
					role, err := roleBeside(r.GetSpeaker().GetAgent(), args[0])
					r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{Result: res, ToRole: role, Title: title,
						Text: body, Priority: priority}}
					return err
				})
				return err
			}
			return w.say(cmd, true, func(ctx context.Context, c *cli.Conn, l *life.Life) (vigilv1.TaskState,
				map[string]any, error) {
				role, err := roleBeside(l.Agent, args[0])
				if err != nil {
					return 0, nil, err
				}
				answer, err := c.Work.Handoff(ctx, &vigilv1.HandoffRequest{Speaker: l.Speaker(), Task: l.Task,
					Attempt: l.Attempt,
					Result:  res, ToRole: role, Title: title, Text: body, Priority: priority})
				return vigilv1.TaskState_COMPLETED, map[string]any{"next_task": answer.GetNextTask()}, err
			})
		},
	}
	w.add(cmd)
	w.addNext(cmd)
	result.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&text, "text", "", "text of the next task")
	flags.StringVar(&file, "file", "", "file with the text of the next task, - for standard input")
	flags.StringVar(&resultText, "result", "", "result of this task")
	flags.Int32Var(&priority, "priority", 0, "of the next task")
	cmd.MarkFlagsMutuallyExclusive("text", "file")
	return cmd
}

// roleBeside reads the name of a role of the room of an agent, written with the room or without.
func roleBeside(agent, name string) (string, error) {
	room, _, _ := strings.Cut(agent, "/")
	role := strings.TrimPrefix(name, room+"/")
	if strings.Contains(role, "/") {
		return "", cli.Usagef("%q is not a role of room %s: a task is handed to a role of its own room, named "+
			"without the room", name, room)
	}
	return role, nil
}
