package rpc

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"vigil/fsm"
	"vigil/fsm/judge"
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
func (f *fleet) GetAgent(ctx context.Context, r *vigilv1.GetAgentRequest) (*vigilv1.GetAgentResponse, error) {
	var c form.Checks
	if c.Agent("agent", r.GetAgent(), false); c.Err != nil {
		return nil, c.Err
	}
	var err error
	leader, reads := f.Reader.Leader().ID != "", f.Door.Reads(ctx)
	resp := base.Read(f.Core, func(st *fsm.View) *vigilv1.GetAgentResponse {
		a := st.AgentByName(r.GetAgent())
		if a == nil {
			err = base.NoAgent(st, r.GetAgent())
			return nil
		}
		out := &vigilv1.GetAgentResponse{Agent: shownAgent(st, a, leader, reads), Events: recentEvents(st, a.Name)}
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

// shownAgent is an agent for a caller: how its last life has ended, with its output only for who reads that.
func shownAgent(st *fsm.View, a *noun.Agent, leader bool, reads func(agent string) bool) *vigilv1.Agent {
	out := judgedAgent(st, a, leader)
	if x := out.GetLastExit(); x != nil && reads != nil && !reads(a.Name) {
		x.Tail = ""
	}
	return out
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

// looked is how many rows an answer looks at whose filter may fit none of them.
const looked = 10 * base.ScanStep

// ListAgents pages through the agents by name. With a filter of verdicts, each of which is judged anew, an answer
// ends after a bounded look.
func (f *fleet) ListAgents(ctx context.Context, r *vigilv1.ListAgentsRequest) (*vigilv1.ListAgentsResponse, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	c.OptionalName("role", r.GetRole())
	c.Line("host", r.GetHost(), form.MaxWho)
	limit, verdicts := c.Page(r.GetLimit(), form.DefaultPage), verdictKinds(&c, r.GetVerdicts())
	if c.Err != nil {
		return nil, c.Err
	}
	resp, reads := &vigilv1.ListAgentsResponse{}, f.Door.Reads(ctx)
	at := r.GetAfter()
	if room, _, _ := strings.Cut(at, "/"); room < r.GetRoom() {
		at = r.GetRoom() // what is behind the name of a room begins with its agents
	}
	for looks := 0; ; {
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
			want.verdicts, want.leader = verdicts, leader
			seen := 0
			for a := range want.behind(st, at) {
				if want.room != 0 && a.Room != want.room {
					return // rooms come one after the other
				}
				if more = seen == base.ScanStep || len(resp.Agents) == limit; more {
					return
				}
				seen, looks, at = seen+1, looks+1, a.Name
				if want.match(st, a) {
					resp.Agents = append(resp.Agents, shownAgent(st, a, leader, reads))
				}
			}
		})
		if missing != nil {
			return nil, missing
		}
		if !more {
			return resp, nil
		}
		if len(resp.Agents) == limit || looks >= looked && (len(verdicts) > 0 || r.GetNotFine()) {
			resp.More, resp.Next = true, at
			return resp, nil
		}
	}
}

// verdictKinds reads the names of verdicts.
func verdictKinds(c *form.Checks, names []string) (kinds []judge.Kind) {
	var known []string
	for _, k := range judge.Kinds() {
		known = append(known, k.String())
	}
	c.AtMost("verdicts", len(names), len(known))
	if c.Err != nil {
		return nil
	}
	for _, name := range names {
		c.Present("verdicts", name, "name one, or leave it out for all")
		kinds = append(kinds, judge.Kind(c.Word("verdicts", name, known)))
	}
	return kinds
}

type agentFilter struct {
	room     noun.RoomID
	role     string
	host     noun.HostID
	verdicts []judge.Kind // empty: any
	notFine  bool
	leader   bool // one is known
}

func newAgentFilter(st *fsm.View, r *vigilv1.ListAgentsRequest) (w agentFilter, err error) {
	w.role, w.notFine = r.GetRole(), r.GetNotFine()
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

// behind yields the agents behind the named one that may match, in the order of View.Agents: of one host only those
// that are, or were last, on it.
func (w *agentFilter) behind(st *fsm.View, after string) iter.Seq[*noun.Agent] {
	if w.host == 0 {
		return st.Agents(after)
	}
	from := place{}
	if last := st.AgentByName(after); last != nil {
		from = placeOf(st, last)
	} else {
		from.room, _, _ = strings.Cut(after, "/")
	}
	var list []place
	for _, id := range st.AgentsOn(w.host) {
		if p := placeOf(st, st.Agent(id)); p.compare(from) > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, place.compare)
	return func(yield func(*noun.Agent) bool) {
		for _, p := range list {
			if !yield(p.agent) {
				return
			}
		}
	}
}

// place is where View.Agents has an agent.
type place struct {
	room  string
	role  int // its place in the room, from 1 on
	index uint32
	agent *noun.Agent
}

func placeOf(st *fsm.View, a *noun.Agent) place {
	room := st.RoomByID(a.Room)
	return place{room.Name, 1 + slices.Index(room.Roles, a.Role), a.Index, a}
}

func (p place) compare(b place) int {
	return cmp.Or(strings.Compare(p.room, b.room), cmp.Compare(p.role, b.role), cmp.Compare(p.index, b.index))
}

func (w *agentFilter) match(st *fsm.View, a *noun.Agent) bool {
	if w.room != 0 && a.Room != w.room || w.host != 0 && a.Host != w.host {
		return false
	}
	if r := st.Role(a.Role); w.role != "" && (r == nil || r.Spec.Name != w.role) {
		return false
	}
	if len(w.verdicts) > 0 {
		if g := st.Signals(a.ID, w.leader); !slices.Contains(w.verdicts, g.Kind()) {
			return false
		}
	}
	if w.notFine {
		v := st.Verdict(a.ID, w.leader)
		return !v.Fine
	}
	return true
}
