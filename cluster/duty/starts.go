package duty

import (
	"container/heap"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// planner orders starts. It goes round the roles of which starts are due: a look begins
// behind the role at which the one before has ended, and ends when it has visited enough.
// It belongs to one goroutine, and to one state.
type planner struct {
	sites  sites
	cursor noun.RoleID // the last role that was looked at
	left   int         // roles of this round that are still to be looked at, at most; 0: the round is over
	cut    bool        // the last look had visited enough before the round was over
	visits int         // of the last look
	offers offers      // memory for those of the role in hand
}

// plan is that of the duty. What it visits beyond its budget is what the hosts themselves take (at
// most three visits each, see sites.look) and what the last role does (two each). It keeps its
// place by itself: a round may begin anywhere.
func (p *planner) plan(s *fsm.View, l look) (out plan) {
	due := s.DueRoles() > 0
	for _, c := range p.starts(s, l) {
		out.orders = append(out.orders, Order{Command: c})
	}
	out.visited, out.more = p.visits, due || p.cut
	out.full = len(out.orders) == l.orders
	if !p.cut {
		out.after = again
	}
	return out
}

// starts orders a start for agents for which one is due, at most so many and at most as many
// as may start in one second: of one role after the other, lowest number first. Within one
// plan it counts what it has planned already, so that no host gets more than it has room for.
//
// An agent goes back to the host that ran it before, where its files are. Other
// agents go to the host with the fewest agents of the same role, then to the one
// with the smallest share of its capacity in use. The host that has just failed to
// start the agent, was lost with it, or saw it fail again, is the last choice. Of agents that the
// brake paces it plans as many as the brake lets through, and one at least: cluster
// time moves on with an entry, though what is in it is refused.
func (p *planner) starts(s *fsm.View, l look) []fsm.Command {
	p.visits, p.cut = 0, false
	room, free := p.sites.look(s, &p.visits)
	most := min(l.orders, int(s.Settings().StartsPerSecond), room)
	t := round{planner: p, s: s, free: free, most: most, limit: p.visits + l.visits,
		braked: int(max(1, s.BrakeRoom()))}
	if p.left == 0 {
		p.left = s.DueRoles()
	}
	if most <= 0 {
		p.left = 0 // nothing can be done before something changes
		return nil
	}
	for range 2 { // to the end, then from the beginning
		for id := range s.DueRolesAfter(p.cursor) {
			if p.left == 0 || t.over() {
				p.cut = p.left > 0 && len(t.orders) < t.most
				return t.orders
			}
			p.cursor = id
			p.left--
			t.role(s.Role(id))
		}
		p.cursor = 0
	}
	p.left = 0
	return t.orders
}

// round is one look of the planner.
type round struct {
	*planner
	s      *fsm.View
	free   []int // sites that had a slot when it began
	most   int   // orders
	limit  int   // visits
	braked int   // starts that the brake lets through
	orders []fsm.Command
}

func (t *round) over() bool { return len(t.orders) >= t.most || t.visits >= t.limit }

// role plans the starts of one role. What fits one of its agents fits all.
func (t *round) role(r *noun.Role) {
	t.visits++
	if t.sites.nowhere(t.s, r, &t.visits) {
		return
	}
	due := t.s.DueStarts(r.ID)
	var b *offers
	for id, braked := range t.s.DueAgents(r.ID) {
		if due == 0 || t.over() || braked && t.braked == 0 {
			return
		}
		t.visits++
		if b == nil {
			b = t.offersFor(r)
		}
		a := t.s.Agent(id)
		h := b.take(a, t.sites.home(a))
		if h == 0 {
			return // no host has room for any other either
		}
		due--
		if braked {
			t.braked--
		}
		t.orders = append(t.orders, fsm.OrderStart{Agent: id, Inc: t.s.NextInc(a), Host: h})
	}
}

// offers are the sites with slots that fit the role in hand, as a heap with the best one first.
type offers []*site

// offersFor finds them.
func (t *round) offersFor(r *noun.Role) *offers {
	b := &t.offers
	*b = (*b)[:0]
	for _, i := range t.sites.fewest(r, t.free) {
		t.visits++
		if st := &t.sites.list[i]; st.slots > 0 && t.s.Offers(st.host, r) {
			st.role, st.peers, st.at = r.ID, t.s.LivesOn(r.ID, st.host), len(*b)
			*b = append(*b, st)
		}
	}
	heap.Init(b)
	return b
}

// take picks the host for an agent and takes one of its slots; 0: none has room. Home is the
// site that ran the agent before, nil when that is none of the sites.
func (b *offers) take(a *noun.Agent, home *site) noun.HostID {
	list := *b
	if len(list) == 0 {
		return 0
	}
	st := list[0]
	switch {
	case home != nil && home.role == a.Role && home.slots > 0 && !failedOn(a, home.host):
		st = home
	case failedOn(a, st.host) && len(list) > 1:
		st = list[1]
		if len(list) > 2 && b.Less(2, 1) {
			st = list[2]
		}
	}
	st.slots--
	st.load++
	st.peers++
	if st.slots > 0 {
		heap.Fix(b, st.at)
	} else {
		heap.Remove(b, st.at)
	}
	return st.host
}

// elsewhereAfter is how many failures in a row count against the host, too: what every life there dies of may be
// the host's. After the first one the agent's files are worth more.
const elsewhereAfter = 2

// failedOn tells whether the host was the last to run the agent and could not start it, was lost with it, or
// had the last of several lives that failed, as before the trial of a breaker.
func failedOn(a *noun.Agent, h noun.HostID) bool {
	x := a.LastExit
	if x == nil || x.Host != h {
		return false
	}
	switch x.Kind {
	case noun.ExitStartFailed, noun.ExitFenceEnded:
		return true
	case noun.ExitOrdered: // its host was too slow to start it
		return a.Notes().Faults > 0
	case noun.ExitCrash, noun.ExitTimedOut:
		return a.Failures >= elsewhereAfter || a.Parked
	}
	return false
}

// Len is heap.Interface.
func (b *offers) Len() int { return len(*b) }

// Less is heap.Interface: fewest agents of the role, then least load, then the order of hosts.
func (b *offers) Less(i, j int) bool {
	x, y := (*b)[i], (*b)[j]
	if x.peers != y.peers {
		return x.peers < y.peers
	}
	if mine, its := uint64(x.load)*uint64(y.capacity), uint64(y.load)*uint64(x.capacity); mine != its {
		return mine < its
	}
	return x.host < y.host
}

// Swap is heap.Interface.
func (b *offers) Swap(i, j int) {
	list := *b
	list[i], list[j] = list[j], list[i]
	list[i].at, list[j].at = i, j
}

// Push is heap.Interface.
func (b *offers) Push(x any) { *b = append(*b, x.(*site)) }

// Pop is heap.Interface.
func (b *offers) Pop() any {
	n := len(*b) - 1
	x := (*b)[n]
	*b = (*b)[:n]
	return x
}
