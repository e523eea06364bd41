package duty

import (
	"cmp"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// offer is a runner (Key empty) or a label that a host has.
type offer = noun.KV

func runnerOffer(name string) offer { return offer{Value: name} }

// sites is what the planner of starts knows of hosts from one look to the next: those that
// take starts at all, by what they offer, and which roles fit one of them. It is built anew
// when any host has changed.
type sites struct {
	epoch uint32 // of the state that it is about
	seen  []revision
	list  []site          // hosts that take starts, in order of their ids
	by    map[offer][]int // places in list, in order
	fits  map[noun.RoleID]fit
}

// revision is a host as it was seen.
type revision struct {
	id  noun.HostID
	rev uint64
}

// maxFits bounds what is remembered of roles; beyond it everything is found out again.
const maxFits = 1 << 17

// fit remembers whether a role fits any host that takes starts, full ones included.
type fit struct {
	rev      uint64 // of the role
	anywhere bool
}

// site is a host as the plan in hand will have left it.
type site struct {
	host     noun.HostID
	slots    uint32 // starts that it can still take
	load     uint32 // agents on it
	capacity uint32

	role  noun.RoleID // that looked at it last, and has put it into its offers
	peers uint32      // agents of that role on it
	at    int         // place in the offers
}

// look brings what is known in line with the hosts, and gives the sum of their slots and the
// places of those that have any.
func (x *sites) look(s *fsm.View, visits *int) (room int, free []int) {
	same, n := x.epoch == s.Epoch() && x.by != nil, 0
	for h := range s.Hosts() {
		*visits++
		if same = same && n < len(x.seen) && x.seen[n] == (revision{h.ID, h.Rev}); !same {
			break
		}
		n++
	}
	if !same || n != len(x.seen) {
		x.learn(s, visits)
	}
	set := s.Settings()
	for i := range x.list {
		*visits++
		st := &x.list[i]
		load := s.HostLoad(st.host)
		if st.capacity = s.Host(st.host).Capacity; st.capacity == 0 {
			st.capacity = set.DefaultCapacity
		}
		st.load, st.slots, st.role = load.Running+load.Starting, 0, 0
		if st.load < st.capacity && load.Starting < set.StartsPerHost {
			st.slots = min(st.capacity-st.load, set.StartsPerHost-load.Starting)
			room += int(st.slots)
			free = append(free, i)
		}
	}
	return room, free
}

// learn reads all hosts.
func (x *sites) learn(s *fsm.View, visits *int) {
	*x = sites{epoch: s.Epoch(), by: map[offer][]int{}, fits: map[noun.RoleID]fit{}, seen: x.seen[:0], list: x.list[:0]}
	for h := range s.Hosts() {
		*visits++
		x.seen = append(x.seen, revision{h.ID, h.Rev})
		if h.State != noun.HostReady || h.Drain || h.Pressure != "" {
			continue
		}
		at := len(x.list)
		x.list = append(x.list, site{host: h.ID})
		for _, r := range h.Runners {
			x.by[runnerOffer(r)] = append(x.by[runnerOffer(r)], at)
		}
		for _, l := range h.Labels {
			x.by[l] = append(x.by[l], at)
		}
	}
}

// home is the site that ran an agent last; nil: that host takes no starts, or there is none.
func (x *sites) home(a *noun.Agent) *site {
	at, found := slices.BinarySearchFunc(x.list, a.Host, func(st site, id noun.HostID) int {
		return cmp.Compare(st.host, id)
	})
	if !found {
		return nil
	}
	return &x.list[at]
}

// nowhere tells that no host that takes starts, full or not, fits the role. It is found out
// once for each revision of the role and of the hosts.
func (x *sites) nowhere(s *fsm.View, r *noun.Role, visits *int) bool {
	if f, known := x.fits[r.ID]; known && f.rev == r.Rev {
		return !f.anywhere
	}
	f := fit{rev: r.Rev}
	for _, i := range x.fewest(r, nil) {
		*visits++
		if f.anywhere = s.Offers(x.list[i].host, r); f.anywhere {
			break
		}
	}
	if len(x.fits) >= maxFits {
		clear(x.fits)
	}
	x.fits[r.ID] = f
	return !f.anywhere
}

// fewest gives the shortest of the given list, if there is one, and the lists of hosts that
// offer one of the things that the role needs: no other host can fit.
func (x *sites) fewest(r *noun.Role, list []int) []int {
	shortest := func(o offer) {
		if by := x.by[o]; list == nil || len(by) < len(list) {
			if list = by; list == nil {
				list = []int{}
			}
		}
	}
	shortest(runnerOffer(r.Spec.Runner))
	for _, l := range r.Spec.Labels {
		shortest(l)
	}
	return list
}
