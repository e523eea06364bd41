package door

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm/noun"
)

// lateAnswers is how long a call to a former leader may still bring its answer. A
// leader that was cut off never answers; its successor is known long before the
// connection breaks.
const lateAnswers = time.Second

// stint is the time in office of one leader, as this server sees it.
type stint struct {
	leader Leader
	over   chan struct{}   // closed when another leader is known
	till   context.Context // ends at the same moment
	end    context.CancelFunc
	ctx    context.Context // ends lateAnswers after that
	cancel context.CancelFunc
}

// stints follows who leads. Safe for concurrent use.
type stints struct {
	reader Reader
	base   context.Context

	mu  sync.Mutex // orders changes of cur
	cur atomic.Pointer[stint]
}

func newStints(base context.Context, r Reader) *stints {
	s := &stints{reader: r, base: base}
	s.cur.Store(s.begin(r.Leader()))
	return s
}

func (s *stints) begin(l Leader) *stint {
	n := &stint{leader: l, over: make(chan struct{})}
	n.till, n.end = context.WithCancel(s.base)
	n.ctx, n.cancel = context.WithCancel(s.base)
	return n
}

// current is the stint as of now. It is called for every call and after every
// entry, so the usual case is one comparison.
func (s *stints) current() *stint {
	l := s.reader.Leader()
	if cur := s.cur.Load(); cur.leader == l {
		return cur
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cur := s.cur.Load()
	if cur.leader == l {
		return cur
	}
	next := s.begin(l)
	s.cur.Store(next)
	close(cur.over)
	cur.end()
	time.AfterFunc(lateAnswers, cur.cancel)
	return next
}

// next returns when another leader than st's is known or after at most d; with an
// error when there is nothing to wait for any more.
func (st *stint) next(ctx context.Context, d time.Duration, stop <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-st.over:
	case <-t.C:
	case <-stop:
		return noun.ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
