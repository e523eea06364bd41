package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// ErrRetry, wrapped in the error of a function given to Work, fails the attempt
// but not the task: another attempt may succeed.
var ErrRetry = errors.New("another attempt may succeed")

// Job is one claimed attempt at a task. Its words are refused with ErrSuperseded
// when the attempt is no longer the task's own.
type Job struct {
	// Task is the task as it was claimed, with its text.
	Task *vigilv1.Task
	// Attempt is the number of the claim.
	Attempt uint32

	w    *Worker
	ctx  context.Context
	stop context.CancelCauseFunc
}

// begin makes a claim the worker's job.
func (w *Worker) begin(answer *vigilv1.ClaimResponse) *Job {
	j := &Job{Task: answer.GetTask(), Attempt: answer.GetAttempt(), w: w}
	j.ctx, j.stop = context.WithCancelCause(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job, w.waiting = j, false
	if d := answer.GetTtl().AsDuration(); d > 0 {
		w.ttl = d
	}
	return j
}

// Resume takes up a task that this life holds already, for instance in another
// process than the one that claimed it.
func (w *Worker) Resume(task *vigilv1.Task, attempt uint32) *Job {
	return w.begin(&vigilv1.ClaimResponse{Task: task, Attempt: attempt})
}

// Context ends when nobody wants the result any more: context.Cause gives
// ErrSuperseded, ErrRejoin when the lease has ended and the task was recovered, or
// ErrClosed when the job is finished.
func (j *Job) Context() context.Context { return j.ctx }

func (j *Job) end(cause error) { j.stop(cause) }

func (j *Job) request(text string) *vigilv1.WorkRequest {
	return &vigilv1.WorkRequest{Speaker: j.w.speaker, Task: j.Task.GetId(), Attempt: j.Attempt, Text: text}
}

// Start says that work has begun; without it the task is taken back after the
// acknowledgement limit (2 min by default).
func (j *Job) Start(ctx context.Context) error {
	_, err := j.w.work.StartTask(ctx, j.request(""))
	return j.heard(err)
}

// Progress says that the work goes on, with a note of at most 4 KiB for people.
func (j *Job) Progress(ctx context.Context, note string) error {
	return j.Advance(ctx, Advance{Note: note})
}

// Advance is how far a job is.
type Advance struct {
	Note string // at most 4 KiB, for people
	// Percent of the work is done, 0 to 100. nil: as said before.
	Percent *uint32
	// Expect is how long the rest takes from now, 1 s to 30 days. 0: as said before.
	Expect time.Duration
}

// Advance is Progress with how far the work is and when it is expected to be done: a task
// counts as stalled only after that. A server of a cluster that is being upgraded refuses
// Percent and Expect as long as not all servers know them.
func (j *Job) Advance(ctx context.Context, a Advance) error {
	r := j.request(a.Note)
	if r.Percent = a.Percent; a.Expect != 0 {
		r.Expect = durationpb.New(a.Expect)
	}
	_, err := j.w.work.ProgressTask(ctx, r)
	return j.heard(err)
}

// Complete finishes the task with a result of at most 256 KiB.
func (j *Job) Complete(ctx context.Context, result string) error {
	_, err := j.w.work.CompleteTask(ctx, &vigilv1.CompleteTaskRequest{Speaker: j.w.speaker, Task: j.Task.GetId(),
		Attempt: j.Attempt, Result: result})
	return j.finish(err)
}

// Fail ends the attempt; with retryable the task goes back to its role while it
// has attempts left.
func (j *Job) Fail(ctx context.Context, reason string, retryable bool) error {
	r := j.request(reason)
	r.Retryable = retryable
	_, err := j.w.work.FailTask(ctx, r)
	return j.finish(err)
}

// FailUntil is Fail with retryable, and the task is not tried again before so long from now, at most
// 30 days: for instance what a Retry-After of a service said. A server of a cluster that is being
// upgraded refuses it as long as not all servers know it.
func (j *Job) FailUntil(ctx context.Context, reason string, after time.Duration) error {
	r := j.request(reason)
	r.Retryable, r.After = true, durationpb.New(after)
	_, err := j.w.work.FailTask(ctx, r)
	return j.finish(err)
}

// Next is the task that a hand-off creates, in the same room.
type Next struct {
	Role, Title, Text string
	Priority          int32
}

// Handoff completes the task and creates the next role's in one step; it gives the
// number of the new task.
func (j *Job) Handoff(ctx context.Context, result string, next Next) (uint64, error) {
	answer, err := j.w.work.Handoff(ctx, &vigilv1.HandoffRequest{Speaker: j.w.speaker, Task: j.Task.GetId(),
		Attempt: j.Attempt, Result: result, ToRole: next.Role, Title: next.Title, Text: next.Text,
		Priority: next.Priority})
	return answer.GetNextTask(), j.finish(err)
}

// heard ends the job when the answer says that it is no longer ours.
func (j *Job) heard(err error) error {
	if errors.Is(err, ErrSuperseded) || errors.Is(err, ErrRejoin) || errors.Is(err, ErrStopped) {
		j.finished(err)
	}
	return err
}

// finish ends the job after its last word, unless that may still be said again.
func (j *Job) finish(err error) error {
	if err == nil || errors.Is(err, ErrLate) {
		j.finished(ErrClosed)
		return err
	}
	return j.heard(err)
}

func (j *Job) finished(cause error) {
	j.w.mu.Lock()
	if j.w.job == j {
		j.w.job = nil
	}
	j.w.mu.Unlock()
	j.end(cause)
}

// run starts the job, calls do, and says how it ended. An attempt that nobody wants
// any more is not an error of the worker.
func (j *Job) run(ctx context.Context, do func(context.Context, *Job) (string, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.ctx, func() { cancel(context.Cause(j.ctx)) })()
	defer j.finished(ErrClosed)
	if err := j.Start(ctx); err != nil {
		return j.unwanted(err)
	}
	result, err := do(ctx, j)
	if j.ctx.Err() != nil {
		return nil
	}
	// What was done is said even when the caller is about to leave.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	if ctx.Err() == nil {
		stop()
		last, stop = context.WithCancel(ctx)
	}
	defer stop()
	if err != nil {
		return j.unwanted(j.Fail(last, err.Error(), errors.Is(err, ErrRetry) || ctx.Err() != nil))
	}
	if err := j.unwanted(j.Complete(last, result)); err != nil {
		return fmt.Errorf("complete task %d: %w", j.Task.GetId(), err)
	}
	return nil
}

// unwanted turns the refusal of one attempt into nil: the worker goes on.
func (j *Job) unwanted(err error) error {
	if err != nil && (errors.Is(err, ErrLate) || errors.Is(err, ErrRejoin) || errors.Is(err, ErrConflict) ||
		errors.Is(err, ErrSuperseded)) {
		return nil
	}
	return err
}
