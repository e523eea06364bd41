package client

import (
	"context"
	"sync"
	"time"
)

// window is how far the numbers of a session's unanswered writes may lie apart.
// The cluster keeps the last 64 answers of a session. While number n has no
// answer, at most 31 lower and 31 higher numbers are carried out after it, so the
// answer to n is still there however the network reorders and repeats them.
const window = 32

// maxSessions bounds what one client may open; writes beyond
// maxSessions*window wait for their turn.
const maxSessions = 1024

// openAtOnce is how many sessions are opened at the same time.
const openAtOnce = 32

// sessionRest is how long a session may be unused before a new one is preferred:
// half of what the cluster allows.
const sessionRest = 5 * time.Minute

// session is a numbered row of writes. The mutex of sessions guards it.
type session struct {
	id   uint64
	next uint64 // next number
	low  uint64 // lowest number without an answer
	done uint64 // bit i: low+i has its answer
	used time.Time
	dead bool // the cluster has forgotten it
}

// ticket is the right to one write.
type ticket struct {
	s   *session
	seq uint64
}

// sessions numbers writes. Numbers come from few sessions while few writes are
// under way; more are opened when their windows are full.
type sessions struct {
	open func(context.Context) (uint64, error)

	mu      sync.Mutex
	free    []*session // with room in the window; dead ones are skipped
	count   int        // open and not dead
	opening int
	queue   []*buyer // in the order of their coming
	openers sync.WaitGroup
}

// buyer waits for tickets.
type buyer struct {
	dst   []ticket
	got   int
	ready chan error
}

// take fills dst with tickets, waiting for sessions as needed.
func (p *sessions) take(ctx, life context.Context, dst []ticket) error {
	p.mu.Lock()
	got := 0
	if len(p.queue) == 0 {
		if got = p.fill(dst); got == len(dst) {
			p.mu.Unlock()
			return nil
		}
	}
	b := &buyer{dst: dst, got: got, ready: make(chan error, 1)}
	p.queue = append(p.queue, b)
	p.grow(life)
	p.mu.Unlock()
	select {
	case err := <-b.ready:
		if err != nil {
			p.put(life, b.dst[:b.got])
		}
		return err
	case <-ctx.Done():
	}
	p.mu.Lock()
	for i, other := range p.queue {
		if other == b {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			break
		}
	}
	back := b.dst[:b.got]
	p.mu.Unlock()
	p.put(life, back)
	return ctx.Err()
}

// fill takes what is there; the caller holds mu.
func (p *sessions) fill(dst []ticket) (got int) {
	now := time.Now()
	for got < len(dst) && len(p.free) > 0 {
		s := p.free[len(p.free)-1]
		if !s.dead && s.next == s.low && elapsed(s.used) > sessionRest {
			s.dead = true
			p.count--
		}
		if s.dead {
			p.free = p.free[:len(p.free)-1]
			continue
		}
		for got < len(dst) && s.next-s.low < window {
			dst[got] = ticket{s, s.next}
			s.next++
			got++
		}
		s.used = now
		if s.next-s.low == window {
			p.free = p.free[:len(p.free)-1]
		}
	}
	return got
}

// put gives tickets back: their writes are answered or will never be repeated.
func (p *sessions) put(life context.Context, tickets []ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range tickets {
		s := t.s
		full := s.next-s.low == window
		s.done |= 1 << (t.seq - s.low)
		for s.done&1 == 1 {
			s.done >>= 1
			s.low++
		}
		if full && s.next-s.low < window && !s.dead {
			p.free = append(p.free, s)
		}
	}
	p.serve()
	p.grow(life)
}

// serve hands free numbers to those who wait; the caller holds mu.
func (p *sessions) serve() {
	for len(p.queue) > 0 {
		b := p.queue[0]
		b.got += p.fill(b.dst[b.got:])
		if b.got < len(b.dst) {
			return
		}
		p.queue = p.queue[1:]
		b.ready <- nil
	}
}

// grow opens sessions for those who wait; the caller holds mu.
func (p *sessions) grow(life context.Context) {
	need := 0
	for _, b := range p.queue {
		need += len(b.dst) - b.got
	}
	want := min((need+window-1)/window, openAtOnce, maxSessions-p.count)
	for ; p.opening < want; p.opening++ {
		p.openers.Go(func() { p.opened(life) })
	}
}

// opened opens one session; when that fails for good, all who wait are told.
func (p *sessions) opened(life context.Context) {
	id, err := p.open(life)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opening--
	if err == nil {
		p.count++
		p.free = append(p.free, &session{id: id, next: 1, low: 1, used: time.Now()})
		p.serve()
		p.grow(life)
		return
	}
	for _, b := range p.queue {
		b.ready <- err
	}
	p.queue = nil
}

// drop forgets a session that the cluster no longer knows.
func (p *sessions) drop(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.dead {
		s.dead = true
		p.count--
	}
}

// idle lists the sessions without unanswered writes, at most n.
func (p *sessions) idle(n int) (ids []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.free {
		if !s.dead && s.next == s.low && len(ids) < n {
			ids = append(ids, s.id)
			s.dead = true
			p.count--
		}
	}
	return ids
}
