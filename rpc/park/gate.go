package park

import (
	"context"
	"sync"
	"sync/atomic"

	"vigil/fsm"
)

// Gate tells when this server's replica has applied a log index. A follower is
// usually some milliseconds behind the answers it gets from the leader. Safe for
// concurrent use.
type Gate struct {
	reader Reader
	count  atomic.Int64 // of waiting

	mu      sync.Mutex
	waiting []gated
}

type gated struct {
	index uint64
	fn    func()
}

// after calls fn once the index is applied, at once when it already is. fn must not
// block.
func (g *Gate) after(index uint64, fn func()) {
	g.mu.Lock()
	g.waiting = append(g.waiting, gated{index, fn})
	g.count.Add(1)
	g.mu.Unlock()
	// Added before looking, and applied() looks after the entry is in the state:
	// one of the two sees the other.
	g.release()
}

// applied is called after every entry.
func (g *Gate) applied() {
	if g.count.Load() > 0 {
		g.release()
	}
}

func (g *Gate) release() {
	last := g.Index()
	var ready []func()
	g.mu.Lock()
	keep := g.waiting[:0]
	for _, w := range g.waiting {
		if w.index <= last {
			ready = append(ready, w.fn)
		} else {
			keep = append(keep, w)
		}
	}
	clear(g.waiting[len(keep):])
	g.waiting = keep
	g.count.Add(-int64(len(ready)))
	g.mu.Unlock()
	for _, fn := range ready {
		fn()
	}
}

// Await returns when the index is applied, or with the error of ctx.
func (g *Gate) Await(ctx context.Context, index uint64) error {
	done := make(chan struct{})
	g.after(index, func() { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Count is how many wait.
func (g *Gate) Count() int { return int(g.count.Load()) }

// Index is the last one applied here.
func (g *Gate) Index() (last uint64) {
	g.reader.Read(func(st *fsm.View) { last = st.LastIndex() })
	return last
}
