package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// awaitTask waits until the task is terminal: events say when to look, and it looks
// now and then anyway. While nobody takes it, it says why.
func awaitTask(ctx context.Context, a *app, c *conn, task *vigilv1.Task) error {
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	id := task.GetId()
	changed := eventSignals(watch, c, &vigilv1.WatchEventsRequest{Task: id, Tail: true})
	began, told := a.now(), ""
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer a.progressEnd()
	for ctx.Err() == nil {
		now, err := c.fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: id})
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil:
			continue
		}
		if task = now; taskEnded(task.GetState()) {
			a.progressEnd()
			return taskOver(a, task)
		}
		told = tellWhy(a, task, told)
		a.progress("task %d is %s%s, %s", id, stateText(task.GetState()), holderText(task), short(a.now().Sub(began)))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-tick.C:
		}
	}
	a.progressEnd()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("task %d is still %s: %w", id, stateText(task.GetState()), err)
	}
	text := fmt.Sprintf("task %d is still %s after %s", id, stateText(task.GetState()), a.timeout)
	if task.GetWhy() != "" {
		text += ": " + oneLine(tidy(task.GetWhy()))
	}
	return &client.Error{Code: "timeout", Message: fmt.Sprintf("%s. It goes on without you: `vigil task show %d` tells how, `vigil task cancel %d` ends it", text, id, id)}
}

// whyAfter is how long a task waits before people are told why.
const whyAfter = 3 * time.Second

// tellWhy says why nobody takes a task that waits, once for each reason; told is the reason
// that was told last.
func tellWhy(a *app, task *vigilv1.Task, told string) string {
	code := task.GetWhyCode()
	soon := code == "offered" && told == "busy" // one of many has become free, for this or another
	if code == told || soon || code != "" && task.GetInState().AsDuration() < whyAfter {
		return told
	}
	switch {
	case code == "":
	case a.json:
		b, err := json.Marshal(map[string]any{"task": fmt.Sprint(task.GetId()), "why": task.GetWhy(), "why_code": code})
		if err == nil {
			fmt.Fprintf(a.err, "%s\n", b)
		}
	default:
		a.progressEnd()
		fmt.Fprintf(a.err, "task %d waits: %s\n", task.GetId(), oneLine(tidy(task.GetWhy())))
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
func taskOver(a *app, task *vigilv1.Task) error {
	var err error
	if a.json {
		err = a.printJSON(task)
	} else {
		err = a.printf("task %d is %s\n", task.GetId(), stateText(task.GetState()))
		if err == nil && task.GetResult() != "" {
			err = a.printf("%s\n", strings.TrimRight(a.shown(task.GetResult()), "\n"))
		}
	}
	if err == nil && task.GetState() != vigilv1.TaskState_COMPLETED {
		return exitWith(exitFailed, nil)
	}
	return err
}
