package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// mcpDesk is what the MCP tools work on: one life of one agent, and the task it holds.
// Tools are called by several goroutines.
type mcpDesk struct {
	*cli.App
	conn    *cli.Conn
	mail    vigilv1.MailboxClient
	log     hclog.Logger // never gets what tasks say
	managed bool
	bound   time.Duration   // of a wait whose bound the model does not say
	gone    context.Context // ends when nobody listens any more

	only life.Attempt // the session is for this attempt and takes no other; zero: it takes tasks itself

	settled chan struct{} // closed when the room was joined, or never will be
	turn    chan struct{} // holds a value while a call of wait_for_task is under way

	mu      sync.Mutex
	life    *life.Life
	worker  *client.Worker // nil: not in the room yet
	began   bool           // this process has begun the life
	outside error          // why not
	over    error          // why this life is over
	job     *client.Job    // the task that is held
	came    *client.Job    // the same, while nothing was said about it since it came with the end of another
	waits   int            // calls of wait_for_task so far
	endWait context.CancelCauseFunc
	told    uint32 // unread mails that the model was told of last
}

func newDesk(a *cli.App, c *cli.Conn, l *life.Life, managed bool, bound time.Duration) *mcpDesk {
	return &mcpDesk{App: a, conn: c, mail: vigilv1.NewMailboxClient(c), log: newMCPLog(a), managed: managed,
		bound: bound,
		gone:  context.Background(), settled: make(chan struct{}), turn: make(chan struct{}, 1), life: l}
}

// agent is who this is.
func (d *mcpDesk) agent() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.life.Agent
}

// callLimit bounds one call of the cluster.
func (d *mcpDesk) callLimit() time.Duration {
	if d.Timeout == 0 {
		return client.DefaultRetryFor
	}
	return d.Timeout
}

// asideLimit is how long a word still waits for its answer once this process was told to end. Who told it
// may kill it soon, and by then a result has to be with agentd.
const asideLimit = life.LeaveLimit / 2

// aside gives a context for words that must not be cut off half-way: a client that has
// cancelled or gone does not take back what the agent has said.
func (d *mcpDesk) aside(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.callLimit())
	stop := context.AfterFunc(d.gone, func() { time.AfterFunc(asideLimit, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// member gives the worker, waiting for the join for a while. When the time is up it says that nobody has joined yet:
// also when it is the context's, which often ends at the same moment.
func (d *mcpDesk) member(ctx context.Context) (*client.Worker, error) {
	timer := time.NewTimer(d.callLimit())
	defer timer.Stop()
	select {
	case <-d.settled:
	case <-ctx.Done():
		if err := ctx.Err(); err != context.DeadlineExceeded {
			return nil, err
		}
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
		return nil, mcpAdvicef("%s has not joined its room yet: %s. vigil goes on trying; "+
			"call this again in half a minute, and tell a human when it stays so.", d.life.Agent, why)
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
		why = fmt.Sprintf("life %s of %s is over, and a newer one works in its place or will",
			client.FormatIncarnation(d.life.Incarnation), d.life.Agent)
	case errors.Is(d.over, client.ErrStopped):
		why = fmt.Sprintf("a human has stopped %s", d.life.Agent)
	case errors.Is(d.over, client.ErrNotFound):
		why = fmt.Sprintf("there is no agent %s any more", d.life.Agent)
	case errors.Is(d.over, client.ErrDenied):
		why = fmt.Sprintf("the token is not that of life %s of %s; "+
			"this was started in the environment of another agent",
			client.FormatIncarnation(d.life.Incarnation), d.life.Agent)
	}
	return mcpAdvicef("STOP: %s. Nothing that you do or say counts any more. "+
		"Leave files as they are, call no more of these tools, and end the session.", why)
}

// take makes job the one that is held.
func (d *mcpDesk) take(job *client.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.job, d.came = job, nil
	d.keep(job)
}

// drop forgets a task, unless another is held by now; it tells whether it did.
func (d *mcpDesk) drop(job *client.Job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job != job {
		return false
	}
	d.job = nil
	d.keep(nil)
	return true
}

// finished forgets a task about which the last word was said, and notes for commands of this life that it was.
func (d *mcpDesk) finished(job *client.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life.NoteEnded(job.Task.GetId(), job.Attempt)
	if d.job == job {
		d.job = nil
	}
	d.keep(d.job)
}

// held gives the task that this life holds; also one that a command or an earlier run
// of this program has claimed. A result (ends) is worth saying even when the lease has
// ended meanwhile: it counts while nobody else has taken the task up.
func (d *mcpDesk) held(ctx context.Context, ends bool) (*client.Job, error) {
	w, err := d.member(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job != nil {
		switch cause := context.Cause(job.Context()); {
		case cause == nil, ends && errors.Is(cause, client.ErrRejoin):
			return job, nil
		case !errors.Is(cause, client.ErrClosed):
			return nil, d.dropped(job, cause.Error())
		}
		d.drop(job) // another call has said its last word
	}
	answer, err := d.conn.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: w.Agent()})
	if err != nil {
		return nil, d.judge(ctx, nil, err)
	}
	if job = d.holds(w, answer); job == nil {
		return nil, mcpAdvicef("No task is held.%s", d.then(" Call wait_for_task to get one."))
	}
	return job, nil
}

// holds takes up the task that the cluster says this life holds; nil: none, or none that is left to do.
func (d *mcpDesk) holds(w *client.Worker, answer *vigilv1.GetAgentResponse) *client.Job {
	g, task := answer.GetAgent(), answer.GetTask()
	if g.GetTask() == 0 || g.GetTask() != task.GetId() || g.GetIncarnationRaw() != w.Incarnation() {
		return nil
	}
	if client.IsSpooled(d.Getenv(client.EnvSpool), task.GetId(), task.GetAttempt()) {
		return nil // its result is left with agentd
	}
	if d.only.Task != 0 && !d.only.Is(task.GetId(), task.GetAttempt()) {
		return nil // the business of another session
	}
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job == nil || job.Context().Err() != nil || job.Task.GetId() != task.GetId() ||
		job.Attempt != task.GetAttempt() {
		job = w.Resume(task, task.GetAttempt())
		d.take(job)
	}
	return job
}

// then says what a model does when it holds no task: take one as these words say, or stop.
func (d *mcpDesk) then(take string) string {
	if d.only.Task == 0 {
		return take
	}
	return fmt.Sprintf(" This session is for task %d only, and that is over: stop here. vigil gives the next task to a "+
		"new session.", d.only.Task)
}

// dropped forgets a task that is no longer ours and says so.
func (d *mcpDesk) dropped(job *client.Job, why string) error {
	if d.drop(job) {
		d.log.Warn("the task is no longer held", about(job)...)
	}
	return mcpAdvicef("DROP THIS WORK: attempt %d at task %d is no longer yours: %s. Leave it as it is.%s",
		job.Attempt, job.Task.GetId(), strings.TrimRight(why, "."), d.then(" Call wait_for_task for the next task."))
}

// judge turns the error of a call into one that says what to do next. The job is what
// was spoken about, nil when the word was about the agent.
func (d *mcpDesk) judge(ctx context.Context, job *client.Job, err error) error {
	if errors.As(err, new(mcpAdvice)) {
		return err
	}
	d.log.Info("a call was refused", "error", cli.ErrorName(err))
	if over := d.ended(); over != nil {
		return over
	}
	switch {
	case errors.Is(err, client.ErrSuperseded), errors.Is(err, client.ErrRejoin),
		errors.Is(err, client.ErrStopped), errors.Is(err, client.ErrDenied):
		if over := d.probe(ctx); over != nil {
			return over
		}
		if job != nil {
			return d.dropped(job, err.Error())
		}
		return mcpAdvicef("The lease of %s had ended; it is in its room again. "+
			"Call my_status to see what it holds, then go on.", d.life.Agent)
	case job != nil && errors.Is(err, client.ErrLate):
		return d.dropped(job, err.Error())
	case agent.Unheard(err):
		return notHeard(err)
	case unchanged(err):
		return mcpAdvicef("Nothing was changed: %s. Correct the call and make it again.",
			strings.TrimRight(err.Error(), "."))
	}
	return mcpAdvicef("This failed: %s. Call my_status to see where you stand.", strings.TrimRight(err.Error(), "."))
}

// unchanged tells whether the refusal is about what was said, and proves that nothing
// was done.
func unchanged(err error) bool {
	for _, e := range []error{client.ErrInvalid, client.ErrNotFound, client.ErrConflict, client.ErrTooLarge,
		client.ErrNoAddressee, client.ErrAgentOff, client.ErrMailboxFull, client.ErrFull, client.ErrOldServers} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
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
	if over := d.ended(); over != nil || err == nil || !agent.Unheard(err) {
		return over
	}
	return notHeard(err)
}

// notHeard says that nobody has answered.
func notHeard(err error) error {
	return mcpAdvicef("No server has answered, so it is not known whether this was done (%s). "+
		"Nothing is lost and saying it again is safe: call this again in half a minute.",
		strings.TrimRight(err.Error(), "."))
}

// news says what has happened to this life, its task and its mailbox behind the model's
// back; "": nothing.
func (d *mcpDesk) news(ctx context.Context) string {
	if over := d.ended(); over != nil {
		return over.Error()
	}
	// What the model has not asked must not keep it from the answer that it waits for.
	ctx, cancel := context.WithTimeout(ctx, d.callLimit()/5)
	defer cancel()
	defer context.AfterFunc(d.gone, cancel)() // nobody reads it any more
	return strings.TrimSpace(d.taskNews(ctx) + " " + d.mailNews(ctx))
}

func (d *mcpDesk) taskNews(ctx context.Context) string {
	d.mu.Lock()
	job := d.job
	d.mu.Unlock()
	if job == nil {
		return ""
	}
	if cause := context.Cause(job.Context()); errors.Is(cause, client.ErrClosed) {
		return "" // another call has just said its last word
	} else if cause != nil {
		return d.dropped(job, cause.Error()).Error()
	}
	task, err := d.conn.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: job.Task.GetId(), Stale: true})
	held := task.GetState() == vigilv1.TaskState_ACKNOWLEDGED || task.GetState() == vigilv1.TaskState_IN_PROGRESS
	// A follower may be behind the claim: only a later state counts.
	if err != nil || task.GetAttempt() < job.Attempt || task.GetAttempt() == job.Attempt && held {
		return ""
	}
	return d.dropped(job, "it is "+term.StateText(task.GetState())).Error()
}

// leaveBehind leaves a result that no server has taken with agentd, where the agent has
// one; it tells whether it did.
func (d *mcpDesk) leaveBehind(job *client.Job, result string) bool {
	spool := d.Getenv(client.EnvSpool)
	if spool == "" || d.life.Token == "" {
		return false
	}
	one := client.Spooled{Agent: d.life.Agent, Incarnation: d.life.Incarnation, Task: job.Task.GetId(),
		Attempt: job.Attempt, Result: result, Token: d.life.Token, Traceparent: job.Traceparent()}
	err := one.Put(spool, d.Now())
	if err != nil {
		d.log.Warn("the result cannot be left with agentd", append(about(job), "error", err)...)
	}
	return err == nil
}

// giveUp notes a failure that no server has heard, for commands of this life that speak about the attempt next.
func (d *mcpDesk) giveUp(job *client.Job, f *client.Failure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := life.GiveUp(d.App, d.life, life.Failure{Reason: f.Reason, Retryable: f.Retryable,
		Attempt: life.Attempt{Task: job.Task.GetId(), Attempt: job.Attempt}})
	if err != nil {
		d.log.Warn("commands beside this one will not know that the task is given up", append(about(job), "error", err)...)
	}
}
