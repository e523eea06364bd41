package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/events"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// await waits until the task is terminal: events say when to look, and it looks
// now and then anyway. While nobody takes it, it says why.
func await(ctx context.Context, a *cli.App, c *cli.Conn, task *vigilv1.Task) error {
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	id := task.GetId()
	changed := events.Signals(watch, c, &vigilv1.WatchEventsRequest{Task: id, Tail: true})
	began, told := a.Now(), ""
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer a.ProgressEnd()
	for ctx.Err() == nil {
		now, err := c.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: id})
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil:
			continue
		}
		if task = now; term.TaskEnded(task.GetState()) {
			a.ProgressEnd()
			return taskOver(a, task)
		}
		told = tellWhy(a, task, told)
		a.Progress("task %d is %s%s, %s", id, term.StateText(task.GetState()), holderText(task),
			term.Short(a.Now().Sub(began)))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-tick.C:
		}
	}
	a.ProgressEnd()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("task %d is still %s: %w", id, term.StateText(task.GetState()), err)
	}
	text := fmt.Sprintf("task %d is still %s after %s", id, term.StateText(task.GetState()), a.Timeout)
	if task.GetWhy() != "" {
		text += ": " + term.OneLine(term.Tidy(task.GetWhy()))
	}
	return &client.Error{Code: "timeout",
		Message: fmt.Sprintf("%s. It goes on without you: "+
			"`vigil task show %d` tells how, `vigil task cancel %d` ends it", text, id, id)}
}

// whyAfter is how long a task waits before people are told why.
const whyAfter = 3 * time.Second

// tellWhy says why nobody takes a task that waits, once for each reason; told is the reason
// that was told last.
func tellWhy(a *cli.App, task *vigilv1.Task, told string) string {
	code := task.GetWhyCode()
	soon := code == "offered" && told == "busy" // one of many has become free, for this or another
	if code == told || soon || code != "" && task.GetInState().AsDuration() < whyAfter {
		return told
	}
	switch {
	case code == "":
	case a.JSON:
		b, err := json.Marshal(map[string]any{"task": fmt.Sprint(task.GetId()), "why": task.GetWhy(), "why_code": code})
		if err == nil {
			fmt.Fprintf(a.Err, "%s\n", b)
		}
	default:
		a.ProgressEnd()
		fmt.Fprintf(a.Err, "task %d waits: %s\n", task.GetId(), term.OneLine(term.Tidy(task.GetWhy())))
	}
	return code
}

func holderText(t *vigilv1.Task) string {
	if t.GetState() != vigilv1.TaskState_ACKNOWLEDGED && t.GetState() != vigilv1.TaskState_IN_PROGRESS {
		return ""
	}
	return " by " + t.GetHolder()
}

// taskOver prints a task that came to its end.
func taskOver(a *cli.App, task *vigilv1.Task) error {
	var err error
	if a.JSON {
		err = a.PrintJSON(task)
	} else {
		err = a.Printf("task %d is %s\n", task.GetId(), term.StateText(task.GetState()))
		if err == nil && task.GetResult() != "" {
			err = a.Printf("%s\n", strings.TrimRight(a.Shown(task.GetResult()), "\n"))
		}
		if err == nil && task.GetNext() != 0 { // after the result: who asked for the work wants to know where it goes on
			err = a.Printf("task %d follows\n", task.GetNext())
		}
	}
	if err == nil && task.GetState() != vigilv1.TaskState_COMPLETED {
		return cli.ExitWith(cli.ExitFailed, nil)
	}
	if err == nil {
		err = resultLost(task)
	}
	return err
}
