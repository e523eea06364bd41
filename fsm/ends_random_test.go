package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// wordBook is a naive view of what humans have set: the last word about each thing, and when it ends.
// It knows nothing of timers, rows and events.
type wordBook struct {
	stops, pauses map[noun.AgentID]word
	rooms         map[noun.RoomID]word
	drains        map[noun.HostID]word
	all           word
	ended         int // words whose time was over while they were the last ones
}

type word struct {
	set bool
	end noun.Time // 0: none
	by  string
}

func newWordBook() *wordBook {
	return &wordBook{stops: map[noun.AgentID]word{}, pauses: map[noun.AgentID]word{}, rooms: map[noun.RoomID]word{},
		drains: map[noun.HostID]word{}}
}

// lasting is a word said now.
func lasting(now noun.Time, set bool, span time.Duration, by string) word {
	w := word{set: set, by: by}
	if span > 0 {
		w.end = now.Add(span)
	}
	return w
}

// elapse forgets the words whose time is over.
func (b *wordBook) elapse(now noun.Time) {
	over := func(w word) bool {
		is := w.set && w.end != 0 && w.end <= now
		if is {
			b.ended++
		}
		return is
	}
	for _, m := range []map[noun.AgentID]word{b.stops, b.pauses} {
		for id, w := range m {
			if over(w) {
				delete(m, id)
			}
		}
	}
	for id, w := range b.rooms {
		if over(w) {
			delete(b.rooms, id)
		}
	}
	for id, w := range b.drains {
		if over(w) {
			delete(b.drains, id)
		}
	}
	if over(b.all) {
		b.all = word{}
	}
}

// heard notes a word that was accepted. s is the state after the entry in which it was the only one.
func (b *wordBook) heard(s *State, c Command, now noun.Time) {
	switch c := c.(type) {
	case SetAgent:
		if a := s.AgentByName(c.Agent); a != nil {
			b.stops[a.ID] = lasting(now, c.Stop, c.For, c.By)
		}
	case SetPause:
		w := lasting(now, c.Pause, c.For, c.By)
		if rm := s.Room(c.Scope); rm != nil {
			b.rooms[rm.ID] = w
		} else if a := s.AgentByName(c.Scope); a != nil {
			b.pauses[a.ID] = w
		} else if c.Scope == "" {
			b.all = w
		}
	case DeleteRoom: // its pause stays, without an end
		if rm := s.Room(c.Room); rm != nil {
			w := b.rooms[rm.ID]
			w.end = 0
			b.rooms[rm.ID] = w
		}
	case DrainHost:
		w := lasting(now, !c.Off, c.For, c.By)
		if was := b.drains[c.Host]; was.set && was.by != DrainBySelf && c.By == DrainBySelf {
			w = was
		}
		b.drains[c.Host] = w
	case RegisterHost:
		b.back(s.HostByKey(c.Key))
	case LeaveHost:
		b.back(s.HostByKey(c.Key))
	}
}

// back ends the drain by the daemon of a host. A repeated registration ends none, which is not known here.
func (b *wordBook) back(h *noun.Host) {
	if w := b.drains[h.ID]; w.by == DrainBySelf && !h.Drain {
		delete(b.drains, h.ID)
	}
}

// same compares the book with the state.
func (b *wordBook) same(t *testing.T, s *State, seed uint64) {
	t.Helper()
	check := func(name string, set bool, end noun.Time, w word) {
		if set != w.set || end != w.end {
			t.Fatalf("seed %d, entry %d at %d: %s is set: %v, until %d; the last word was %+v", seed, s.LastIndex(),
				s.Clock(), name, set, end, w)
		}
	}
	for a := range s.Agents("") {
		check("the stop of "+a.Name, a.Stopped, a.Ends().Stop.At, b.stops[a.ID])
		check("the pause of "+a.Name, a.Paused, a.Ends().Pause.At, b.pauses[a.ID])
	}
	for rm := range s.Rooms("") {
		check("the pause of room "+rm.Name, rm.Paused, rm.PauseEnd.At, b.rooms[rm.ID])
	}
	for h := range s.Hosts() {
		check("the drain of "+h.Name, h.Drain, h.DrainEnd.At, b.drains[h.ID])
	}
	check("the pause of everything", s.Meta.Paused, s.Meta.PauseEnd.At, b.all)
}

// L9, L12: in random logs, in which rooms, hosts and settings change too, what is set is what the last
// word said, until its end and not longer; and a state that is loaded again goes on alike.
func TestN34RandomLogsEndWhatHumansSet(t *testing.T) {
	ended := 0
	for _, seed := range seeds(t, 4) {
		c := newChaos(seed, true)
		c.ends = true
		s, again, book := New(), New(), newWordBook()
		apply := func(e *Entry) {
			reqs := e.Requests
			for i := range max(1, len(reqs)) { // one entry each, so that each word is seen alone
				one := *e
				if i > 0 {
					c.index++
					one.Index, one.Beats, one.Words = c.index, nil, nil
				}
				one.Requests = reqs[min(i, len(reqs)):min(i+1, len(reqs))]
				out := s.Apply(&one).Outcomes
				again.Apply(&one)
				book.elapse(s.Clock())
				if len(out) == 1 && out[0].Code == noun.OK && !out[0].Repeated() {
					book.heard(s, one.Requests[0].Cmd, s.Clock())
				}
				if err := s.Check(); err != nil {
					t.Fatalf("seed %d, entry %d, %+v: %v", seed, one.Index, one.Requests, err)
				}
				if !s.Behind() {
					book.same(t, s, seed)
				}
			}
		}
		for _, e := range c.opening() {
			apply(e)
		}
		for n := range 2500 {
			apply(c.next(s))
			if n%250 == 249 {
				if again = reload(t, again); again.Hash() != s.Hash() || again.Check() != nil {
					t.Fatalf("seed %d, entry %d: loaded again it goes on differently: %v", seed, c.index, again.Check())
				}
			}
		}
		ended += book.ended
	}
	if t.Logf("%d words ended by themselves", ended); ended < 100 {
		t.Errorf("only %d words ended by themselves: the logs exercise too little", ended)
	}
}
