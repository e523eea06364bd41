package gossip

import (
	"slices"
	"sync"

	"github.com/hashicorp/memberlist"
)

// rejoins are addresses that are joined while they are not heard, some at a time.
type rejoins struct {
	addrs   []string
	joining map[string]bool
	turn    int // whose turn it is
}

// know takes newer addresses; it tells whether they differ.
func (r *rejoins) know(addrs []string) bool {
	if slices.Equal(addrs, r.addrs) {
		return false
	}
	r.addrs = addrs
	return true
}

// next gives those whose turn it is now, so that at most so many are joined at once.
func (r *rejoins) next(most int, up map[string]bool) (list []string) {
	for range r.addrs {
		if len(r.joining) >= most {
			break // the rest has its turn next time
		}
		r.turn = (r.turn + 1) % len(r.addrs)
		if addr := r.addrs[r.turn]; !up[addr] && !r.joining[addr] {
			r.joining[addr] = true
			list = append(list, addr)
		}
	}
	return list
}

// rejoin joins what was told and is not heard.
func (g *Gossip) rejoin(list *memberlist.Memberlist, tasks *sync.WaitGroup) {
	up := g.table.addresses()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.join(list, tasks, &g.likely, rejoinMost, up)
	g.join(list, tasks, &g.lost, rejoinLost, up)
}

// join joins some more addresses of one kind. The caller holds mu.
func (g *Gossip) join(list *memberlist.Memberlist, tasks *sync.WaitGroup, r *rejoins, most int, up map[string]bool) {
	for _, addr := range r.next(most, up) {
		tasks.Go(func() {
			if _, err := list.Join([]string{addr}); err != nil {
				g.log.Debug("member not reached", "address", addr, "error", err)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(r.joining, addr)
		})
	}
}
