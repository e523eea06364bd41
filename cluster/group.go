package cluster

import (
	"fmt"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// group is what one caller waits for: the commands of one Submit or SubmitAll, one
// host's beats, or (with none of them) a barrier. It owns its memory: a caller
// whose context ends walks away and leaves the group to the batcher.
type group struct {
	reqs []fsm.Request
	outs []noun.Outcome
	beat fsm.HostBeats
	ans  noun.BeatAnswer
	done chan error // buffered; gets exactly one value
	at   time.Time  // when its commands arrived

	// Guarded by batcher.mu.
	taken bool // by the sealer: from now on it may reach the log
	gone  bool // the caller left before that

	mu   sync.Mutex // guards the rest
	left int        // requests without an outcome; 1 for beats and barriers
	ok   int        // requests with one
	err  error

	one [1]fsm.Request // memory for the commonest group
	out [1]noun.Outcome
}

func newGroup() any { return &group{done: make(chan error, 1)} }

// single makes it the group of one command.
func (g *group) single(r fsm.Request) {
	g.one[0] = r
	g.reqs, g.outs, g.left = g.one[:], g.out[:], 1
}

// many makes it the group of several.
func (g *group) many(reqs []fsm.Request) {
	g.reqs = append(g.reqs[:0], reqs...)
	if cap(g.outs) < len(reqs) {
		g.outs = make([]noun.Outcome, len(reqs))
	}
	g.outs, g.left = g.outs[:len(reqs)], len(reqs)
}

// clear makes it ready for the next caller. Big memory is not kept.
func (g *group) clear() {
	const keep = 4096
	if cap(g.reqs) > keep {
		g.reqs, g.outs = nil, nil
	}
	clear(g.reqs)
	clear(g.outs)
	reqs, outs := g.reqs[:0], g.outs[:0]
	if cap(reqs) <= 1 { // it was the inner memory
		reqs, outs = nil, nil
	}
	*g = group{done: g.done, reqs: reqs, outs: outs}
}

// finish notes what became of n of the parts; the last one wakes the caller. A
// group of which one part is in the log while another never got there has an
// unknown outcome.
func (g *group) finish(n int, err error) {
	g.mu.Lock()
	g.left -= n
	switch {
	case err == nil:
		g.ok += n
	case g.err == nil || g.err == noun.ErrNotLeader:
		g.err = err
	}
	last, result := g.left == 0, g.err
	if last && result != nil && g.ok > 0 {
		result = fmt.Errorf("%w: a part of the batch is done (%w)", noun.ErrUnknownOutcome, result)
	}
	g.mu.Unlock()
	if last {
		g.done <- result
	}
}
