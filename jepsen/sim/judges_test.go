package sim

import (
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Bounds of recovery, with the servers' calm timers.
const (
	recovery    = 45 * time.Second // from the end of the last fault of servers to the next write
	convergence = 90 * time.Second // to all servers holding the same
)

// judges look at what several servers show and remember what they showed.
type judges struct {
	mu      sync.Mutex
	l       *ledger
	leaders map[uint64]int       // term -> server
	hashes  map[uint64][2]uint64 // index -> hash, server
	events  map[uint64]uint64    // sequence number -> digest
	cursor  map[int]uint64       // server -> last event that was seen there
	told    map[string]int       // kind and task -> events
}

func newJudges(l *ledger) *judges {
	j := &judges{l: l, leaders: map[uint64]int{}}
	j.restored()
	return j
}

// restored begins the history anew: a backup has taken its end away.
func (j *judges) restored() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.hashes, j.events, j.told = map[uint64][2]uint64{}, map[uint64]uint64{}, map[string]int{}
	j.cursor = map[int]uint64{}
}

// leads holds that a term has one leader.
func (j *judges) leads(term uint64, server int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if other, ok := j.leaders[term]; ok && other != server {
		j.l.breach("leaders", "servers %d and %d both lead in term %d", other, server, term)
	}
	j.leaders[term] = server
}

// held holds law L12 also in the middle of faults: equal indexes, equal states.
func (j *judges) held(index, hash uint64, server int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if was, ok := j.hashes[index]; ok && was[0] != hash {
		j.l.breach("L12", "at entry %d servers %d and %d held different states", index, was[1], server)
	}
	if len(j.hashes) > 200 {
		clear(j.hashes)
	}
	j.hashes[index] = [2]uint64{hash, uint64(server)}
}

// digest is what of an event must be the same everywhere.
func digest(e *noun.Event) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, e.Index, e.At, e.Kind, e.Room, e.Agent, e.Inc, e.Task, e.Attempt, e.Host, e.Text)
	return h.Sum64()
}

// follow holds that a server's events have no gap, never change, and are the same
// on all servers. It gives those that no server had shown before.
func (j *judges) follow(server int, st *fsm.View, mutant mutant) (fresh []noun.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.cursor[server]
	if st.LastEvent() <= last {
		return nil // nothing new, or the server is catching up again
	}
	if last == 0 {
		last = max(st.OldestEvent(), 1) - 1
	}
	last = max(last, max(st.OldestEvent(), 1)-1) // older ones are gone, as promised
	for e := range st.Events(last) {
		if mutant == skipsEvents && e.Seq%500 == 0 {
			continue
		}
		if e.Seq != last+1 {
			j.l.breach("events", "server %d shows event %d after event %d", server, e.Seq, last)
		}
		last = e.Seq
		d := digest(e)
		was, known := j.events[e.Seq]
		switch {
		case known && was != d:
			j.l.breach("events", "event %d is another one on server %d: %s of %s", e.Seq, server, e.Kind, e.Agent)
		case !known:
			j.events[e.Seq] = d
			j.told[fmt.Sprint(e.Kind, e.Task)]++
			fresh = append(fresh, *e)
		}
	}
	j.cursor[server] = last
	if len(j.events) > 20000 {
		j.forget()
	}
	return fresh
}

// forget drops what is older than any server's cursor.
func (j *judges) forget() {
	least := ^uint64(0)
	for _, c := range j.cursor {
		least = min(least, c)
	}
	for seq := range j.events {
		if seq+5000 < least {
			delete(j.events, seq)
		}
	}
}

// complete holds that each acknowledged creation and completion is told once, and
// nothing twice. The ledger is locked.
func (j *judges) complete(l *ledger, since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, t := range l.tasks {
		if !t.acked || t.at.Before(since) {
			continue
		}
		if n := j.told[fmt.Sprint("task.created", id)]; n != 1 {
			l.note("events", "task %d was created and acknowledged, events tell so %d times", id, n)
		}
		if n := j.told[fmt.Sprint("task.completed", id)]; t.completed > 0 && n != 1 {
			l.note("events", "task %d was completed and acknowledged, events tell so %d times", id, n)
		}
	}
}

// recovered holds that people can write again soon after servers were broken.
func (w *world) recovered(after string) {
	began := time.Now()
	if w.ready(recovery) == nil {
		w.ledger.breach("recovery", "no write is possible %v after the end of %q: %s", recovery, after, w.indexes())
		return
	}
	w.ledger.waited("a write after faults", time.Since(began))
}

// compared looks at one server for all judges.
func (o *watch) compared(i int, rep *cluster.Replica) {
	if lead := rep.Leader(); lead.Self {
		o.judges.leads(lead.Term, i)
	}
	if !o.hashing {
		return
	}
	img := rep.Copy()
	o.judges.held(img.Index(), hashOf(img), i)
}

func hashOf(img *fsm.Image) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, img.Hash())
	return h.Sum64()
}

// stays holds law L5: a life whose end was reported is out of its room.
func (l *ledger) stays(a *noun.Agent, index uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.agents[a.Name]
	if r == nil || a.Part == noun.PartDisconnected {
		return false
	}
	end, ok := r.ends[a.Inc]
	return ok && index >= end
}
