package base

import (
	"context"
	"sync"
)

// maxRounds of one kind are under way at once.
const maxRounds = 4

// rounds shares one question among all who have it at the same time. An answer counts for those only who
// came before the question was asked. Safe for concurrent use; ask is set before the first use.
type rounds[T any] struct {
	ask func() (T, error) // it ends by itself

	mu    sync.Mutex
	under int
	next  *round[T] // nil: nobody waits for one to begin
}

type round[T any] struct {
	done   chan struct{}
	answer T
	err    error
}

// join waits for the answer of a round that begins now or later, or for the end of ctx.
func (r *rounds[T]) join(ctx context.Context) (T, error) {
	r.mu.Lock()
	mine := r.next
	if mine == nil {
		mine = &round[T]{done: make(chan struct{})}
		if r.under < maxRounds {
			r.under++
			go r.run(mine)
		} else {
			r.next = mine
		}
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.answer, mine.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// run makes a round, and those that others have waited for meanwhile.
func (r *rounds[T]) run(x *round[T]) {
	for x != nil {
		x.answer, x.err = r.ask()
		close(x.done)
		r.mu.Lock()
		if x, r.next = r.next, nil; x == nil {
			r.under--
		}
		r.mu.Unlock()
	}
}
