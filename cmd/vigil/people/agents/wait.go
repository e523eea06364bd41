package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// lookEvery is how often the wait for an agent looks.
const lookEvery = 200 * time.Millisecond

// waitFlag has a verb about agents wait until it has come true.
func waitFlag(cmd *cobra.Command, wait *bool, until string) {
	cmd.Flags().BoolVar(wait, "wait", false, "wait until "+until)
}

// await waits until what a human asked of an agent has come true; was is the
// answer to the request. Somebody else's later word ends the wait with an error.
func await(ctx context.Context, a *cli.App, c *cli.Conn, verb string, was *vigilv1.Agent) (*vigilv1.Agent, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	defer a.ProgressEnd()
	for {
		answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: was.GetName()})
		if err != nil {
			return nil, err
		}
		g := answer.GetAgent()
		switch {
		case g.GetDesired() != was.GetDesired():
			return nil, fmt.Errorf("%s: somebody else wants it %s now; `vigil agent explain %s` says who",
				g.GetName(), g.GetDesired(), g.GetName())
		case cameTrue(verb, was, g):
			return g, nil
		case verb == "renew" && (g.GetParked() || g.GetStartFault() != ""):
			return nil, fmt.Errorf("%s does not start again: %s", g.GetName(), term.Tidy(g.GetWhy()))
		}
		state := fmt.Sprintf("%s: process %s, %s", g.GetName(), processText(g), term.Tidy(g.GetWhy()))
		a.Progress("%s", state)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", state, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// cameTrue tells whether a stop, start or restart is done: nothing of the agent runs
// or may run, or a life of it has joined, after a restart another one than before.
func cameTrue(verb string, was, g *vigilv1.Agent) bool {
	switch verb {
	case "stop":
		return (g.GetProcess() == "none" || g.GetProcess() == "lost") && g.GetParticipant() == "DISCONNECTED"
	case "restart":
		return g.GetIncarnationRaw() > was.GetIncarnationRaw() && joined(g)
	case "renew": // nothing starts one that waits for a task
		return g.GetIncarnationRaw() > was.GetIncarnationRaw() && joined(g) ||
			g.GetProcess() == "none" && g.GetWhyCode() == "no_task"
	}
	return joined(g)
}

func joined(g *vigilv1.Agent) bool {
	return g.GetProcess() == "running" && g.GetParticipant() != "DISCONNECTED"
}
