package rpc

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// mailWaits tells parked WaitMail calls of this server that their agents got something
// to read. A waiter is registered before it looks at the state, and applied comes after
// the entry is in the state: one of the two sees the other. Safe for concurrent use.
type mailWaits struct {
	count atomic.Int64

	mu      sync.Mutex
	waiting map[noun.AgentID]map[chan struct{}]struct{}
}

func newMailWaits() *mailWaits {
	return &mailWaits{waiting: map[noun.AgentID]map[chan struct{}]struct{}{}}
}

// enter gives a channel that gets a value when the agent has something to read, until
// leave is called.
func (w *mailWaits) enter(id noun.AgentID) (woken <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[id] == nil {
		w.waiting[id] = map[chan struct{}]struct{}{}
	}
	w.waiting[id][ch] = struct{}{}
	w.count.Add(1)
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting[id], ch)
		if len(w.waiting[id]) == 0 {
			delete(w.waiting, id)
		}
		w.count.Add(-1)
	}
}

// applied is called after every entry with the agents that got something to read.
func (w *mailWaits) applied(agents []noun.AgentID) {
	if len(agents) == 0 || w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range agents {
		for ch := range w.waiting[id] {
			select {
			case ch <- struct{}{}:
			default: // it is awake already
			}
		}
	}
}

// reset wakes everybody: the whole state was replaced.
func (w *mailWaits) reset() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.waiting))
	w.mu.Unlock()
	w.applied(all)
}

// WaitMail parks until the agent has unread mail. Any server serves it from its own
// replica; one that seems to be behind asks the leader first.
func (m *mailbox) WaitMail(ctx context.Context, r *vigilv1.WaitMailRequest) (*vigilv1.WaitMailResponse, error) {
	var c checks
	sp := c.speaking(r.GetSpeaker(), false)
	limit := c.duration("max_wait", r.GetMaxWait())
	if limit > maxWait {
		c.fail("max_wait is %s; at most %s are allowed, then wait again.", limit, maxWait)
	}
	if c.err != nil {
		return nil, c.err
	}
	if limit == 0 {
		limit = time.Minute
	}
	if _, no := m.unread(&sp); no.Code != noun.OK {
		if _, err := m.fwd.catchUp(ctx); err != nil {
			return nil, err
		}
	}
	id := read(m.core, func(st *fsm.View) (id noun.AgentID) {
		if a := st.AgentByName(sp.Agent); a != nil {
			id = a.ID
		}
		return id
	})
	woken, leave := m.waits.enter(id)
	defer leave()
	return m.park(ctx, &sp, woken, limit)
}

func (m *mailbox) park(ctx context.Context, sp *fsm.Speaker, woken <-chan struct{}, limit time.Duration) (*vigilv1.WaitMailResponse, error) {
	end := time.Now().Add(limit)
	look := firstLook // as a waiter for tasks: the life may be superseded meanwhile
	timer := time.NewTimer(min(look, limit))
	defer timer.Stop()
	for {
		n, no := m.unread(sp)
		switch {
		case no.Code != noun.OK:
			return nil, fault.Refusal(&no)
		case n > 0 || time.Until(end) <= 0:
			return &vigilv1.WaitMailResponse{Unread: uint32(n)}, nil
		}
		select {
		case <-woken:
		case <-timer.C:
			look = nextLook
			timer.Reset(max(0, min(look, time.Until(end))))
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.stop:
			return nil, fault.New(code.Unavailable, "This server is stopping; wait on another one.")
		}
	}
}

func (m *mailbox) unread(sp *fsm.Speaker) (n int, no noun.Outcome) {
	m.reader.Read(func(st *fsm.View) { n, no = st.MailFor(sp) })
	return n, no
}
