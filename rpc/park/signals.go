package park

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Signals wakes whoever waits at a key. A waiter enters before it looks at the state.
// Safe for concurrent use.
type Signals[K comparable] struct {
	count atomic.Int64

	mu      sync.Mutex
	waiting map[K]map[chan struct{}]struct{}
}

func newSignals[K comparable]() *Signals[K] {
	return &Signals[K]{waiting: map[K]map[chan struct{}]struct{}{}}
}

// Enter gives a channel that gets a value whenever something has happened at the key,
// until leave is called. Values that nobody has taken are one.
func (s *Signals[K]) Enter(key K) (woken <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[key] == nil {
		s.waiting[key] = map[chan struct{}]struct{}{}
	}
	s.waiting[key][ch] = struct{}{}
	s.count.Add(1)
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting[key], ch)
		if len(s.waiting[key]) == 0 {
			delete(s.waiting, key)
		}
		s.count.Add(-1)
	}
}

// Count is how many wait.
func (s *Signals[K]) Count() int { return int(s.count.Load()) }

// applied is called after an entry with the keys at which something has happened.
func (s *Signals[K]) applied(keys []K) {
	if len(keys) == 0 || s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		for ch := range s.waiting[key] {
			select {
			case ch <- struct{}{}:
			default: // it is awake already
			}
		}
	}
}

// reset wakes everybody: the whole state was replaced.
func (s *Signals[K]) reset() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.waiting))
	s.mu.Unlock()
	s.applied(all)
}
