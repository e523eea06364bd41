package door

import (
	"context"
	"net"
	"slices"
	"sync"
)

// turns are places of which so many are free, for work in two parts with a pause between them. Who has done
// the first part comes before all who have not: while thousands wait, their time would be over before their
// second turn comes, and what was done for them done for nothing. Safe for concurrent use.
type turns struct {
	mu     sync.Mutex
	free   int
	queues [2][]chan struct{} // of those who have begun, and of the others; each in the order in which they came
}

// take waits for a turn; it is the caller's until give. The error says that until or stop came first.
func (t *turns) take(begun bool, until, stop <-chan struct{}) error {
	queue := &t.queues[1]
	if begun {
		queue = &t.queues[0]
	}
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	*queue = append(*queue, mine)
	t.mu.Unlock()
	err := net.ErrClosed
	select {
	case <-mine:
		return nil
	case <-until:
		err = context.DeadlineExceeded
	case <-stop:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(*queue, mine); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	} else {
		t.pass() // it has come at the same moment
	}
	return err
}

// give ends a turn.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass gives a turn to who comes next. The caller holds mu.
func (t *turns) pass() {
	for i := range t.queues {
		if q := t.queues[i]; len(q) > 0 {
			close(q[0])
			q[0] = nil
			t.queues[i] = q[1:]
			return
		}
	}
	t.free++
}
