package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/code"
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

	refused *End // the last end that was refused for what it says; guarded by w.mu
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
// ErrSuperseded (under Work also within seconds after a human has canceled the task),
// ErrRejoin when the lease has ended and the task was recovered, or
// ErrClosed when the job is finished.
func (j *Job) Context() context.Context { return j.ctx }

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
	j.remember(End{Result: result}, err)
	return j.finish(err)
}

// remember keeps what was refused for what it says, so that the failure which may follow has it.
func (j *Job) remember(end End, err error) {
	if unfit(end, err) != nil {
		j.w.mu.Lock()
		j.refused = &end
		j.w.mu.Unlock()
	}
}

// Fail ends the attempt; with retryable the task goes back to its role while it
// has attempts left.
func (j *Job) Fail(ctx context.Context, reason string, retryable bool) error {
	_, err := j.End(ctx, End{Failure: &Failure{Reason: reason, Retryable: retryable}})
	return err
}

// FailUntil is Fail with retryable, and the task is not tried again before so long from now, at most
// 30 days: for instance what a Retry-After of a service said. A server of a cluster that is being
// upgraded refuses it as long as not all servers know it.
func (j *Job) FailUntil(ctx context.Context, reason string, after time.Duration) error {
	return j.fail(ctx, &Failure{Reason: reason, Retryable: true}, durationpb.New(after), "")
}

func (j *Job) fail(ctx context.Context, f *Failure, after *durationpb.Duration, result string) error {
	r := j.request(f.Reason)
	r.Retryable, r.After, r.Result = f.Retryable, after, result
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
	j.remember(End{Result: result, Handoff: &next}, err)
	return answer.GetNextTask(), j.finish(err)
}

// End is how a job ends: it is completed with Result, handed off too where Handoff is given, or given up
// where Failure is. Then Result is what it has made all the same: it does not count and is kept with the task, for
// people. A server of a cluster that is being upgraded refuses both together as long as not all servers know that.
type End struct {
	Result  string // at most 256 KiB
	Handoff *Next
	Failure *Failure
}

// Failure gives a task up.
type Failure struct {
	Reason    string
	Retryable bool          // another attempt may succeed
	After     time.Duration // as in FailUntil, which is retryable; 0: by the rules of the role
}

// Next ends the job and takes the role's next one in the same step. Without an error the end counts, and what
// follows is the next job; nil: there is none now, so Wait for it. made is the task of a hand-off. The next
// one is started where WorkerConfig.Starts says so.
func (j *Job) Next(ctx context.Context, end End) (next *Job, made uint64, err error) {
	w, joins := j.w, j.w.joined()
	answer, err := w.work.Next(ctx, j.nextRequest(end))
	if errors.Is(err, ErrOldServers) || errors.Is(err, ErrUnimplemented) { // nothing was executed
		made, err = j.End(ctx, end)
		return nil, made, err
	}
	if err := j.finish(err); err != nil {
		return nil, 0, err
	}
	made = answer.GetNextTask()
	if answer.GetClaim() == nil {
		w.mu.Lock()
		w.waiting = answer.GetNone().GetCode() == code.NoTask && w.joins == joins
		w.mu.Unlock()
		return nil, made, nil
	}
	if next, err = w.accept(ctx, answer.GetClaim(), joins); err != nil {
		w.outside() // Wait tells what it holds, or why not
		return nil, made, nil
	}
	return next, made, nil
}

func (j *Job) nextRequest(end End) *vigilv1.NextRequest {
	r := &vigilv1.NextRequest{Speaker: j.w.speaker, Task: j.Task.GetId(), Attempt: j.Attempt, Start: j.w.starts}
	switch f, h := end.Failure, end.Handoff; {
	case f != nil:
		fail := &vigilv1.Failure{Reason: f.Reason, Retryable: f.Retryable, Result: end.Result}
		if f.After != 0 { // as FailUntil: it says that another attempt may succeed
			fail.Retryable, fail.After = true, durationpb.New(f.After)
		}
		r.End = &vigilv1.NextRequest_Fail{Fail: fail}
	case h != nil:
		r.End = &vigilv1.NextRequest_Handoff{Handoff: &vigilv1.Handover{Result: end.Result, ToRole: h.Role,
			Title: h.Title, Text: h.Text, Priority: h.Priority}}
	default:
		r.End = &vigilv1.NextRequest_Complete{Complete: &vigilv1.Completion{Result: end.Result}}
	}
	return r
}

// End ends the job and takes no other one: Complete, Handoff, Fail or FailUntil in one. made is the task of a
// hand-off.
func (j *Job) End(ctx context.Context, end End) (made uint64, err error) {
	switch f := end.Failure; {
	case f != nil && f.After != 0: // as FailUntil
		return 0, j.fail(ctx, &Failure{Reason: f.Reason, Retryable: true}, durationpb.New(f.After), end.Result)
	case f != nil:
		return 0, j.fail(ctx, f, nil, end.Result)
	case end.Handoff != nil:
		return j.Handoff(ctx, end.Result, *end.Handoff)
	}
	return 0, j.Complete(ctx, end.Result)
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
	j.stop(cause)
}
