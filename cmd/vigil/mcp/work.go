package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// mcpTask is a task as a model sees it.
type mcpTask struct {
	ID       uint64   `json:"id"`
	Attempt  uint32   `json:"attempt"` // above 1 an earlier one did not finish
	State    string   `json:"state"`
	By       string   `json:"created_by,omitempty"`
	Priority int32    `json:"priority,omitempty"`
	Others   taskText `json:"from_others"`
	Percent  *uint32  `json:"percent,omitempty"`
	// ExpectMinutes is from now; negative: that has passed. It is absent when nothing is expected.
	ExpectMinutes *float64 `json:"expected_in_minutes,omitempty"`
	// Traceparent is that of the attempt, for spans of who works on it; "": nobody traces it.
	Traceparent string `json:"traceparent,omitempty"`
}

// taskText is what people and other agents have written about a task.
type taskText struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Note  string `json:"last_note,omitempty"` // of its progress, perhaps of an earlier attempt
}

func newMCPTask(t *vigilv1.Task) *mcpTask {
	out := &mcpTask{ID: t.GetId(), Attempt: t.GetAttempt(), State: t.GetState().String(), By: t.GetCreatedBy(),
		Priority: t.GetPriority(), Others: taskText{t.GetTitle(), t.GetText(), t.GetNote()}, Percent: t.Percent,
		Traceparent: t.GetTraceparent()}
	if left := t.GetExpectLeft(); left != nil {
		minutes := left.AsDuration().Minutes()
		out.ExpectMinutes = &minutes
	}
	return out
}

func minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }

// words is the task for a reader.
func (t *mcpTask) words() string {
	head := fmt.Sprintf("Task %d, attempt %d", t.ID, t.Attempt)
	switch left := t.ExpectMinutes; {
	case left == nil:
	case *left < 0:
		head += fmt.Sprintf(". It should have been done %s ago: say with progress how long it still takes.",
			term.Short(-minutes(*left)))
	default:
		head += fmt.Sprintf(". It should be done in %s.", term.Short(minutes(*left)))
	}
	by := t.By
	if by == "" {
		by = "whoever created the task"
	}
	return head + "\n" + term.Quoted(by, "Title: "+term.OneLine(t.Others.Title), t.Others.Text)
}

// howToEnd ends what a model is told when it has got a task, or started it.
const howToEnd = "progress now and then, and end it with complete_task, handoff_task or fail_task."

type noArgs struct{}

func (d *mcpDesk) startTask(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (mcpSaid, error) {
	return d.say(ctx, mcpWord{}, func(ctx context.Context, job *client.Job) (string, error) {
		return "Task %d is started. Call " + howToEnd, job.Start(ctx)
	})
}

type progressArgs struct {
	Note          string  `json:"note"`
	Percent       *uint32 `json:"percent"`
	ExpectMinutes float64 `json:"expect_minutes"`
}

func (d *mcpDesk) progressTask(ctx context.Context, _ *mcp.CallToolRequest, in progressArgs) (mcpSaid, error) {
	return d.say(ctx, mcpWord{}, func(ctx context.Context, job *client.Job) (string, error) {
		return "Noted; task %d is still yours. Go on.",
			job.Advance(ctx, client.Advance{Note: in.Note, Percent: in.Percent, Expect: minutes(in.ExpectMinutes)})
	})
}

type completeArgs struct {
	Result string `json:"result"`
	Task   uint64 `json:"task"`
	Next   bool   `json:"next"`
}

func (d *mcpDesk) completeTask(ctx context.Context, _ *mcp.CallToolRequest, in completeArgs) (waitAnswer, error) {
	var next *client.Job
	word := mcpWord{last: true, result: true, task: in.Task}
	said, err := d.say(ctx, word, func(ctx context.Context, job *client.Job) (_ string, err error) {
		next, _, err = finish(ctx, job, client.End{Result: in.Result}, in.Next)
		if err != nil && agent.Unheard(err) && d.leaveBehind(job, in.Result) {
			return "No server answers at the moment: the result of task %d is left with this host's agentd, " +
				"which delivers it.", nil
		}
		return "Task %d is completed.", err
	})
	return d.followed(ctx, said, next, err)
}

// finish ends the job; with next it gives the one that comes with it, nil when none does.
func finish(ctx context.Context, job *client.Job, end client.End, next bool) (*client.Job, uint64, error) {
	if next {
		return job.Next(ctx, end)
	}
	made, err := job.End(ctx, end)
	return nil, made, err
}

// followed adds the next task to the answer to the last word about one, or how to get it.
func (d *mcpDesk) followed(ctx context.Context, said mcpSaid, next *client.Job, err error) (waitAnswer, error) {
	switch {
	case err != nil:
		return waitAnswer{}, err
	case next == nil:
		said.Message += d.then(" Call wait_for_task for the next one.")
		return waitAnswer{mcpSaid: said}, nil
	}
	d.mu.Lock()
	d.job, d.came = next, next
	d.keep(next)
	d.mu.Unlock()
	d.log.Info("claimed a task", about(next)...)
	out, err := d.claimed(ctx, next, false, false)
	out.Message = said.Message + " Here is the next one. " + out.Message
	return out, err
}

type failArgs struct {
	Reason    string `json:"reason"`
	Retryable bool   `json:"retryable"`
	Task      uint64 `json:"task"`
	Next      bool   `json:"next"`
}

func (d *mcpDesk) failTask(ctx context.Context, _ *mcp.CallToolRequest, in failArgs) (waitAnswer, error) {
	var next *client.Job
	word := mcpWord{last: true, task: in.Task}
	said, err := d.say(ctx, word, func(ctx context.Context, job *client.Job) (_ string, err error) {
		end := client.End{Failure: &client.Failure{Reason: in.Reason, Retryable: in.Retryable}}
		next, _, err = finish(ctx, job, end, in.Next)
		if err != nil && agent.Unheard(err) {
			d.giveUp(job, end.Failure)
		}
		return "Task %d is given up.", err
	})
	return d.followed(ctx, said, next, err)
}

type handoffArgs struct {
	Role     string `json:"role"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Result   string `json:"result"`
	Priority int32  `json:"priority"`
	Task     uint64 `json:"task"`
	Next     bool   `json:"next"`
}

type handoffAnswer struct {
	waitAnswer
	NextTask uint64 `json:"next_task"`
}

func (d *mcpDesk) handoffTask(ctx context.Context, _ *mcp.CallToolRequest, in handoffArgs) (handoffAnswer, error) {
	w, err := d.member(ctx)
	if err != nil {
		return handoffAnswer{}, err
	}
	room, _, _ := strings.Cut(w.Agent(), "/")
	role := strings.TrimPrefix(in.Role, room+"/")
	if strings.Contains(role, "/") {
		return handoffAnswer{},
			mcpAdvicef("%q is no role of your room %s; colleagues lists its agents and roles. "+
				"Nothing was changed.", in.Role, room)
	}
	var next *client.Job
	var made uint64
	word := mcpWord{last: true, result: true, task: in.Task}
	said, err := d.say(ctx, word, func(ctx context.Context, job *client.Job) (_ string, err error) {
		end := client.End{Result: in.Result, Handoff: &client.Next{Role: role, Title: in.Title, Text: in.Text,
			Priority: in.Priority}}
		next, made, err = finish(ctx, job, end, in.Next)
		return fmt.Sprintf("Task %%d is completed; task %d follows it.", made), err
	})
	out, err := d.followed(ctx, said, next, err)
	return handoffAnswer{out, made}, err
}

// mcpWord is what is said about the task that is held.
type mcpWord struct {
	last   bool   // it ends the task
	result bool   // it brings a result
	task   uint64 // the task that is meant; 0: the one that is held
}

// meant refuses a last word that may be about another task. A model that has not got the answer to its last word says
// it again, and may hold the task by then that came with that answer.
func (d *mcpDesk) meant(word mcpWord, job *client.Job) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := job.Task.GetId()
	switch {
	case word.task != 0 && word.task != id:
		return mcpAdvicef("Nothing was changed: you hold task %d, not task %d; my_status tells what it is about.",
			id, word.task)
	case word.last && word.task == 0 && d.came == job:
		return mcpAdvicef("Nothing was changed: your task before this one has ended, and task %d came with that "+
			"answer. Call start_task and do it (my_status tells what it is about); if this was meant for it, make "+
			"this call again with task: %d.", id, id)
	}
	d.came = nil
	return nil
}

// shown notes that the model was told what the task is about.
func (d *mcpDesk) shown(job *client.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.came == job {
		d.came = nil
	}
}

// say speaks about the task that is held. The words that it gives back have a place for the number of the task.
func (d *mcpDesk) say(ctx context.Context, word mcpWord,
	send func(context.Context, *client.Job) (string, error)) (mcpSaid, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	job, err := d.held(ctx, word.result)
	if err == nil {
		err = d.meant(word, job)
	}
	if err != nil {
		return mcpSaid{}, err
	}
	words, err := send(ctx, job)
	if err != nil {
		return mcpSaid{}, d.judge(ctx, job, err)
	}
	if word.result || errors.Is(context.Cause(job.Context()), client.ErrClosed) { // its last word was said
		d.finished(job)
		d.log.Info("finished with a task", about(job)...)
	}
	return saidf(words, job.Task.GetId()), nil
}
