package hosts

import (
	"cmp"
	"context"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

const (
	// nudgeLimit bounds a nudge, whose caller may be gone long before: the write, then the
	// host.
	nudgeLimit = door.DefaultDeadline + terminalLimit
	// nudgesKept is how many nudges that have ended are remembered for callers that repeat
	// them. Who repeats an older one is told that nobody knows what became of it.
	nudgesKept = 1024
	// maxDialog is the most bytes that a mark of a dialog has.
	maxDialog = 64
)

// nudgeText is typed when nobody says what. It asks for words that the agent has, so that
// the answer is seen.
const nudgeText = "How are you getting on? Go on with your task; if you wait for something, say so with " +
	"`vigil declare`, and if you cannot go on, with `vigil task fail`."

// NudgeAgent types a line into the terminal of the agent's present life, after an event
// about it was written. At a permission prompt nothing but an answer is typed.
// A repeat under the same write id waits for the first one, types nothing and gets the
// first one's answer; where that is lost with its server, conflict says so.
func (d *Desk) NudgeAgent(ctx context.Context, r *vigilv1.NudgeAgentRequest) (*vigilv1.Agent, error) {
	key := nudgeKey{r.GetId().GetSession(), r.GetId().GetSeq()}
	if key.session == 0 || key.seq == 0 { // nobody can repeat it
		return d.nudge(ctx, r, &nudge{})
	}
	for {
		n, mine := d.nudges.begin(key)
		if mine {
			g, err := d.nudge(ctx, r, n)
			d.nudges.end(key, n, g, err)
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
func (d *Desk) nudge(ctx context.Context, r *vigilv1.NudgeAgentRequest, n *nudge) (*vigilv1.Agent, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nudgeLimit)
	defer cancel()
	repeated := false
	g, err := base.Write(ctx, d.Core, r, noteNudgeCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Agent {
		repeated = out.Repeated()
		return form.AgentAnswer(r.GetAgent())(st, out)
	})
	if err != nil {
		return nil, err
	}
	if repeated && !n.noted {
		return nil, doubt("it was asked for before under this write id, through a server that no longer leads")
	}
	n.noted = true
	ask := &vigilv1.AtTerminalRequest{Text: cmp.Or(r.GetText(), nudgeText), SparePrompt: true}
	if r.GetAnswer() {
		ask = &vigilv1.AtTerminalRequest{Text: r.GetText(), IfDialog: r.GetIfDialog()}
		if r.GetText() == "" { // a prompt that asks for the Enter key alone
			ask.Key = "enter"
		}
	}
	_, err = d.relay.terminal(ctx, r.GetAgent(), ask)
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

func noteNudgeCmd(r *vigilv1.NudgeAgentRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Typed("text", r.GetText())
	if r.GetAnswer() && strings.ContainsAny(r.GetText(), "\n\t") {
		c.Fail("an answer is one line: it is typed key by key, and a line feed or a tab is a key that chooses.")
	}
	if c.Line("if_dialog", r.GetIfDialog(), maxDialog); r.GetIfDialog() != "" && !r.GetAnswer() {
		c.Fail("if_dialog is of an answer; leave it out, or set answer.")
	}
	c.Line("by", r.GetBy(), form.MaxWho)
	c.Text("reason", r.GetReason(), noun.MaxReason)
	return fsm.NoteNudge{Agent: r.GetAgent(), By: r.GetBy(), Reason: r.GetReason(),
		IfRev: r.GetIfRev()}, c.Err
}
