package agentd

import (
	"context"
	"errors"
)

// Answers waits until the daemon's own loop, which does all work on orders and lives, takes a question.
// It gives an error when the loop does not run yet or has ended, and that of ctx. It may be called at
// any time, by anybody.
func (a *Agentd) Answers(ctx context.Context) error {
	l := a.loop.Load()
	if l == nil {
		return errors.New("agentd takes over its agents")
	}
	answer := make(chan struct{})
	select {
	case l.inbox <- func() { close(answer) }:
	case <-l.done:
		return errAgentdOver
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-answer:
		return nil
	case <-l.done:
		return errAgentdOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errAgentdOver = errors.New("agentd has ended")
