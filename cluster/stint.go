package cluster

import (
	"context"
	"errors"
	"sync"
)

// stint is one time in office of this server, open once LeaderEstablished is
// applied. Its context ends with it.
type stint struct {
	ctx   context.Context
	term  uint64
	clock *clock
}

// errStintOver is the cause with which the context of a stint ends.
var errStintOver = errors.New("stint is over")

// stints follows raft's leadership signals. Every gained signal begins a stint and
// ends the one before: two in a row mean that leadership was lost and regained.
type stints struct {
	mu      sync.Mutex
	open    *stint                  // nil: none
	changed chan struct{}           // closed when open changes
	end     context.CancelCauseFunc // of the stint that is open or opening
	closed  bool                    // no stint begins any more
	wg      sync.WaitGroup          // goroutines of stints
}

func (s *stints) set(st *stint) {
	s.mu.Lock()
	s.open = st
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// current gives the open stint, nil when there is none, and a channel that is
// closed when that changes.
func (s *stints) current() (*stint, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.changed
}

// endStint closes the batcher and ends the open or opening stint.
func (n *node) endStint(reason error) {
	s := &n.stints
	s.mu.Lock()
	end := s.end
	s.end = nil
	if end != nil {
		end(errStintOver) // under the lock: a stint that opens now sees it
	}
	s.mu.Unlock()
	if end == nil {
		return
	}
	n.batch.close(reason)
	s.set(nil)
	n.met.leading.Set(0)
}
