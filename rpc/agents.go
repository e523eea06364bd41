package rpc

import (
	"context"
	"fmt"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// agentEvents is how many events GetAgent shows, eventsLooked how far back it looks.
const (
	agentEvents  = 20
	eventsLooked = 1000
	fitsShown    = 200
)

// SetAgent is a durable stop or start of one agent.
func (f *fleet) SetAgent(ctx context.Context, r *vigilv1.SetAgentRequest) (*vigilv1.Agent, error) {
	return write(ctx, f.core, r, setAgentCmd, agentAnswer(r.GetAgent()))
}

// RestartAgent stops the running incarnation; the next start is not charged.
func (f *fleet) RestartAgent(ctx context.Context, r *vigilv1.RestartAgentRequest) (*vigilv1.Agent, error) {
	return write(ctx, f.core, r, restartAgentCmd, agentAnswer(r.GetAgent()))
}

func agentAnswer(name string) func(*fsm.State, *fsm.Outcome) *vigilv1.Agent {
	return func(st *fsm.State, out *fsm.Outcome) *vigilv1.Agent {
		if a := st.AgentByName(name); a != nil {
			return convertAgent(st, a)
		}
		return &vigilv1.Agent{Name: name, Rev: out.Rev}
	}
}

func noAgent(name string) error {
	return notFound(fmt.Sprintf("Agent %s does not exist; `vigil agent list` shows the agents, roles are declared with `vigil apply -f`.", quote(name)))
}

// GetAgent shows an agent with all that explains its state.
func (f *fleet) GetAgent(_ context.Context, r *vigilv1.GetAgentRequest) (*vigilv1.GetAgentResponse, error) {
	var c checks
	if c.agent("agent", r.GetAgent(), false); c.err != nil {
		return nil, c.err
	}
	resp := read(f.core, func(st *fsm.State) *vigilv1.GetAgentResponse {
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			return nil
		}
		out := &vigilv1.GetAgentResponse{Agent: convertAgent(st, a), Events: recentEvents(st, a.Name)}
		if role := st.Role(a.Role); role != nil {
			out.Role = convertSpec(&role.Spec)
			out.Hosts = fits(st, a)
		}
		if t := st.Task(a.Task); t != nil {
			out.Task = summary(st, t)
		}
		return out
	})
	if resp == nil {
		return nil, noAgent(r.GetAgent())
	}
	return resp, nil
}

// recentEvents gives the newest events about an agent, oldest first.
func recentEvents(st *fsm.State, agent string) []*vigilv1.Event {
	from := uint64(0)
	if last := st.LastEvent(); last > eventsLooked {
		from = last - eventsLooked
	}
	var out []*vigilv1.Event
	for e := range st.Events(from) {
		if e.Agent == agent {
			out = append(out, convertEvent(e))
		}
	}
	return out[max(0, len(out)-agentEvents):]
}

// fits tells for each host whether it could take the agent's next start.
func fits(st *fsm.State, a *fsm.Agent) []*vigilv1.HostFit {
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
	var c checks
	c.optionalName("room", r.GetRoom())
	c.optionalName("role", r.GetRole())
	c.line("host", r.GetHost(), maxWho)
	limit := c.page(r.GetLimit(), defaultPage)
	if c.err != nil {
		return nil, c.err
	}
	resp := &vigilv1.ListAgentsResponse{}
	for at := r.GetAfter(); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, missing := false, error(nil)
		f.reader.Read(func(st *fsm.State) {
			want, err := newAgentFilter(st, r)
			if missing = err; err != nil {
				return
			}
			seen := 0
			for a := range st.Agents(at) {
				if more = seen == scanStep || len(resp.Agents) == limit; more {
					return
				}
				seen, at = seen+1, a.Name
				if want.match(st, a) {
					resp.Agents = append(resp.Agents, convertAgent(st, a))
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
			resp.NextAfter = at
			return resp, nil
		}
	}
}

type agentFilter struct {
	room fsm.RoomID
	role string
	host fsm.HostID
}

func newAgentFilter(st *fsm.State, r *vigilv1.ListAgentsRequest) (w agentFilter, err error) {
	w.role = r.GetRole()
	if name := r.GetRoom(); name != "" {
		room := st.Room(name)
		if room == nil {
			return w, noRoom(name)
		}
		w.room = room.ID
	}
	if key := r.GetHost(); key != "" {
		h := findHost(st, key)
		if h == nil {
			return w, noHost(key)
		}
		w.host = h.ID
	}
	return w, nil
}

func (w *agentFilter) match(st *fsm.State, a *fsm.Agent) bool {
	if w.room != 0 && a.Room != w.room || w.host != 0 && a.Host != w.host {
		return false
	}
	if w.role != "" {
		r := st.Role(a.Role)
		return r != nil && r.Spec.Name == w.role
	}
	return true
}

func noHost(key string) error {
	return notFound(fmt.Sprintf("Host %s does not exist; `vigil host list` shows the hosts.", quote(key)))
}

// findHost looks a host up by its stable id, then by its name.
func findHost(st *fsm.State, key string) *fsm.Host {
	if h := st.HostByKey(key); h != nil {
		return h
	}
	for h := range st.Hosts() {
		if h.Name == key {
			return h
		}
	}
	return nil
}

// GetHost shows one host.
func (f *fleet) GetHost(_ context.Context, r *vigilv1.GetHostRequest) (*vigilv1.Host, error) {
	var c checks
	c.line("host", r.GetHost(), maxWho)
	if c.present("host", r.GetHost(), "give its name or stable id"); c.err != nil {
		return nil, c.err
	}
	out := read(f.core, func(st *fsm.State) *vigilv1.Host {
		if h := findHost(st, r.GetHost()); h != nil {
			return convertHost(st, h)
		}
		return nil
	})
	if out == nil {
		return nil, noHost(r.GetHost())
	}
	return out, nil
}

// ListHosts pages through the hosts by number.
func (f *fleet) ListHosts(_ context.Context, r *vigilv1.ListHostsRequest) (*vigilv1.ListHostsResponse, error) {
	var c checks
	limit := c.page(r.GetLimit(), maxPage)
	if c.err != nil {
		return nil, c.err
	}
	return read(f.core, func(st *fsm.State) *vigilv1.ListHostsResponse {
		resp := &vigilv1.ListHostsResponse{}
		for h := range st.Hosts() {
			if uint32(h.ID) <= r.GetAfter() {
				continue
			}
			if len(resp.Hosts) == limit {
				resp.NextAfter = resp.Hosts[limit-1].GetId()
				break
			}
			resp.Hosts = append(resp.Hosts, convertHost(st, h))
		}
		return resp
	}), nil
}
