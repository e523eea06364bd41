package hosts

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

const (
	// maxKeys is the most that one call types, in bytes.
	maxKeys = 4 << 10
	// keepEvery is the least time between two notes that keys still come.
	keepEvery = 2 * time.Second
	// keepLimit bounds such a note.
	keepLimit = 10 * time.Second

	// The least and the most that a terminal is resized to.
	minColumns, maxColumns = 20, 500
	minRows, maxRows       = 5, 200
)

func fits(columns, rows uint32) bool {
	return columns >= minColumns && columns <= maxColumns && rows >= minRows && rows <= maxRows
}

// TakeTerminal gives the caller the terminal of an agent's present life. The log holds who has it, and from
// then on nobody else types there.
func (d *Desk) TakeTerminal(
	ctx context.Context, r *vigilv1.TakeTerminalRequest,
) (*vigilv1.TakeTerminalResponse, error) {
	resp, err := base.Write(ctx, d.Core, r, takeTerminalCmd,
		func(st *fsm.View, _ *noun.Outcome) *vigilv1.TakeTerminalResponse {
			a := st.AgentByName(r.GetAgent())
			if a == nil || a.Typist() == nil || a.Typist().By != r.GetBy() { // a late repeat
				return nil
			}
			return &vigilv1.TakeTerminalResponse{Grant: a.Typist().Grant, Span: durationpb.New(noun.TypistSpan),
				Agent: form.Agent(st, a)}
		})
	if err == nil && resp == nil {
		err = fault.New(code.Conflict, "The terminal was taken, and that is over already; take it again.")
	}
	return resp, err
}

func takeTerminalCmd(r *vigilv1.TakeTerminalRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.TakeTerminal{Agent: r.GetAgent(), By: r.GetBy(), IfRev: r.GetIfRev()}, c.Err
}

// ReleaseTerminal ends a turn at a terminal. That it is over is no error.
func (d *Desk) ReleaseTerminal(ctx context.Context, r *vigilv1.ReleaseTerminalRequest) (*vigilv1.Agent, error) {
	over := &vigilv1.AtTerminalRequest{Over: true}
	var host string
	d.Reader.Read(func(st *fsm.View) {
		a := st.AgentByName(r.GetAgent())
		if a == nil || a.Typist() == nil || r.GetGrant() != 0 && r.GetGrant() != a.Typist().Grant {
			return
		}
		if h := st.Host(a.Host); h != nil {
			host, over.Host, over.Agent, over.Incarnation = h.Name, uint32(h.ID), uint32(a.ID), uint64(a.Inc)
			over.Grant = a.Typist().Grant
		}
	})
	resp, err := base.Write(ctx, d.Core, r, releaseTerminalCmd, form.AgentAnswer(r.GetAgent()))
	if err == nil && host != "" {
		go func() { // nobody waits for it: a host that does not hear of it finds out a minute after the last key
			ctx, cancel := context.WithTimeout(context.Background(), terminalLimit)
			defer cancel()
			_, _ = d.relay.atHost(ctx, host, over)
		}()
	}
	return resp, err
}

func releaseTerminalCmd(r *vigilv1.ReleaseTerminalRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.ReleaseTerminal{Agent: r.GetAgent(), Grant: r.GetGrant(), By: r.GetBy()}, c.Err
}

// TypeKeys types for whoever has the terminal. It is carried out by the leader, whose state says who that is;
// the host counts the calls of a turn and takes none twice, so a call may be repeated. Neither the keys nor
// anything made of them, such as the digest of an audit, is written anywhere.
func (d *Desk) TypeKeys(ctx context.Context, r *vigilv1.TypeKeysRequest) (*vigilv1.TypeKeysResponse, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	size := r.GetColumns() != 0 || r.GetRows() != 0
	switch n := len(r.GetKeys()); {
	case r.GetGrant() == 0 || r.GetSeq() == 0:
		c.Fail("grant or seq is missing; take the terminal, and number the calls of that turn from 1.")
	case n == 0 && !size || n > maxKeys:
		c.Fail("keys has %d bytes; send 1 to %d, or columns and rows.", n, maxKeys)
	case size && !fits(r.GetColumns(), r.GetRows()):
		c.Fail("columns is %d and rows is %d; send %d to %d and %d to %d, or neither.", r.GetColumns(), r.GetRows(),
			minColumns, maxColumns, minRows, maxRows)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	ask := &vigilv1.AtTerminalRequest{Keys: r.GetKeys(), Grant: r.GetGrant(), Seq: r.GetSeq(),
		Columns: r.GetColumns(), Rows: r.GetRows()}
	var host string
	keep, err := false, error(nil)
	d.Reader.Read(func(st *fsm.View) {
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			err = base.NoAgent(st, r.GetAgent())
			return
		}
		t, h := a.Typist(), st.Host(a.Host)
		if t == nil || t.Grant != r.GetGrant() || t.By != r.GetBy() || h == nil {
			err = fault.New(code.Superseded, "This turn at the terminal of %s is over; take it again.", a.Name)
			return
		}
		keep = t.Until.Sub(st.Clock()) < noun.TypistSpan-keepEvery
		host, ask.Host, ask.Agent, ask.Incarnation = h.Name, uint32(h.ID), uint32(a.ID), uint64(a.Inc)
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, terminalLimit)
	defer cancel()
	if _, err := d.relay.atHost(ctx, host, ask); err != nil {
		if p := fault.Of(err); p.Code == code.Unavailable { // trying again for long would type it when nobody expects it
			err = fault.New(code.Conflict, "Nothing was typed: %s", p.Text)
		}
		return nil, err
	}
	if keep {
		d.keeps.keep(d.Core, noun.AgentID(ask.GetAgent()), r.GetGrant())
	}
	return &vigilv1.TypeKeysResponse{}, nil
}

// keeps are the notes under way that keys still come, one at a time for an agent. The zero value is ready.
// Safe for concurrent use.
type keeps struct {
	mu   sync.Mutex
	busy map[noun.AgentID]bool
}

// keep notes it, beside the call: whoever types does not wait for the log.
func (k *keeps) keep(core *base.Core, agent noun.AgentID, grant uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[agent] {
		return
	}
	if k.busy == nil {
		k.busy = map[noun.AgentID]bool{}
	}
	k.busy[agent] = true
	go func() {
		// Not the call's context: its audit would hold a digest of the keys.
		ctx, cancel := context.WithTimeout(context.Background(), keepLimit)
		defer cancel()
		_, _ = core.Submit(ctx, nil, fsm.KeepTerminal{Agent: agent, Grant: grant}) // the next key tries again
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.busy, agent)
	}()
}
