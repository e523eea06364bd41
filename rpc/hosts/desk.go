package hosts

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Desk serves what people and their tools ask about hosts and what runs on them: their part of the calls of
// Fleet. Safe for concurrent use.
type Desk struct {
	*base.Core
	relay  *relay
	nudges nudges
	keeps  keeps
}

// NewDesk serves from the streams that hosts hold to this server.
func NewDesk(c *base.Core, streams *Streams) *Desk {
	return &Desk{Core: c, relay: &relay{c, streams}}
}

// GetHost shows one host.
func (d *Desk) GetHost(_ context.Context, r *vigilv1.GetHostRequest) (*vigilv1.Host, error) {
	var c form.Checks
	c.Line("host", r.GetHost(), form.MaxWho)
	if c.Present("host", r.GetHost(), "give its name or number"); c.Err != nil {
		return nil, c.Err
	}
	var out *vigilv1.Host
	err := base.Read(d.Core, func(st *fsm.View) error {
		h, err := base.FindHost(st, r.GetHost())
		if h != nil {
			out = form.Host(st, h)
		}
		return err
	})
	if err == nil && out == nil {
		err = base.NoHost(r.GetHost())
	}
	return out, err
}

// ListHosts pages through the hosts by number.
func (d *Desk) ListHosts(_ context.Context, r *vigilv1.ListHostsRequest) (*vigilv1.ListHostsResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), form.MaxPage)
	if c.Err != nil {
		return nil, c.Err
	}
	return base.Read(d.Core, func(st *fsm.View) *vigilv1.ListHostsResponse {
		resp := &vigilv1.ListHostsResponse{}
		for h := range st.Hosts() {
			if uint32(h.ID) <= r.GetAfter() {
				continue
			}
			if len(resp.Hosts) == limit {
				resp.More, resp.Next = true, resp.Hosts[limit-1].GetId()
				break
			}
			resp.Hosts = append(resp.Hosts, form.Host(st, h))
		}
		return resp
	}), nil
}

// DrainHost has nothing run on a host, or ends that wish (law L9).
func (d *Desk) DrainHost(ctx context.Context, r *vigilv1.DrainHostRequest) (*vigilv1.Host, error) {
	return writeHost(ctx, d.Core, r, drainHostCmd, hostAnswer)
}

// ConfirmDead takes a human's word that nothing of a host runs any more: its lives
// are over at once. It is outside law L7 by that human's choice.
func (d *Desk) ConfirmDead(ctx context.Context, r *vigilv1.ConfirmDeadRequest) (*vigilv1.Host, error) {
	return writeHost(ctx, d.Core, r, confirmDeadCmd, hostAnswer)
}

// ForgetHost removes a lost or left host on which no life is left.
func (d *Desk) ForgetHost(ctx context.Context, r *vigilv1.ForgetHostRequest) (*vigilv1.ForgetHostResponse, error) {
	return writeHost(ctx, d.Core, r, forgetHostCmd, func(*fsm.View, noun.HostID) *vigilv1.ForgetHostResponse {
		return &vigilv1.ForgetHostResponse{}
	})
}

func hostAnswer(st *fsm.View, id noun.HostID) *vigilv1.Host {
	if h := st.Host(id); h != nil {
		return form.Host(st, h)
	}
	return &vigilv1.Host{Id: uint32(id)}
}

// writeHost is write for a word about one host, which it looks up first. A repeat
// finds no host when the first one was heard and the host was forgotten since; it
// gets the answer that its session has kept.
func writeHost[Req hostWord, Resp any](ctx context.Context, c *base.Core, r Req,
	build func(Req, noun.HostID) (fsm.Command, error), answer func(*fsm.View, noun.HostID) *Resp,
) (*Resp, error) {
	var id noun.HostID
	err := base.Read(c, func(st *fsm.View) error {
		h, err := base.FindHost(st, r.GetHost())
		if h != nil {
			id = h.ID
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cmd, err := build(r, id)
	if err != nil {
		return nil, err
	}
	if id == 0 && r.GetId().GetSession() == 0 {
		return nil, base.NoHost(r.GetHost())
	}
	if _, err := c.Submit(ctx, r.GetId(), cmd); err != nil {
		if id == 0 && fault.Of(err).Code == code.NotFound {
			err = base.NoHost(r.GetHost())
		}
		return nil, err
	}
	return base.Read(c, func(st *fsm.View) *Resp { return answer(st, id) }), nil
}
