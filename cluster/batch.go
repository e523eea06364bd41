package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	outstandingEntries = 2       // sealed and not yet answered
	maxCommand         = 4 << 20 // bytes of one command
)

// ErrTooLarge says that a command is too big for the log; nothing was proposed.
var ErrTooLarge = errors.New("command is too large for the log")

// batcher gathers what callers submit and turns it into log entries: proposals
// that arrive while entries are in flight become one entry. It keeps commands, not
// bytes, so that what was never proposed can go elsewhere. It works only while a
// stint is open.
type batcher struct {
	cfg       *Config
	met       *metrics
	propose   func([]byte) proposal
	fail      func(error)   // ends the process
	answering *atomic.Int32 // raised while answers are waited for
	matcher   fsm.Matcher   // may be nil
	pool      sync.Pool     // of *group

	wake     chan struct{} // buffered; "look again"
	slots    chan struct{} // one element for each outstanding entry
	inflight chan *sealed
	next     atomic.Int64 // the state's next timer; 0: none

	mu      sync.Mutex // guards what follows; held briefly, before no other lock but group.mu
	stint   *stint     // nil: closed
	closed  error      // why
	queue   []*group   // commands and barriers, in order of arrival
	spare   []*group   // empty memory for the queue
	beats   []*group
	weight  int       // of the waiting beats, in renewals
	oldest  time.Time // arrival of the first waiting beat
	more    bool      // timers are due beyond the last entry
	sealed  time.Time // when the last entry was sealed
	stamped noun.Time // its stamp
	flying  int       // outstanding entries

	sealer sealer // belongs to the sealing goroutine
}

// proposal is the part of raft's future that the batcher needs.
type proposal interface {
	Error() error
	Response() any
}

func newBatcher(cfg *Config, met *metrics, answering *atomic.Int32, propose func([]byte) proposal,
	fail func(error)) *batcher {
	return &batcher{
		cfg: cfg, met: met, propose: propose, fail: fail, answering: answering, pool: sync.Pool{New: newGroup},
		wake: make(chan struct{}, 1), slots: make(chan struct{}, outstandingEntries),
		inflight: make(chan *sealed, outstandingEntries), closed: noun.ErrNotLeader,
	}
}

// open begins to take proposals for the stint.
func (b *batcher) open(st *stint) {
	b.mu.Lock()
	b.stint, b.closed, b.stamped = st, nil, 0
	b.mu.Unlock()
	b.signal()
}

// close ends the stint: what was never proposed fails with err.
func (b *batcher) close(err error) {
	b.mu.Lock()
	b.stint, b.closed = nil, err
	queue, beats := b.queue, b.beats
	b.queue, b.beats, b.weight = nil, nil, 0
	b.more = false
	b.mu.Unlock()
	for _, g := range queue {
		g.finish(max(1, len(g.reqs)), err)
	}
	for _, g := range beats {
		g.finish(1, err)
	}
	b.signal()
}

// setNext notes when the state's next timer is due. The sealer need not be woken:
// it looks again when the entry that set the timer is settled.
func (b *batcher) setNext(t noun.Time) { b.next.Store(int64(t)) }

func (b *batcher) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// submit waits for the outcome of one command.
func (b *batcher) submit(ctx context.Context, r fsm.Request) (noun.Outcome, error) {
	g := b.pool.Get().(*group)
	g.single(r)
	if err := b.enqueue(ctx, g); err != nil {
		return noun.Outcome{}, err
	}
	out := g.outs[0]
	b.release(g)
	return out, nil
}

// submitAll waits for the outcomes of several, in order.
func (b *batcher) submitAll(ctx context.Context, reqs []fsm.Request, outs []noun.Outcome) error {
	g := b.pool.Get().(*group)
	g.many(reqs)
	if err := b.enqueue(ctx, g); err != nil {
		return err
	}
	copy(outs, g.outs)
	b.release(g)
	return nil
}

// barrier waits until an entry that was sealed after the call is applied here.
func (b *batcher) barrier(ctx context.Context) error {
	g := b.pool.Get().(*group)
	g.left = 1
	if err := b.enqueue(ctx, g); err != nil {
		return err
	}
	b.release(g)
	return nil
}

func (b *batcher) enqueue(ctx context.Context, g *group) error {
	g.at = time.Now()
	b.mu.Lock()
	if b.stint == nil {
		err := b.closed
		b.mu.Unlock()
		b.release(g)
		return err
	}
	first := len(b.queue) == 0
	b.queue = append(b.queue, g)
	b.mu.Unlock()
	if first {
		b.signal()
	}
	return b.wait(ctx, g)
}

// beat gathers the renewals of one host with those of others.
func (b *batcher) beat(ctx context.Context, hb fsm.HostBeats) (noun.BeatAnswer, error) {
	g := b.pool.Get().(*group)
	g.beat, g.left = hb, 1
	g.taken = true // it goes in also when its sender has given up: it was a proof of life
	weight := renewals(&hb)
	b.mu.Lock()
	if b.stint == nil {
		err := b.closed
		b.mu.Unlock()
		b.release(g)
		return noun.BeatAnswer{}, err
	}
	if len(b.beats) == 0 {
		b.oldest = time.Now()
	}
	before := b.weight
	b.beats = append(b.beats, g)
	b.weight += weight
	signal := before == 0 || (before < b.cfg.Limits.Beats && b.weight >= b.cfg.Limits.Beats)
	b.mu.Unlock()
	if signal {
		b.signal()
	}
	if err := b.wait(ctx, g); err != nil {
		return noun.BeatAnswer{}, err
	}
	ans := g.ans
	b.release(g)
	return ans, nil
}

// renewals counts the beats that are packed, the host's own included.
func renewals(hb *fsm.HostBeats) int {
	n, _ := fsm.ValidBeats(hb.Packed)
	return n + 1
}

func (b *batcher) release(g *group) {
	g.clear()
	b.pool.Put(g)
}

// wait gives what became of the group. When it returns an error the group is no
// longer the caller's.
func (b *batcher) wait(ctx context.Context, g *group) error {
	select {
	case err := <-g.done:
		return err
	case <-ctx.Done():
	}
	b.mu.Lock()
	taken := g.taken
	g.gone = true
	b.mu.Unlock()
	if !taken {
		return fmt.Errorf("propose: %w", ctx.Err())
	}
	return fmt.Errorf("%w: %w", noun.ErrUnknownOutcome, ctx.Err())
}

// run seals and answers until ctx ends and everything outstanding is answered.
func (b *batcher) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := range b.inflight {
			b.settle(s)
		}
	})
	b.seal(ctx)
	b.close(noun.ErrStopping)
	b.sealer.fail(noun.ErrStopping)
	close(b.inflight)
	wg.Wait()
}

// drained waits until nothing is outstanding; the batcher is closed.
func (b *batcher) drained(ctx context.Context) error {
	for range outstandingEntries {
		select {
		case b.slots <- struct{}{}:
			defer func() { <-b.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// idle tells how long there is nothing to seal; 0: seal now.
func (b *batcher) idle() time.Duration {
	const long = time.Minute
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stint == nil {
		if b.sealer.pending() {
			return 0
		}
		return long
	}
	if len(b.queue) > 0 || b.more || b.sealer.pending() || b.weight >= b.cfg.Limits.Beats {
		return 0
	}
	wait := long
	if len(b.beats) > 0 {
		wait = time.Until(b.oldest.Add(b.cfg.Timing.BeatGather))
	}
	next := noun.Time(b.next.Load())
	if next != 0 && (next > b.stamped || b.flying == 0) {
		due := b.stint.clock.until(next)
		wait = min(wait, max(due, time.Until(b.sealed.Add(b.cfg.Timing.TickSpacing))))
	}
	return max(wait, 0)
}
