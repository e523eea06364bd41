package duty

import (
	"container/heap"

	"vigil/fsm"
)

// visitsPerHold bounds how many roles, agents and hosts one look of the planner visits, and
// so how long it holds the read lock. What comes on top is what the hosts themselves take (at
// most three visits each, see sites.look) and what the last role does (two each).
const visitsPerHold = 8192

// planner orders starts. It goes round the roles of which starts are due: a look begins
// behind the role at which the one before has ended, and ends when it has visited enough.
// It belongs to one goroutine, and to one state.
type planner struct {
	sites  sites
	cursor fsm.RoleID // the last role that was looked at
	left   int        // roles of this round that are still to be looked at, at most; 0: the round is over
	cut    bool       // the last look had visited enough before the round was over
	visits int        // of the last look
}

// starts orders a start for agents for which one is due, at most so many and at most as many
// as may start in one second: of one role after the other, lowest number first. Within one
// plan it counts what it has planned already, so that no host gets more than it has room for.
//
// An agent goes back to the host that ran it before, where its files are. Other
// agents go to the host with the fewest agents of the same role, then to the one
// with the smallest share of its capacity in use. The host that has just failed to
// start the agent, or was lost with it, is the last choice. Of agents that the
// brake paces it plans as many as the brake lets through, and one at least: cluster
// time moves on with an entry, though what is in it is refused.
func (p *planner) starts(s *fsm.State, most int) []fsm.Command {
	p.visits, p.cut = 0, false
	room, free := p.sites.look(s, &p.visits)
	most = min(most, int(s.Settings().StartsPerSecond), room)
	t := turn{planner: p, s: s, free: free, most: most, limit: p.visits + visitsPerHold, braked: int(max(1, s.BrakeRoom()))}
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

// turn is one look of the planner.
type turn struct {
	*planner
	s      *fsm.State
	free   []int // sites that had a slot when it began
	most   int   // orders
	limit  int   // visits
	braked int   // starts that the brake lets through
	orders []fsm.Command
}

func (t *turn) over() bool { return len(t.orders) >= t.most || t.visits >= t.limit }

// role plans the starts of one role. What fits one of its agents fits all.
func (t *turn) role(r *fsm.Role) {
	t.visits++
	if t.sites.nowhere(t.s, r, &t.visits) {
		return
	}
	due := t.s.DueStarts(r.ID)
	var b *berths
	for id, braked := range t.s.DueAgents(r.ID) {
		if due == 0 || t.over() || braked && t.braked == 0 {
			return
		}
		t.visits++
		if b == nil {
			b = t.berths(r)
		}
		a := t.s.Agent(id)
		h := b.take(a)
		if h == 0 {
			return // no host has room for any other either
		}
		due--
		if braked {
			t.braked--
		}
		t.orders = append(t.orders, fsm.OrderStart{Agent: id, Inc: t.s.NextIncarnation(a), Host: h})
	}
}

// berths are the sites with slots that fit a role, the best one first.
type berths struct {
	heap []*berth
	by   map[fsm.HostID]*berth
}

// berth is a site as one role sees it.
type berth struct {
	*site
	order int    // of the host
	peers uint32 // agents of the role on it
	at    int    // place in the heap
}

func (t *turn) berths(r *fsm.Role) *berths {
	b := &berths{by: map[fsm.HostID]*berth{}}
	for _, i := range t.sites.fewest(r, t.free) {
		t.visits++
		if st := &t.sites.list[i]; st.slots > 0 && t.s.Offers(st.host, r) {
			x := &berth{site: st, order: i, peers: t.s.LivesOn(r.ID, st.host), at: len(b.heap)}
			b.heap, b.by[st.host] = append(b.heap, x), x
		}
	}
	heap.Init(b)
	return b
}

// take picks the host for an agent and takes one of its slots; 0: none has room.
func (b *berths) take(a *fsm.Agent) fsm.HostID {
	if len(b.heap) == 0 {
		return 0
	}
	x := b.heap[0]
	if home := b.by[a.Host]; home != nil && !failedOn(a, a.Host) {
		x = home
	} else if failedOn(a, x.host) && len(b.heap) > 1 {
		x = b.heap[1]
		if len(b.heap) > 2 && b.Less(2, 1) {
			x = b.heap[2]
		}
	}
	x.slots--
	x.load++
	x.peers++
	if x.slots > 0 {
		heap.Fix(b, x.at)
	} else {
		heap.Remove(b, x.at)
		delete(b.by, x.host)
	}
	return x.host
}

// failedOn tells whether the host was the last to run the agent and could not
// start it, or was lost with it.
func failedOn(a *fsm.Agent, h fsm.HostID) bool {
	x := a.LastExit
	return x != nil && (x.Kind == fsm.ExitStartFailed || x.Kind == fsm.ExitFenceEnded) && x.Host == h
}

// Len is heap.Interface.
func (b *berths) Len() int { return len(b.heap) }

// Less is heap.Interface: fewest agents of the role, then least load, then the order of hosts.
func (b *berths) Less(i, j int) bool {
	x, y := b.heap[i], b.heap[j]
	if x.peers != y.peers {
		return x.peers < y.peers
	}
	if mine, its := uint64(x.load)*uint64(y.capacity), uint64(y.load)*uint64(x.capacity); mine != its {
		return mine < its
	}
	return x.order < y.order
}

// Swap is heap.Interface.
func (b *berths) Swap(i, j int) {
	b.heap[i], b.heap[j] = b.heap[j], b.heap[i]
	b.heap[i].at, b.heap[j].at = i, j
}

// Push is heap.Interface.
func (b *berths) Push(x any) { b.heap = append(b.heap, x.(*berth)) }

// Pop is heap.Interface.
func (b *berths) Pop() any {
	x := b.heap[len(b.heap)-1]
	b.heap = b.heap[:len(b.heap)-1]
	return x
}
