package rpc

import (
	"cmp"
	"context"
	"sync"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

const (
	// nudgeLimit bounds a nudge, whose caller may be gone long before: the write, then the
	// host.
	nudgeLimit = door.DefaultDeadline + terminalLimit
	// nudgesKept is how many nudges that have ended are remembered for callers that repeat
	// them. Who repeats an older one is told that nobody knows what became of it.
	nudgesKept = 1024
)

// nudgeText is typed when nobody says what. It asks for words that the agent has, so that
// the answer is seen.
const nudgeText = "How are you getting on? Go on with your task; if you wait for something, say so with " +
	"`vigil declare`, and if you cannot go on, with `vigil fail`."

// NudgeAgent types a line into the terminal of the agent's present life, after an event
// about it was written. What vigil itself would say is not typed at a permission prompt.
// A repeat under the same write id waits for the first one, types nothing and gets the
// first one's answer; where that is lost with its server, conflict says so.
func (f *fleet) NudgeAgent(ctx context.Context, r *vigilv1.NudgeAgentRequest) (*vigilv1.Agent, error) {
	key := nudgeKey{r.GetId().GetSession(), r.GetId().GetSeq()}
	if key.session == 0 || key.seq == 0 { // nobody can repeat it
		return f.nudge(ctx, r, &nudge{})
	}
	for {
		n, mine := f.nudges.begin(key)
		if mine {
			g, err := f.nudge(ctx, r, n)
			f.nudges.end(key, n, g, err)
			return g, err
		}
		select {
		case <-n.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if n.final {
			return n.agent, n.err
		}
	}
}

// nudge writes the event unless n says that it was written, and types. It goes on without its
// caller: a line that is half on its way is worse than one that nobody waits for.
func (f *fleet) nudge(ctx context.Context, r *vigilv1.NudgeAgentRequest, n *nudge) (*vigilv1.Agent, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nudgeLimit)
	defer cancel()
	repeated := false
	g, err := write(ctx, f.core, r, noteNudgeCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Agent {
		repeated = out.Repeated()
		return agentAnswer(r.GetAgent())(st, out)
	})
	if err != nil {
		return nil, err
	}
	if repeated && !n.noted {
		return nil, doubt("it was asked for before under this write id, through a server that no longer leads")
	}
	n.noted = true
	_, err = f.logs.terminal(ctx, r.GetAgent(),
		&vigilv1.AtTerminalRequest{Text: cmp.Or(r.GetText(), nudgeText), SparePrompt: r.GetText() == ""})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// doubt is the error when a host may have typed something, or not. It is no error that
// callers repeat by themselves.
func doubt(why string) *fault.Error {
	return fault.New(code.Conflict,
		"The text may have been typed or not: %s. Look at the terminal with `vigil agent screen` before "+
			"you type it again.", why)
}

// nudgeKey is the write id of a nudge.
type nudgeKey struct{ session, seq uint64 }

// nudge is one that runs or has run on this server. Only who begins it writes to it, until
// done is closed.
type nudge struct {
	done  chan struct{}
	noted bool // its event was written by this server, and nothing typed but by it
	kept  bool // its key is in the order of nudges

	final bool // this is the answer for ever; else whoever comes next goes on with it
	agent *vigilv1.Agent
	err   error
}

// nudges remembers them by write id, since what happens at a terminal is in no log.
// The zero value is ready. Safe for concurrent use.
type nudges struct {
	mu    sync.Mutex
	byKey map[nudgeKey]*nudge
	order []nudgeKey // whose event is written, oldest first
}

// begin gives the nudge with this write id; mine says that the caller is to do it now.
func (l *nudges) begin(key nudgeKey) (n *nudge, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byKey[key]
	if before != nil {
		select {
		case <-before.done:
			if before.final {
				return before, false
			}
		default:
			return before, false
		}
	}
	n = &nudge{done: make(chan struct{})}
	if before != nil {
		n.noted, n.kept = before.noted, before.kept
	}
	if l.byKey == nil {
		l.byKey = map[nudgeKey]*nudge{}
	}
	l.byKey[key] = n
	return n, true
}

// end tells everybody who waits what became of the nudge, and keeps it when its event is
// written. While its host could not be reached nothing was typed, so the next one tries
// again.
func (l *nudges) end(key nudgeKey, n *nudge, g *vigilv1.Agent, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.agent, n.err, n.final = g, err, n.noted && (err == nil || fault.Of(err).Code == code.Conflict)
	close(n.done)
	switch {
	case !n.noted:
		delete(l.byKey, key)
		return
	case !n.kept:
		n.kept = true
		l.order = append(l.order, key)
	}
	if len(l.order) > nudgesKept {
		delete(l.byKey, l.order[0])
		l.order = l.order[1:]
	}
}
