package sim

import (
	"sync"
	"time"

	"vigil/cluster"
)

// reach is what a server's API knows of who reaches whom.
type reach struct {
	born    time.Time
	mu      sync.Mutex
	heard   time.Time
	reached map[string]time.Time
}

// Heard is when somebody's call last came in.
func (r *reach) Heard() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard
}

// Reached is when another server's API last answered. One that never did counts as if
// it had when this server was started.
func (r *reach) Reached(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reached[id]
}

// called: a call came in.
func (st *stay) called() {
	st.reach.mu.Lock()
	defer st.reach.mu.Unlock()
	st.reach.heard = time.Now()
}

// calls has a server call the APIs of the others, as servers do all the time.
func (w *world) calls(i int, st *stay) {
	for j, s := range w.servers {
		other := s.now.Load()
		if j == i {
			continue
		}
		if other == nil || !w.forwards(i, j) {
			st.reach.mu.Lock()
			if _, tried := st.reach.reached[s.cfg.ID]; !tried {
				st.reach.reached[s.cfg.ID] = st.reach.born
			}
			st.reach.mu.Unlock()
			continue
		}
		other.called()
		st.reach.mu.Lock()
		st.reach.reached[s.cfg.ID] = time.Now()
		st.reach.mu.Unlock()
	}
}

// forwards tells whether one server reaches the API of another.
func (w *world) forwards(i, j int) bool {
	w.links.mu.Lock()
	shut := w.links.shut[j] > 0
	w.links.mu.Unlock()
	return !shut && w.wire.open(i, j)
}

// asker carries a question about reach on the port of the log.
func (w *world) asker(from int) func(addr, id string) cluster.ReachWord {
	return func(addr, id string) cluster.ReachWord {
		if rep := w.listens(from, addr); rep != nil {
			return rep.Reaches(id)
		}
		return cluster.ReachUnknown
	}
}

// questioner carries any other question on the port of the log.
func (w *world) questioner(from int) func(addr, line string) string {
	return func(addr, line string) string {
		if rep := w.listens(from, addr); rep != nil {
			return rep.Answer(line)
		}
		return ""
	}
}

// listens gives the replica at a raft address while a server reaches it.
func (w *world) listens(from int, addr string) *cluster.Replica {
	for j, s := range w.servers {
		if st := s.now.Load(); s.cfg.RaftAddr == addr && st != nil && w.wire.open(from, j) {
			return st.rep
		}
	}
	return nil
}
