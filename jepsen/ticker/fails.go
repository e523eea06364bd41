package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/depend"
	"vigil/rpc/client"
)

// fails gives a task back when that is its behaviour, or when what the role depends on is down,
// and tells whether it did. An outage may also end the life.
func (a *agent) fails(ctx context.Context, does behaviour, job *client.Job) (bool, error) {
	words, err := depend.Words(a.folder, a.cfg.Agent)
	if err != nil {
		return false, err
	}
	if words != "" {
		down, err := behaviour{}.also(words)
		if err != nil {
			return false, err
		}
		down.crashFrom(ctx)
		does.fail, does.after = max(does.fail, down.fail), max(does.after, down.after)
	}
	if job.Attempt > does.fail {
		return false, nil
	}
	return true, a.giveBack(ctx, job, does.after)
}

// giveBack notes in the ledger fail, or fail=2s when it has said how long to wait.
func (a *agent) giveBack(ctx context.Context, job *client.Job, after time.Duration) error {
	const reason = "what it depends on is down"
	sent, what := ledger.Now(), "fail"
	var err error
	if after > 0 {
		what += "=" + after.String()
		err = job.FailUntil(ctx, reason, after)
	}
	if after == 0 || errors.Is(err, client.ErrUnimplemented) { // older servers do not know a wait
		what = "fail"
		err = job.Fail(ctx, reason, true)
	}
	switch {
	case err == nil:
		return a.book.Said(sent, what, job.Task.GetId(), job.Attempt)
	case over(err):
		return nil
	default:
		return fmt.Errorf("fail: %w", err)
	}
}
