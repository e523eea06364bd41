package rpc

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// WaitMail parks until the agent has unread mail. Any server serves it from its own
// replica; one that seems to be behind asks the leader first.
func (m *mailbox) WaitMail(ctx context.Context, r *vigilv1.WaitMailRequest) (*vigilv1.WaitMailResponse, error) {
	var c form.Checks
	sp := c.Speaking(r.GetSpeaker(), false)
	limit := patience(&c, r.GetMaxWait())
	if c.Err != nil {
		return nil, c.Err
	}
	if _, no := m.unread(&sp); no.Code != noun.OK {
		if _, err := m.CatchUp(ctx); err != nil {
			return nil, err
		}
	}
	id := base.Read(m.Core, func(st *fsm.View) (id noun.AgentID) {
		if a := st.AgentByName(sp.Agent); a != nil {
			id = a.ID
		}
		return id
	})
	woken, leave := m.Park.Mail.Enter(id)
	defer leave()
	spell := m.Park.Begin(limit)
	defer spell.End()
	for {
		n, no := m.unread(&sp)
		switch {
		case no.Code != noun.OK:
			return nil, fault.Refusal(&no)
		case n > 0 || spell.Over():
			return &vigilv1.WaitMailResponse{Unread: uint32(n)}, nil
		}
		if _, err := spell.Rest(ctx, woken); err != nil {
			return nil, err
		}
	}
}

func (m *mailbox) unread(sp *fsm.Speaker) (n int, no noun.Outcome) {
	m.Reader.Read(func(st *fsm.View) { n, no = st.MailFor(sp) })
	return n, no
}
