package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// mcpDesk is what the MCP tools work on: one life of one agent, and the task it holds.
// Tools are called by several goroutines.
type mcpDesk struct {
	*app
	conn    *conn
	log     hclog.Logger // never gets what tasks say
	managed bool
	bound   time.Duration   // of a wait whose bound the model does not say
	gone    context.Context // ends when nobody listens any more

	settled chan struct{} // closed when the room was joined, or never will be

	mu      sync.Mutex
	life    *life
	worker  *client.Worker // nil: not in the room yet
	outside error          // why not
	over    error          // why this life is over
	job     *client.Job    // the task that is held
	waits   bool           // a call of wait_for_task is under way
}

func newDesk(a *app, c *conn, l *life, managed bool, bound time.Duration) *mcpDesk {
	return &mcpDesk{app: a, conn: c, log: newMCPLog(a), managed: managed, bound: bound, gone: context.Background(),
		settled: make(chan struct{}), life: l}
}

// callLimit bounds one call of the cluster.
func (d *mcpDesk) callLimit() time.Duration {
	if d.timeout == 0 {
		return client.DefaultRetryFor
	}
	return d.timeout
}

// aside gives a context for words that must not be cut off half-way: a client that has
// cancelled or gone does not take back what the agent has said.
func (d *mcpDesk) aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d.callLimit())
}

// member gives the worker, waiting for the join for a while.
func (d *mcpDesk) member(ctx context.Context) (*client.Worker, error) {
	timer := time.NewTimer(d.callLimit())
	defer timer.Stop()
	select {
	case <-d.settled:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.gone.Done():
		return nil, context.Cause(d.gone)
	case <-timer.C:
	}
	if err := d.ended(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.worker == nil {
		why := "no server has answered yet"
		if d.outside != nil {
			why = d.outside.Error()
		}
		return nil, mcpAdvicef("%s has not joined its room yet: %s. vigil goes on trying; call this again in half a minute, and tell a human when it stays so.", d.life.Agent, why)
	}
	return d.worker, nil
}

// mcpAdvice is an error that already says what to do next.
type mcpAdvice string

func (e mcpAdvice) Error() string { return string(e) }

func mcpAdvicef(format string, args ...any) error { return mcpAdvice(fmt.Sprintf(format, args...)) }

// ended says that this life is over, nil while it is not.
func (d *mcpDesk) ended() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil && d.worker != nil && d.worker.Context().Err() != nil {
		d.over = context.Cause(d.worker.Context())
		d.log.Warn("this life is over", "error", d.over)
	}
	if d.over == nil {
		return nil
	}
	why := d.over.Error()
	switch {
	case errors.Is(d.over, client.ErrSuperseded):
		why = fmt.Sprintf("life %s of %s is over, and a newer one works in its place or will", client.FormatIncarnation(d.life.Incarnation), d.life.Agent)
	case errors.Is(d.over, client.ErrStopped):
		why = fmt.Sprintf("a human has stopped %s", d.life.Agent)
	case errors.Is(d.over, client.ErrNotFound):
		why = fmt.Sprintf("there is no agent %s any more", d.life.Agent)
	case errors.Is(d.over, client.ErrDenied):
		why = fmt.Sprintf("the token is not that of life %s of %s; this was started in the environment of another agent", client.FormatIncarnation(d.life.Incarnation), d.life.Agent)
	}
	return mcpAdvicef("STOP: %s. Nothing that you do or say counts any more. Leave files as they are, call no more of these tools, and end the session.", why)
}

// take makes job the one that is held; nil: none.
func (d *mcpDesk) take(job *client.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.job = job
	if job == nil {
		d.keep(0, 0)
		return
	}
	d.keep(job.Task.GetId(), job.Attempt)
}

// held gives the task that this life holds; also one that a command or an earlier run
// of this program has claimed.
func (d *mcpDesk) held(ctx context.Context) (*client.Job, error) {
	w, err := d.member(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job != nil {
		if job.Context().Err() != nil {
			return nil, d.dropped(job, context.Cause(job.Context()).Error())
		}
		return job, nil
	}
	answer, err := d.conn.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: w.Agent()})
	if err != nil {
		return nil, d.judge(ctx, nil, err)
	}
	if job = d.holds(w, answer); job == nil {
		return nil, mcpAdvicef("No task is held. Call wait_for_task to get one.")
	}
	return job, nil
}

// holds takes up the task that the cluster says this life holds; nil: none.
func (d *mcpDesk) holds(w *client.Worker, answer *vigilv1.GetAgentResponse) *client.Job {
	g, task := answer.GetAgent(), answer.GetTask()
	if g.GetTask() == 0 || g.GetTask() != task.GetId() || g.GetIncarnationRaw() != w.Incarnation() {
		return nil
	}
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job == nil || job.Context().Err() != nil || job.Task.GetId() != task.GetId() || job.Attempt != task.GetAttempt() {
		job = w.Resume(task, task.GetAttempt())
		d.take(job)
	}
	return job
}

// dropped forgets a task that is no longer ours and says so.
func (d *mcpDesk) dropped(job *client.Job, why string) error {
	d.mu.Lock()
	mine := d.job == job
	d.mu.Unlock()
	if mine {
		d.take(nil)
		d.log.Warn("the task is no longer held", "task", job.Task.GetId(), "attempt", job.Attempt)
	}
	return mcpAdvicef("DROP THIS WORK: attempt %d at task %d is no longer yours: %s. Leave it as it is and call wait_for_task for the next task.",
		job.Attempt, job.Task.GetId(), strings.TrimRight(why, "."))
}

// judge turns the error of a call into one that says what to do next. The job is what
// was spoken about, nil when the word was about the agent.
func (d *mcpDesk) judge(ctx context.Context, job *client.Job, err error) error {
	if errors.As(err, new(mcpAdvice)) {
		return err
	}
	d.log.Info("a call was refused", "error", errorName(err))
	if over := d.ended(); over != nil {
		return over
	}
	switch {
	case errors.Is(err, client.ErrSuperseded), errors.Is(err, client.ErrRejoin), errors.Is(err, client.ErrStopped), errors.Is(err, client.ErrDenied):
		if over := d.probe(ctx); over != nil {
			return over
		}
		if job != nil {
			return d.dropped(job, err.Error())
		}
		return mcpAdvicef("The lease of %s had ended; it is in its room again. Call my_status to see what it holds, then go on.", d.life.Agent)
	case errors.Is(err, client.ErrLate):
		return d.dropped(job, err.Error())
	case unheard(err):
		return mcpAdvicef("No server has answered, so it is not known whether this was done (%s). Nothing is lost and saying it again is safe: call this again in half a minute.", strings.TrimRight(err.Error(), "."))
	case errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrConflict):
		return mcpAdvicef("Nothing was changed: %s. Correct the call and make it again.", strings.TrimRight(err.Error(), "."))
	}
	return mcpAdvicef("This failed: %s. Call my_status to see where you stand.", strings.TrimRight(err.Error(), "."))
}

// probe asks whether this life goes on, and joins again where that is possible.
func (d *mcpDesk) probe(ctx context.Context) error {
	err := d.worker.Beat(ctx)
	for _, end := range []error{client.ErrSuperseded, client.ErrStopped, client.ErrNotFound, client.ErrDenied} {
		if errors.Is(err, end) {
			d.mu.Lock()
			d.over = err
			d.mu.Unlock()
		}
	}
	return d.ended()
}

// news says what has happened to this life and its task behind the model's back; "":
// nothing.
func (d *mcpDesk) news(ctx context.Context) string {
	if over := d.ended(); over != nil {
		return over.Error()
	}
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job == nil {
		return ""
	}
	if job.Context().Err() != nil {
		return d.dropped(job, context.Cause(job.Context()).Error()).Error()
	}
	ctx, cancel := context.WithTimeout(ctx, newsLimit)
	defer cancel()
	task, err := d.conn.fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: job.Task.GetId(), Stale: true})
	held := task.GetState() == vigilv1.TaskState_ACKNOWLEDGED || task.GetState() == vigilv1.TaskState_IN_PROGRESS
	// A follower may be behind the claim: only a later state counts.
	if err != nil || task.GetAttempt() < job.Attempt || task.GetAttempt() == job.Attempt && held {
		return ""
	}
	return d.dropped(job, "it is "+stateText(task.GetState())).Error()
}

// newsLimit bounds a question that the model has not asked.
const newsLimit = time.Second

// leaveBehind leaves a result that no server has taken with agentd, where the agent has
// one; it tells whether it did.
func (d *mcpDesk) leaveBehind(job *client.Job, result string) bool {
	spool := d.getenv(agentd.EnvSpool)
	if spool == "" || d.life.token == "" {
		return false
	}
	err := d.putIntoSpool(spool, agentd.Completion{Agent: d.life.Agent, Incarnation: d.life.Incarnation,
		Task: job.Task.GetId(), Attempt: job.Attempt, Result: result, Token: d.life.token})
	if err != nil {
		d.log.Warn("the result cannot be left with agentd", "task", job.Task.GetId(), "error", err)
	}
	return err == nil
}
