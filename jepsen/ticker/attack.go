package main

import (
	"context"
	"os"

	"vigil/jepsen/hostile"
	"vigil/rpc/client"
)

// attack does what a task asks a hostile agent for, and gives what the task gets as its result.
func (a *agent) attack(ctx context.Context, name string, on hostile.Victim, job *client.Job) (string, error) {
	self := hostile.Self{Socket: os.Getenv(client.EnvSocket), Agent: a.cfg.Agent, ID: a.worker.ID(),
		Incarnation: a.cfg.Incarnation, Token: a.cfg.Token, Task: job.Task.GetId(), Victim: on}
	tally, err := self.Attack(ctx, name)
	if err != nil {
		return "", err
	}
	return tally.Write()
}
