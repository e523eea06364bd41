package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// maxReason bounds why an attempt has failed, in bytes.
const maxReason = 1 << 10

// maxResult bounds what servers take and keep of a result, in bytes.
const maxResult = 256 << 10

// fullAfter is how long after an attempt whose result or hand-off a budget had no room for another one follows.
const fullAfter = time.Minute

// Work is the whole life of an agent: it joins, then waits for tasks and calls do
// for each, one at a time, until ctx ends or this life is over, and leaves. Where tasks are queued it costs
// one write a task: the end of one takes and starts the next. What do returns becomes the task's result; its
// error fails the task, for another attempt when it wraps ErrRetry; so does its panic, which then goes on. That
// is said until a server has taken it, however long all are away; a result that is refused fails the task, too.
// An error after ctx has ended counts for nobody: the life leaves, and the task goes back to its role.
// The context of do ends when nobody wants its result any more, and is Traced: tasks that do creates under it
// join the trace of the job. Work returns nil when ctx has ended.
func Work(ctx context.Context, c *Client, cfg WorkerConfig,
	do func(ctx context.Context, job *Job) (result string, err error)) (err error) {
	cfg.Starts = true
	w, err := Join(ctx, c, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if w.left { // what is spooled counts while the attempt is this life's
			w.Detach()
			return
		}
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		if e := w.Leave(bye, "the agent ended"); e != nil && err == nil {
			err = fmt.Errorf("leave room: %w", e)
		}
	}()
	var job *Job
	for {
		var err error
		if job == nil {
			job, err = w.Wait(ctx)
		}
		if err == nil {
			job, err = job.run(ctx, do)
		}
		switch {
		case w.ctx.Err() != nil:
			return context.Cause(w.ctx)
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// leaveLimit bounds the good-bye of Work.
const leaveLimit = 3 * time.Second

// run calls do and says how the job ended; it gives the next one where that came with it. An attempt that
// nobody wants any more is not an error of the worker.
func (j *Job) run(parent context.Context, do func(context.Context, *Job) (string, error)) (next *Job, err error) {
	ctx, cancel := context.WithCancelCause(Traced(parent, j.Traceparent()))
	defer cancel(nil)
	defer context.AfterFunc(j.ctx, func() { cancel(context.Cause(j.ctx)) })()
	defer j.finished(ErrClosed)
	if j.Task.GetState() != vigilv1.TaskState_IN_PROGRESS { // of servers that do not start what is claimed
		if err := j.Start(ctx); err != nil {
			return nil, j.unwanted(err)
		}
	}
	watch, over := context.WithCancel(j.ctx)
	go j.watch(watch)
	result, err := func() (string, error) {
		defer over()
		defer j.panicked(parent)
		return do(ctx, j)
	}()
	if j.ctx.Err() != nil {
		return nil, nil
	}
	end := End{Result: strings.ToValidUTF8(result, "\uFFFD")}
	if err != nil {
		end.Result = j.made() // what came with the error was never said to be one
		if parent.Err() != nil && end.Result == "" {
			return nil, nil // it was told to stop, which is no failure: the task goes back as the life leaves
		}
		end.Failure = &Failure{Reason: clip(err.Error()), Retryable: errors.Is(err, ErrRetry) || parent.Err() != nil}
	}
	told := false
	if parent.Err() == nil {
		next, err = j.tell(parent, end) // it outlives the job's own context
		told = parent.Err() == nil || !unanswered(err)
	}
	if !told {
		err = j.lastWords(parent, end)
	}
	if err = j.unwanted(err); err != nil && end.Failure == nil {
		err = fmt.Errorf("complete task %d: %w", j.Task.GetId(), err)
	}
	return next, err
}

// panicked says of a job whose function panics that its attempt has failed, before the panic goes on and ends
// the process: who has left the room by then is taken for one that gave the task back.
func (j *Job) panicked(ctx context.Context) {
	what := recover()
	if what == nil {
		return
	}
	if j.ctx.Err() == nil {
		// what cannot be said is lost: the panic counts
		_ = j.lastWords(ctx, End{Failure: &Failure{Reason: clip(fmt.Sprintf("panic: %v", what)), Retryable: true}})
	}
	panic(what)
}

// tell says how the job has ended, and gives the next one where that comes with it. It outlives whole outages: the
// end of an attempt is fenced by life and attempt, so that it may be said until ctx or this life ends, under a new
// number where the old one is forgotten.
func (j *Job) tell(ctx context.Context, end End) (next *Job, err error) {
	ctx, cancel := j.w.both(ctx)
	defer cancel()
	err = j.insist(ctx, func() (err error) { next, _, err = j.Next(ctx, end); return err })
	for f := unfit(end, err); f != nil; f = unfit(*f, err) {
		err = j.insist(ctx, func() error { _, err := j.End(ctx, *f); return err })
	}
	return next, err
}

func (j *Job) insist(ctx context.Context, say func() error) error {
	t := &trial{began: time.Now()}
	for {
		err := say()
		if ctx.Err() != nil || !unanswered(err) {
			return err
		}
		t.tries++
		j.w.askBeat() // the servers may have been away for longer than the lease; a beat tells
		t.pause(ctx, j.w.client.done)
	}
}

// lastWords says how the job has ended when the caller is about to leave. A result that no server takes is left with
// the agentd of a managed life.
func (j *Job) lastWords(ctx context.Context, end End) error {
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer stop()
	_, err := j.End(last, end)
	for f := unfit(end, err); f != nil; f = unfit(*f, err) {
		_, err = j.End(last, *f)
	}
	if unanswered(err) && end.Failure == nil && j.w.leaveBehind(j, end.Result) {
		return nil
	}
	return err
}

// unanswered tells whether err leaves open what became of the end of an attempt, which may be said again.
func unanswered(err error) bool {
	return lost(err) || errors.Is(err, ErrUnknownSession) || errors.Is(err, ErrTooOld)
}

// unfit is what an end becomes whose result or hand-off is refused: the attempt fails, since no other life would end
// it better, and what it has made is kept with the task, if servers can. nil: the refusal is about life or attempt.
func unfit(end End, err error) *End {
	full := errors.Is(err, ErrFull)
	refused := full || errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge)
	switch {
	case end.Failure != nil && end.Result != "" && (refused || errors.Is(err, ErrOldServers)):
		return &End{Failure: end.Failure}
	case end.Failure != nil || !refused:
		return nil
	}
	f := &Failure{Reason: clip("what it returned was refused: " + err.Error()), Retryable: full}
	if full {
		f.After = fullAfter
	}
	return &End{Failure: f, Result: made(end)}
}

// made is what the job has said of its result and was refused.
func (j *Job) made() string {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	if j.refused == nil {
		return ""
	}
	return made(*j.refused)
}

// made is all that an end says that was refused, as much of it as servers keep.
func made(end End) string {
	text := end.Result
	if h := end.Handoff; h != nil {
		text = strings.Trim(fmt.Sprintf("%s\n\nfor %s: %s\n%s", text, h.Role, h.Title, h.Text), "\n")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxResult {
		return text
	}
	note := fmt.Sprintf("...\n[cut: it had %d bytes]", len(text))
	return strings.ToValidUTF8(text[:maxResult-len(note)], "") + note
}

// clip gives the beginning of a reason, as much of it as servers take.
func clip(reason string) string {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return reason
}

// unwanted turns the refusal of one attempt into nil: the worker goes on.
func (j *Job) unwanted(err error) error {
	if err != nil && (errors.Is(err, ErrLate) || errors.Is(err, ErrRejoin) || errors.Is(err, ErrConflict) ||
		errors.Is(err, ErrSuperseded)) {
		return nil
	}
	return err
}

// Held is the task that this life held already when the worker joined, 0 for none: another process of
// the same life has claimed it.
func (w *Worker) Held() uint64 { return w.held }

// breakOff takes a worker out of the room again whose caller does not want it any more; a life that holds
// a task has another process at work.
func (w *Worker) breakOff(ctx context.Context) error {
	if w.held != 0 {
		w.Detach()
		return nil
	}
	if err := w.Leave(ctx, "its join was broken off"); err != nil {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}
