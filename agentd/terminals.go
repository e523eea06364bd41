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

// terminals is the part that knows what this host can do about terminals; without them it
// works degraded: by mail and restarts only.
type terminals struct {
	base
	member *membership

	known     bool
	tool, why string
	due       time.Duration
	looking   bool
	told      bool
	telling   bool
	again     time.Duration // not told before this
}

// look looks when that is due, tells the cluster of a change, and says when to look again.
func (t *terminals) look(now time.Duration) time.Duration {
	if !t.looking && now >= t.due {
		t.looking = true
		t.spawn(func() {
			tool, err := t.config.Terminals()
			t.send(func() {
				t.looking, t.due = false, t.config.Clock()+lookForTerminals
				t.found(tool, err)
			})
		})
	}
	if t.known && !t.told && !t.telling && t.member.registered && now >= t.again {
		t.tell(now)
	}
	return longestNap
}

func (t *terminals) found(tool string, err error) {
	why := ""
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
	if needed := len(t.offers.get().WithTerminal()) > 0; tool == "" && needed {
		t.log.Warn("no terminals: no tmux: nothing can be typed to agents that are started now, nor seen of "+
			"them; mail and restarts only", "why", why)
	} else if t.known {
		t.log.Info("what makes terminals on this host has changed", "tool", tool, "was", t.tool)
	}
	t.known, t.tool, t.why, t.told = true, tool, why, false
}

func (t *terminals) tell(now time.Duration) {
	offered := t.offers.get()
	request := &vigilv1.ReportTerminalsRequest{Host: t.member.host, Boot: t.boot, Tool: t.tool,
		Why:     clip(t.why, maxReason),
		Runners: offered.WithTerminal(), Watched: offered.Watched()}
	t.telling, t.again = true, now+screenGap
	t.spawn(func() {
		ctx, cancel := context.WithTimeout(t.ctx, attemptLimit)
		defer cancel()
		_, err := t.host.ReportTerminals(ctx, request)
		t.send(func() {
			t.telling = false
			t.told = err == nil && t.tool == request.GetTool() && clip(t.why, maxReason) == request.GetWhy() &&
				offered == t.offers.get()
		})
	})
}
