package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// When a job is looked at: no beat tells that a human has canceled its task.
const (
	lookAfter = 2 * time.Second // of a job
	lookEvery = 5 * time.Second
	lookLimit = 2 * time.Second // for the answer
)

// watch ends the job when its task is no longer this life's, until ctx ends. Who may not look is told with the next
// word of the job.
func (j *Job) watch(ctx context.Context) {
	timer := time.NewTimer(lookAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		held, err := j.w.holds(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, ErrDenied), errors.Is(err, ErrUnimplemented):
			return
		case err == nil && held != j.Task.GetId():
			j.finished(fmt.Errorf("task %d was canceled, or given to somebody else: %w", j.Task.GetId(), ErrSuperseded))
			return
		}
		timer.Reset(lookEvery)
	}
}

// holds gives the task that the agent holds, 0 when there is none.
func (w *Worker) holds(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	answer, err := vigilv1.NewFleetClient(w.client).GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: w.Agent()})
	if err == nil && answer.GetAgent() == nil {
		err = ErrUnimplemented
	}
	return answer.GetAgent().GetTask(), err
}
