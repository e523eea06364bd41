package rpc

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// agentEvents is how many events GetAgent shows, eventsLooked how far back it looks.
const (
	agentEvents  = 20
	eventsLooked = 1000
	fitsShown    = 200
)

// GetAgent shows an agent with all that explains its state.
func (f *fleet) GetAgent(_ context.Context, r *vigilv1.GetAgentRequest) (*vigilv1.GetAgentResponse, error) {
	var c form.Checks
	if c.Agent("agent", r.GetAgent(), false); c.Err != nil {
		return nil, c.Err
	}
	var err error
	leader := f.Reader.Leader().ID != ""
	resp := base.Read(f.Core, func(st *fsm.View) *vigilv1.GetAgentResponse {
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			err = base.NoAgent(st, r.GetAgent())
			return nil
		}
		out := &vigilv1.GetAgentResponse{Agent: judgedAgent(st, a, leader), Events: recentEvents(st, a.Name)}
		if role := st.Role(a.Role); role != nil {
			out.Role = form.RoleSpec(&role.Spec)
			out.Hosts = fits(st, a)
		}
		if t := st.Task(a.Task); t != nil {
			out.Task = form.Summary(st, t)
		}
		return out
	})
	return resp, err
}

// recentEvents gives the newest events about an agent, oldest first.
func recentEvents(st *fsm.View, agent string) []*vigilv1.Event {
	from := uint64(0)
	if last := st.LastEvent(); last > eventsLooked {
		from = last - eventsLooked
	}
	var out []*vigilv1.Event
	for e := range st.Events(from) {
		if e.Agent == agent {
			out = append(out, form.Event(e))
		}
	}
	return out[max(0, len(out)-agentEvents):]
}

// fits tells for each host whether it could take the agent's next start.
func fits(st *fsm.View, a *noun.Agent) []*vigilv1.HostFit {
	var out []*vigilv1.HostFit
	for h := range st.Hosts() {
		if len(out) == fitsShown {
			break
		}
		reason := st.Misfit(h, a)
		out = append(out, &vigilv1.HostFit{Host: h.Name, Fits: reason == "", Reason: reason})
	}
	return out
}

// ListAgents pages through the agents by name.
func (f *fleet) ListAgents(ctx context.Context, r *vigilv1.ListAgentsRequest) (*vigilv1.ListAgentsResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	c.OptionalName("role", r.GetRole())
	c.Line("host", r.GetHost(), form.MaxWho)
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	resp := &vigilv1.ListAgentsResponse{}
	for at := r.GetAfter(); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, missing := false, error(nil)
		leader := f.Reader.Leader().ID != ""
		f.Reader.Read(func(st *fsm.View) {
			want, err := newAgentFilter(st, r)
			if missing = err; err != nil {
				return
			}
			seen := 0
			for a := range st.Agents(at) {
				if more = seen == base.ScanStep || len(resp.Agents) == limit; more {
					return
				}
				seen, at = seen+1, a.Name
				if want.match(st, a) {
					resp.Agents = append(resp.Agents, judgedAgent(st, a, leader))
				}
			}
		})
		if missing != nil {
			return nil, missing
		}
		if !more {
			return resp, nil
		}
		if len(resp.Agents) == limit {
			resp.More, resp.Next = true, at
			return resp, nil
		}
	}
}

type agentFilter struct {
	room noun.RoomID
	role string
	host noun.HostID
}

func newAgentFilter(st *fsm.View, r *vigilv1.ListAgentsRequest) (w agentFilter, err error) {
	w.role = r.GetRole()
	if name := r.GetRoom(); name != "" {
		room := st.Room(name)
		if room == nil {
			return w, base.NoRoom(st, name)
		}
		w.room = room.ID
	}
	if key := r.GetHost(); key != "" {
		h, err := base.FindHost(st, key)
		switch {
		case err != nil:
			return w, err
		case h == nil:
			return w, base.NoHost(key)
		}
		w.host = h.ID
	}
	return w, nil
}

func (w *agentFilter) match(st *fsm.View, a *noun.Agent) bool {
	if w.room != 0 && a.Room != w.room || w.host != 0 && a.Host != w.host {
		return false
	}
	if w.role != "" {
		r := st.Role(a.Role)
		return r != nil && r.Spec.Name == w.role
	}
	return true
}
