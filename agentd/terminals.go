package agentd

import (
	"context"
	"errors"
	"time"

	"vigil/agentd/tmux"
	"vigil/rpc/gen/vigilv1"
)

// lookForTerminals is the time between two looks for what makes terminals.
const lookForTerminals = 10 * time.Second

// terminals is what this host can do about terminals; without them it works degraded: by mail and restarts only.
type terminals struct {
	known     bool
	tool, why string
	due       time.Duration
	looking   bool
	told      bool
	telling   bool
	again     time.Duration // not told before this
}

// lookForTmux looks when that is due, tells the cluster of a change, and says when to look again.
func (k *keeper) lookForTmux(now time.Duration) time.Duration {
	t := &k.terminals
	if !t.looking && now >= t.due {
		t.looking = true
		k.spawn(func() {
			tool, err := k.config.Terminals()
			k.send(func() {
				t.looking, t.due = false, k.config.Clock()+lookForTerminals
				k.foundTerminals(tool, err)
			})
		})
	}
	if t.known && !t.told && !t.telling && k.entry.registered && now >= t.again {
		k.tellTerminals(now)
	}
	return longestNap
}

func (k *keeper) foundTerminals(tool string, err error) {
	t, why := &k.terminals, ""
	switch {
	case errors.Is(err, tmux.ErrMissing):
		why = "no tmux"
	case err != nil:
		why = err.Error()
	}
	if why != "" {
		tool = ""
	}
	if t.known && t.tool == tool && t.why == why {
		return
	}
	if needed := len(k.runners.WithTerminal()) > 0; tool == "" && needed {
		k.log.Warn("degraded: no tmux: nothing can be typed to agents that are started now, nor seen of "+
			"them; mail and restarts only", "why", why)
	} else if t.known {
		k.log.Info("what makes terminals on this host has changed", "tool", tool, "was", t.tool)
	}
	t.known, t.tool, t.why, t.told = true, tool, why, false
}

func (k *keeper) tellTerminals(now time.Duration) {
	t := &k.terminals
	request := &vigilv1.ReportTerminalsRequest{Host: k.entry.host, Boot: k.boot, Tool: t.tool, Why: clip(t.why, maxReason),
		Runners: k.runners.WithTerminal(), Watched: k.runners.Watched()}
	t.telling, t.again = true, now+screenGap
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, attemptLimit)
		defer cancel()
		_, err := k.host.ReportTerminals(ctx, request)
		k.send(func() {
			t.telling = false
			t.told = err == nil && t.tool == request.GetTool() && clip(t.why, maxReason) == request.GetWhy()
		})
	})
}
