package duty

import "vigil/fsm"

// Starts orders a start for the agents for which one is due, lowest number first,
// at most so many and at most as many as may start in one second. Within one plan
// it counts what it has planned already, so that no host gets more than it has
// room for.
//
// An agent goes back to the host that ran it before, where its files are. Other
// agents go to the host with the fewest agents of the same role, then to the one
// with the smallest share of its capacity in use. The host that has just failed to
// start the agent, or was lost with it, is the last choice. Of agents that the
// brake paces it plans as many as the brake lets through, and one at least: cluster
// time moves on with an entry, though what is in it is refused.
func Starts(s *fsm.State, most int) []fsm.Command {
	most = min(most, int(s.Settings().StartsPerSecond))
	p, braked := newPlan(s), max(1, s.BrakeRoom())
	var orders []fsm.Command
	for id := range s.Wanting() {
		if len(orders) >= most || p.room == 0 {
			break
		}
		a := s.Agent(id)
		if s.Braked(a) && braked == 0 {
			continue
		}
		if h := p.place(a); h != nil {
			if s.Braked(a) {
				braked--
			}
			orders = append(orders, fsm.OrderStart{Agent: id, Inc: s.NextIncarnation(a), Host: h.ID})
		}
	}
	return orders
}

// site is a host as this plan will have left it.
type site struct {
	host     *fsm.Host
	slots    uint32 // starts that it can still take
	load     uint32 // agents on it
	capacity uint32
}

// berth is a site as one role sees it.
type berth struct {
	*site
	peers uint32 // agents of the role on it
}

type plan struct {
	s      *fsm.State
	sites  []*site // all hosts that can take a start, in order
	room   uint32  // sum of their slots
	berths map[fsm.RoleID][]berth
}

func newPlan(s *fsm.State) *plan {
	p := &plan{s: s, berths: map[fsm.RoleID][]berth{}}
	set := s.Settings()
	for h := range s.Hosts() {
		load := s.HostLoad(h.ID)
		st := &site{host: h, load: load.Running + load.Starting, capacity: h.Capacity}
		if st.capacity == 0 {
			st.capacity = set.DefaultCapacity
		}
		if h.State != fsm.HostReady || h.Drain || h.Pressure != "" || st.load >= st.capacity || load.Starting >= set.StartsPerHost {
			continue
		}
		st.slots = min(st.capacity-st.load, set.StartsPerHost-load.Starting)
		p.room += st.slots
		p.sites = append(p.sites, st)
	}
	return p
}

// role lists the hosts that fit the agent's role. It is asked once a role: what
// fits one of its agents fits all.
func (p *plan) role(a *fsm.Agent) []berth {
	if list, known := p.berths[a.Role]; known {
		return list
	}
	var list []berth
	at := map[fsm.HostID]int{}
	for _, st := range p.sites {
		if p.s.Misfit(st.host, a) == "" {
			at[st.host.ID] = len(list)
			list = append(list, berth{site: st})
		}
	}
	if len(list) > 1 {
		for _, id := range p.s.Role(a.Role).Agents {
			b := p.s.Agent(id)
			if i, here := at[b.Host]; here && (b.Proc == fsm.ProcOrdered || b.Proc.Fenced()) {
				list[i].peers++
			}
		}
	}
	p.berths[a.Role] = list
	return list
}

// place picks the host for an agent and takes one of its slots; nil: none has room.
func (p *plan) place(a *fsm.Agent) *fsm.Host {
	list := p.role(a)
	var best *berth
	for i := range list {
		b := &list[i]
		if b.slots == 0 {
			continue
		}
		if b.host.ID == a.Host && !failedOn(a, b.host) {
			best = b
			break
		}
		if best == nil || better(a, b, best) {
			best = b
		}
	}
	if best == nil {
		return nil
	}
	best.slots--
	best.load++
	best.peers++
	p.room--
	return best.host
}

// better tells whether x suits the agent better than y, which comes before x in
// the order of hosts.
func better(a *fsm.Agent, x, y *berth) bool {
	if bad := failedOn(a, x.host); bad != failedOn(a, y.host) {
		return !bad
	}
	if x.peers != y.peers {
		return x.peers < y.peers
	}
	return uint64(x.load)*uint64(y.capacity) < uint64(y.load)*uint64(x.capacity)
}

// failedOn tells whether the host was the last to run the agent and could not
// start it, or was lost with it.
func failedOn(a *fsm.Agent, h *fsm.Host) bool {
	x := a.LastExit
	return x != nil && (x.Kind == fsm.ExitStartFailed || x.Kind == fsm.ExitFenceEnded) && x.Host == h.ID
}
