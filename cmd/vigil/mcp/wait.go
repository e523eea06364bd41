package mcp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/cmd/vigil/agent"
	"vigil/rpc/client"
)

type waitArgs struct {
	Seconds int  `json:"seconds"`
	Start   bool `json:"start"`
}

type waitAnswer struct {
	mcpSaid
	Task *mcpTask `json:"task,omitempty"` // nil: none came yet
}

func (a *waitAnswer) words() string {
	if a.Task == nil {
		return a.Message
	}
	return a.Message + "\n\n" + a.Task.words()
}

// waitForTask parks until there is a task, or for as long as the client may wait.
func (d *mcpDesk) waitForTask(ctx context.Context, call *mcp.CallToolRequest, in waitArgs) (waitAnswer, error) {
	w, err := d.member(ctx)
	if err != nil {
		return waitAnswer{}, err
	}
	bound := d.bound
	if in.Seconds > 0 {
		bound = time.Duration(in.Seconds) * time.Second
	}
	timed, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	look, stop := context.WithCancelCause(timed)
	defer context.AfterFunc(d.gone, cancel)()
	done, err := d.waitTurn(look, stop)
	if err != nil {
		return waitAnswer{}, err
	}
	defer done()
	defer stop(nil)
	go sayThatItWaits(look, call, bound)
	go d.breakForMail(look, stop)
	d.mu.Lock()
	before := d.job
	d.mu.Unlock()
	job, err := w.Wait(look)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return waitAnswer{}, ctx.Err() // nobody waits for the answer
	case d.gone.Err() != nil:
		return waitAnswer{}, context.Cause(d.gone)
	case context.Cause(look) == errNewerWait && d.ended() == nil:
		return waitAnswer{}, replaced
	case context.Cause(look) == errMailCame && d.ended() == nil:
		return waitAnswer{mcpSaid: saidf("No task came yet, but there is mail. " +
			"Call read_mail, deal with it, then call wait_for_task again.")}, nil
	case look.Err() != nil && agent.IsGone(err):
		return waitAnswer{mcpSaid: saidf("No server of vigil answers at the moment; nothing is lost. " +
			"Call wait_for_task again.")}, nil
	case look.Err() != nil && d.ended() == nil:
		return waitAnswer{mcpSaid: saidf("Nothing to do yet: no task came within %s. Call wait_for_task again.",
			bound)}, nil
	default:
		return waitAnswer{}, d.judge(ctx, nil, err)
	}
	// Also when the client has given up meanwhile: the next wait gives it again.
	d.take(job)
	again := before != nil && before.Task.GetId() == job.Task.GetId() && before.Attempt == job.Attempt
	if !again {
		d.log.Info("claimed a task", about(job)...)
	}
	return d.claimed(ctx, job, again, in.Start)
}

// claimed tells the model what it has got.
func (d *mcpDesk) claimed(ctx context.Context, job *client.Job, again, start bool) (waitAnswer, error) {
	out := waitAnswer{Task: newMCPTask(job.Task)}
	say := []string{"This task is yours now."}
	if again {
		say = []string{"You hold this task already."}
	}
	if job.Attempt > 1 {
		say = append(say, "An earlier attempt at it did not finish: look at what is there before you begin.")
	}
	next := "Call start_task, do what it says, call " + howToEnd
	if start {
		call, cancel := d.aside(ctx)
		defer cancel()
		if err := job.Start(call); err != nil {
			return waitAnswer{}, d.judge(call, job, err)
		}
		next = "It is started. Do what it says, call " + howToEnd
	}
	out.Message = strings.Join(append(say, next), " ") + taskIsQuoted
	return out, nil
}

// Why a call of wait_for_task ends before a task or its time has come.
var (
	errNewerWait = errors.New("a newer call waits")
	errMailCame  = errors.New("mail has come")
)

// replaced is the answer to a wait that a newer one has ended.
const replaced = mcpAdvice("Another call of wait_for_task has taken the place of this one; " +
	"its answer is the one that counts.")

// waitTurn makes this the one call that waits, until done is called. The newest call wins
// and ends the one before: a client that has given a call up does not always say so.
func (d *mcpDesk) waitTurn(ctx context.Context, stop context.CancelCauseFunc) (done func(), err error) {
	d.mu.Lock()
	d.waits++
	mine := d.waits
	if d.endWait != nil {
		d.endWait(errNewerWait)
	}
	d.mu.Unlock()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if mine != d.waits {
		<-d.turn
		return nil, replaced
	}
	d.endWait = stop
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.endWait = nil
		<-d.turn
	}, nil
}

// waitNotice is how often a client that wants to know is told that a wait goes on.
const waitNotice = 10 * time.Second

// sayThatItWaits keeps clients patient that count silence.
func sayThatItWaits(ctx context.Context, call *mcp.CallToolRequest, bound time.Duration) {
	token := call.Params.GetProgressToken()
	if token == nil {
		return
	}
	tick := time.NewTicker(waitNotice)
	defer tick.Stop()
	for waited := waitNotice; ; waited += waitNotice {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Whoever does not hear it has gone; the wait notices that by itself.
		_ = call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token,
			Message: "waiting for a task", Progress: waited.Seconds(), Total: bound.Seconds()})
	}
}
