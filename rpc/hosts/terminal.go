package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// LookAtAgent shows what is on the terminal of the agent's present life.
func (d *Desk) LookAtAgent(ctx context.Context, r *vigilv1.LookAtAgentRequest) (*vigilv1.Screen, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	if r.GetLines() > form.MaxLogLines {
		c.Fail("lines is %d; at most %d are allowed.", r.GetLines(), form.MaxLogLines)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return d.relay.terminal(ctx, r.GetAgent(), &vigilv1.AtTerminalRequest{Look: true, Lines: r.GetLines()})
}

// AtTerminal is asked by a server whose host is connected here.
func (d *Desk) AtTerminal(ctx context.Context, r *vigilv1.AtTerminalRequest) (*vigilv1.Screen, error) {
	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderRelayed)) == 0 {
		return nil, fault.Invalid("AtTerminal is for servers among themselves; ask for LookAtAgent or NudgeAgent.")
	}
	var c form.Checks
	c.Typed("text", r.GetText())
	c.AtMost("keys", len(r.GetKeys()), maxKeys)
	c.Line("if_dialog", r.GetIfDialog(), maxDialog)
	if (r.GetColumns() != 0 || r.GetRows() != 0) && !fits(r.GetColumns(), r.GetRows()) {
		c.Fail("columns and rows are no size of a terminal.")
	}
	if c.Err != nil {
		return nil, c.Err
	}
	s := d.relay.streams.find(noun.HostID(r.GetHost()))
	if s == nil {
		return nil, fault.New(code.Unavailable, "The host is connected to another server.")
	}
	return s.atTerminal(ctx, r)
}

// taken tells whether a human has the terminal of the agent.
func (d *Desk) taken(agent string) bool {
	return base.Read(d.Core, func(st *fsm.View) bool {
		a := st.AgentByName(agent)
		return a != nil && a.Typist() != nil
	})
}

// Prod does at the terminal of one life what a rung of the ladder is: a nudge is typed, the
// Enter or the interrupt key is pressed. The error says why nobody can have noticed; it takes
// terminalLimit at most. Safe for concurrent use.
func (d *Desk) Prod(ctx context.Context, agent string, inc noun.Incarnation, rung noun.Rung) error {
	ask := &vigilv1.AtTerminalRequest{SparePrompt: true}
	switch rung {
	case noun.RungNudge:
		ask.Text = nudgeText
	case noun.RungWake:
		ask.Key = "enter"
	case noun.RungInterrupt:
		ask.Key = "interrupt"
	default:
		return fmt.Errorf("rung %s is nothing at a terminal", rung)
	}
	ctx, cancel := context.WithTimeout(ctx, terminalLimit)
	defer cancel()
	host, err := d.relay.life(agent, ask)
	switch {
	case err != nil:
		return err
	case ask.GetIncarnation() != uint64(inc): // law L6
		return fmt.Errorf("incarnation %s of %s has ended", inc, agent)
	}
	if d.taken(agent) {
		return errors.New("a human types at the terminal")
	}
	if _, err = d.relay.atHost(ctx, host, ask); err != nil {
		p := fault.Of(err) // for people, whichever server has said it
		return errors.New(cmp.Or(p.Text, p.Code))
	}
	return nil
}
