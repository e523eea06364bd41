package agent

import (
	"context"
	"errors"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// leaveBehind leaves a completion that no server has taken with agentd, where the
// agent has one; err is why it was not taken. In every other case it gives err back.
func (w *word) leaveBehind(result string, err error) error {
	spool := w.Getenv(client.EnvSpool)
	if spool == "" || !Unheard(err) {
		return err
	}
	l, e := w.about()
	if e != nil || l.Token == "" {
		return err // it is not the agent that agentd has started
	}
	if l.Task == 0 || l.Attempt == 0 {
		return err // only a server could tell which task it holds
	}
	if w.givenUp(l) != nil {
		return err // what was to be said is no result
	}
	c := client.Spooled{Agent: l.Agent, Incarnation: l.Incarnation, Task: l.Task, Attempt: l.Attempt,
		Result: result, Token: l.Token, Traceparent: l.Traceparent}
	if e := c.Put(spool, w.Now()); e != nil {
		return errors.Join(err, e)
	}
	w.finished(l, true)
	return w.Done(map[string]any{"task": l.Task, "attempt": l.Attempt, "state": "SPOOLED"},
		"no server answers: the result of task %d is left with agentd, which delivers it", l.Task)
}

// Unheard tells whether an error leaves open what the cluster thinks, also where a signal has ended the call.
func Unheard(err error) bool {
	if errors.Is(err, client.ErrCanceled) || errors.Is(err, context.Canceled) {
		return true
	}
	switch cli.ExitCode(err) {
	case cli.ExitNoLeader:
		return true
	case cli.ExitTimeout:
		return !errors.Is(err, client.ErrNoTask)
	}
	return false
}
