package sim

import (
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// switchboard is the API of one server as far as the simulation needs it: order
// streams of hosts, and parked waits of agents.
type switchboard struct {
	mu      sync.Mutex
	streams map[noun.HostID]chan struct{}
	pinged  map[noun.HostID]time.Time
	parked  map[noun.RoleID][]chan struct{}
}

func newSwitchboard() *switchboard {
	return &switchboard{streams: map[noun.HostID]chan struct{}{}, pinged: map[noun.HostID]time.Time{},
		parked: map[noun.RoleID][]chan struct{}{}}
}

// changed is called after each applied entry.
func (s *switchboard) changed(e noun.Effects) {
	if len(e.Hosts) == 0 && len(e.Claimable) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range e.Hosts {
		if c := s.streams[h]; c != nil {
			poke(c)
		}
	}
	for _, r := range e.Claimable {
		if list := s.parked[r]; len(list) > 0 {
			close(list[0])
			s.parked[r] = list[1:]
		}
	}
}

func (s *switchboard) attach(id noun.HostID) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{}, 1)
	s.streams[id] = c
	return c
}

func (s *switchboard) detach(id noun.HostID, c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[id] == c {
		delete(s.streams, id)
	}
}

func (s *switchboard) ping(id noun.HostID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinged[id] = time.Now()
}

func (s *switchboard) park(role noun.RoleID) (<-chan struct{}, func()) {
	c := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked[role] = append(s.parked[role], c)
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		list := s.parked[role]
		for i := range list {
			if list[i] == c {
				s.parked[role] = append(list[:i:i], list[i+1:]...)
				return
			}
		}
	}
}

// hears is what this server hears of a host on its stream. One whose stream has
// ended counts as silent until it beats again.
func (s *switchboard) hears(id noun.HostID, sinceBeat time.Duration) noun.Hearing {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, held := s.pinged[id]
	silent := time.Since(at)
	switch {
	case !held:
		return noun.HearNothing
	case s.streams[id] == nil && sinceBeat < silent:
		delete(s.pinged, id)
		return noun.HearNothing
	case silent >= fsm.SilentFor:
		return noun.HearSilent
	case s.streams[id] != nil:
		return noun.HearAlive
	}
	return noun.HearNothing
}
